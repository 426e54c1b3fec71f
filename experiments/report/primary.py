"""How the page speaks of the primary metric: its name, its units, what a difference is.

There are three ways: the area of a search, the final regret of a search, and the score of
tasks that play their runs themselves, whose regret is 1 - score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from experiments.report.inputs import Episode
from experiments.report.words import (
    MINUS,
    NONE,
    change,
    changes,
    figures,
    points,
    signed,
)
from experiments.statistics.aggregate import Interval


class Primary(NamedTuple):
    """The primary metric in words.

    Attributes:
        metric: Its name in the tables.
        thing: What is said to be lower or higher.
        change: Words of a difference, arm minus base.
        changes: Words of an interval of differences.
        mean: Words of the mean of an arm.
        title: Head of the column of means.
        direction: Which way is better.
        name: What it is called in full.
        meaning: What it is, a sentence or two.
        how: How to read it, a clause.
        difference: What a difference of it is called in tables.
        unit: How far on the axis of a forest is how much, a clause.
        margin: Words of the margin, either way.
        registered: Words of the margin with its number.
        inside: The same within a sentence on the forest.
        trial: What a run is so many of.
    """

    metric: str
    thing: str
    change: Callable[[float], str]
    changes: Callable[[Interval], str]
    mean: Callable[[float], str]
    title: str
    direction: str
    name: str
    meaning: str
    how: str
    difference: str
    unit: str
    margin: str
    registered: str
    inside: str
    trial: str = "evaluation"

    @property
    def played(self) -> bool:
        """Whether the tasks play their runs themselves."""
        return self.trial != "evaluation"


def primary(metric: str, margin: float, episode: Episode | None = None) -> Primary:
    """Returns how the page speaks of ``metric``.

    Args:
        metric: One of ``table.METRICS``.
        margin: Its margin, in its units.
        episode: How it speaks of tasks that play their runs themselves, if these do.
    """
    if episode is not None:
        return _score(episode, margin)
    return _area(margin) if metric == "area" else _regret(margin)


def _area(margin: float) -> Primary:
    share = change(margin).removesuffix(" higher")
    percent = f"{100.0 * (10.0**margin - 1.0):.0f} %"
    return Primary(
        metric="area",
        thing="regret",
        change=change,
        changes=changes,
        mean=signed,
        title="Area",
        direction="mean log10 regret (lower is better)",
        name="Area: mean over log-spaced budgets of log10(best-so-far regret + 1e-6), "
        "lower is better",
        meaning="Mean over log-spaced budgets of log10(regret + 1e-6): how good a search "
        "is at any time. \u201cRegret 20 % lower\u201d means lower by that factor on this "
        "average; one unit of area is a factor of ten.",
        how="regret is the distance from the optimum, lower is better",
        difference="area",
        unit="mean log10 regret, arm minus base: left of zero the arm is better; 0.3 is a "
        "factor of two",
        margin=f"a factor of {10.0**margin:.2f} in regret either way",
        registered=f"\u00b1{figures(margin)} in area, {share} of regret",
        inside=f"\u00b1{figures(margin)} or {percent} of regret",
    )


def _regret(margin: float) -> Primary:
    return Primary(
        metric="regret",
        thing="final regret",
        change=_lower_or_higher,
        changes=lambda interval: _both(interval, _lower_or_higher),
        mean=figures,
        title="Final regret",
        direction="mean at the end of a run (lower is better)",
        name="Final regret: 1 minus the best score at the end of a run, lower is better",
        meaning="Regret at the end of a run, not its logarithm. A point is a hundredth of "
        "the way from a random text to the optimum: \u201c3 points lower\u201d means "
        "lower by 0.03.",
        how="final regret is the distance from the optimum at the end of a run, lower is "
        "better; a point is a hundredth of the way there from a random text",
        difference="final regret",
        unit="final regret, arm minus base: left of zero the arm is better; 0.01 is a "
        "point",
        margin=f"{points(margin)} either way",
        registered=f"\u00b1{figures(margin)}, {points(margin)} of final regret",
        inside=f"\u00b1{figures(margin)} or {points(margin)}",
    )


def _score(episode: Episode, margin: float) -> Primary:
    score, trial, meaning = episode

    def text(effect: float) -> str:
        # The regret of an episode is 1 - score.
        return _lower_or_higher(-effect)

    return Primary(
        metric="regret",
        thing=score,
        change=text,
        changes=lambda interval: _both(interval, text),
        mean=lambda regret: _percent(1.0 - regret),
        title=score.capitalize(),
        direction="mean of runs (higher is better)",
        name=f"{score.capitalize()}: {meaning}, higher is better",
        meaning=f"{meaning[:1].upper()}{meaning[1:]}. A point is one in a hundred.",
        how=f"{score} is {meaning}, higher is better; a point is one in a hundred",
        difference=f"1 {MINUS} {score}",
        unit=f"1 {MINUS} {score}, arm minus base: left of zero the arm is better; 0.01 is "
        "a point",
        margin=f"{points(margin)} either way",
        registered=f"\u00b1{figures(margin)}, {points(margin)} of {score}",
        inside=f"\u00b1{figures(margin)} or {points(margin)}",
        trial=trial,
    )


def _percent(share: float) -> str:
    """Returns a mean score in per cent with one decimal; NaN is called none."""
    return NONE if math.isnan(share) else f"{100.0 * share:.1f} %"


def _lower_or_higher(effect: float) -> str:
    if math.isnan(effect):
        return NONE
    if effect == 0.0:
        return "the same"
    return f"{points(effect)} {'lower' if effect < 0.0 else 'higher'}"


def _both(interval: Interval, text: Callable[[float], str]) -> str:
    """Returns both ends of an interval in words, the unit and way once if they agree."""
    if math.isnan(interval.low):
        return NONE
    low, high = text(interval.low), text(interval.high)
    if low == high:
        return low
    units = [end.partition(" point")[2].lstrip("s") for end in (low, high)]
    if units[0] == units[1] and all(" point" in end for end in (low, high)):
        return f"{low.partition(' point')[0]} to {high}"
    return f"{low} to {high}"
