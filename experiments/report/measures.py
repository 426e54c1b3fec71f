"""What is measured beside the search, in words and units of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from experiments.report.words import MINUS, NONE, figures, percent, points
from experiments.statistics.aggregate import Interval

#: Share of the largest by which arms must differ for a measure to be shown.
SEEN = 0.01


class Measure(NamedTuple):
    """A measure as the page speaks of it.

    Attributes:
        title: Head of its column.
        text: Its values in words.
        meaning: What it is, in one sentence.
        lower_is_better: Direction; higher is better else.
        amount: Its differences in words, without their sign; those of shares are points,
            because a per cent of a per cent is neither.
    """

    title: str
    text: Callable[[float], str]
    meaning: str
    lower_is_better: bool = True
    amount: Callable[[float], str] | None = None

    def size(self, difference: float) -> str:
        """Returns how large a difference is, in words."""
        return (self.amount or self.text)(abs(difference))

    def change(self, difference: float) -> str:
        """Returns a difference in words: 3 points higher, 12 kB lower."""
        if math.isnan(difference):
            return NONE
        if difference == 0.0:
            return "the same"
        way = "lower" if difference < 0.0 else "higher"
        return f"{self.size(difference)} {way}"

    def changes(self, interval: Interval) -> str:
        """Returns an interval of differences in words."""
        if math.isnan(interval.low):
            return NONE
        low, high = self.change(interval.low), self.change(interval.high)
        return low if low == high else f"{low} to {high}"


def quantity(value: float) -> str:
    """Returns a number in three significant digits, thousands apart: 1,310, 0.25."""
    if math.isnan(value):
        return NONE
    rounded = float(f"{value:.3g}")
    text = f"{rounded:,.0f}" if abs(rounded) >= 100.0 else f"{rounded:g}"
    return text.replace("-", MINUS)


def size(n_bytes: float) -> str:
    """Returns a number of bytes in three significant digits: 840 bytes, 12.5 kB, 3 MB."""
    if math.isnan(n_bytes):
        return NONE
    rounded = float(f"{n_bytes:.3g}")
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if rounded >= scale:
            return f"{quantity(rounded / scale)} {unit}"
    return f"{rounded:.0f} bytes"


def differ(means: Iterable[float]) -> bool:
    """Returns whether the means of arms differ by enough to be shown.

    Where some are known and some are not, they do.
    """
    all_ = list(means)
    known = [mean for mean in all_ if not math.isnan(mean)]
    if not known:
        return False
    gap = max(known) - min(known)
    return len(known) < len(all_) or gap > SEEN * max(map(abs, known))


MEASURES: Mapping[str, Measure] = {
    "kept_bytes": Measure(
        "Memory kept",
        size,
        "Bytes of all records that the memory has not forgotten at the end of a run, "
        "alive or not.",
    ),
    "overrating": Measure(
        "Overrating of parents",
        lambda error: f"{MINUS if error < 0.0 else ''}{points(error)}",
        "How much better the selected looked than they were, mean of selections; a point "
        "is a hundredth of the way from a random text to the optimum.",
    ),
    "distinct_parents": Measure(
        "Different parents",
        percent,
        "Different solutions selected, per selection: 100 % if none was selected twice.",
        lower_is_better=False,
        amount=points,
    ),
    "consistency": Measure(
        "Consistency",
        percent,
        "How often the same question asked again has the same answer.",
        lower_is_better=False,
        amount=points,
    ),
    "tokens": Measure(
        "Tokens",
        quantity,
        "Tokens of what the memory gives to the model, mean of the trials of a run.",
    ),
}


def described(name: str) -> Measure:
    """Returns how the page speaks of the measure ``name``, known or not."""
    plain = Measure(name.replace("_", " ").capitalize(), figures, "")
    return MEASURES.get(name, plain)
