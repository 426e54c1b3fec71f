"""Sentences on what dials did and why a contrast came out as it did, by rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from experiments.report.findings import Dial
from experiments.report.inputs import Leverage
from experiments.report.measures import Measure
from experiments.report.words import change, figures, fine, percent, several, steps
from experiments.statistics.aggregate import Behaviour
from experiments.statistics.control import Expected
from experiments.statistics.verdict import Outcome, Verdict

#: Share of steps at a bound from which a dial is called dead.
DEAD_SHARE = 0.95

#: Largest total variation between two arms below which their dial is called dead: their
#: laws of selection then agree in all but one of a hundred draws.
DEAD_LEVERAGE = 0.01

#: Share of the population that effective parents must always reach for selection to be
#: called nearly uniform.
UNIFORM_SHARE = 0.95


def dead(arm: Behaviour) -> str:
    """Returns why the temperature of an arm could not respond, empty if it could.

    A temperature that is held at its bounds, or a diversity that is always zero, is a
    dial that is not connected, whatever its name.
    """
    if arm.minimum_share + arm.maximum_share >= DEAD_SHARE:
        where = "one of its bounds"
        if arm.maximum_share == 0.0:
            where = "its lower bound"
        elif arm.minimum_share == 0.0:
            where = "its upper bound"
        held = steps(min(1.0, arm.minimum_share + arm.maximum_share))
        return f"T was at {where} {held}"
    if arm.zero_diversity_share == 1.0 and arm.temperature_low < arm.temperature_high:
        return "D was 0 in all steps, so T followed no diversity"
    return ""


def dead_somewhere(arm: Behaviour) -> str:
    """Returns on which tasks alone an arm has a dead dial, empty if on none or on all."""
    tasks = [task for task, dial in arm.tasks.items() if dead(dial)]
    if not tasks or dead(arm):
        return ""
    named = tasks if len(tasks) <= 3 else [*tasks[:2], "\u2026"]
    return f"dead on {len(tasks)} of {len(arm.tasks)} tasks ({', '.join(named)})"


def temperature(arm: Behaviour) -> str:
    """Returns the range of T: 1, or 0.05 to 1.9; empty if it was not recorded."""
    if math.isnan(arm.temperature_low):
        return ""
    low, high = figures(arm.temperature_low), figures(arm.temperature_high)
    return low if low == high else f"{low} to {high}"


def bounds(arm: Behaviour) -> str:
    """Returns how often T was cut, empty if it never was."""
    shares = (("lower", arm.minimum_share), ("upper", arm.maximum_share))
    found = [f"{side} {steps(share)}" for side, share in shares if share > 0.0]
    return " and ".join(found)


def diversity(arm: Behaviour) -> str:
    """Returns what D was on average and how often it was zero."""
    if math.isnan(arm.zero_diversity_share):
        return "not measured"
    if arm.zero_diversity_share == 1.0:
        return "0 in all steps"
    mean = figures(arm.mean_diversity)
    if arm.zero_diversity_share == 0.0:
        return mean
    return f"{mean}; 0 {steps(arm.zero_diversity_share)}"


def parents(dial: Dial, population: int | None) -> str:
    """Returns the effective parents in words, empty if they were not computed."""
    low, high = dial.parents
    if math.isnan(low):
        return ""
    text = percent if population is not None else figures
    ends = text(low)
    if text(low) != text(high):
        ends = f"{text(low).removesuffix(' %')} to {text(high)}"
    if population is None:
        return ends
    uniform = ", nearly uniform" if low >= UNIFORM_SHARE else ""
    return f"{ends}{uniform}"


def why(
    verdict: Verdict,
    dials: Mapping[str, Dial],
    leverage: Leverage | None,
    population: int | None = None,
) -> str:
    """Returns one or two sentences on why a contrast came out as it did.

    Args:
        verdict: The verdict.
        dials: What the dials of each arm did.
        leverage: How far apart the two arms' laws are, if that is known.
        population: Cap of the population, if it is one number.
    """
    if leverage is not None and leverage[0] < DEAD_LEVERAGE:
        variation, task = leverage
        amount = (
            "of selection never differ at all"
            if variation == 0.0
            else f"of selection never differ by more than {fine(variation)} of probability "
            f"({task})"
        )
        return f"The two arms' laws {amount}: this dial is dead, no n decides it."
    pair = [(name, dials[name]) for name in (verdict.arm, verdict.base)]
    if nothing_ran(verdict):
        return "No pair of runs finished."
    parts = []
    if verdict.identical and verdict.outcome is Outcome.EQUIVALENT:
        parts.append("every paired difference is exactly 0")
    elif leverage is not None:
        variation, task = leverage
        parts.append(
            f"laws of selection differ by up to {fine(variation)} of probability ({task})"
        )
    parts += _reasons(pair) or _levels(pair, population)
    text = "; ".join(parts)
    # A name at the beginning keeps its first letter.
    named = text.startswith((verdict.arm, verdict.base))
    start = text if named else f"{text[:1].upper()}{text[1:]}"
    sentences = [undecided(verdict)] if verdict.outcome is Outcome.INCONCLUSIVE else []
    sentences += [f"{start}."] if text else []
    return " ".join(sentences)


def measured(
    measures: Mapping[str, Measure],
    means: Mapping[str, Mapping[str, float]],
    arm: str,
    base: str,
) -> str:
    """Returns what else two arms were measured by, such as "Tokens 7 against 98.".

    Args:
        measures: The measures to speak of, by name.
        means: Their means, by name and arm.
        arm: Name of the arm.
        base: Name of its base.
    """
    said = []
    for name, measure in measures.items():
        one, other = (measure.text(means[name][who]) for who in (arm, base))
        both = f"{one} in both" if one == other else f"{one} against {other}"
        said.append(f"{measure.title} {both}.")
    return " ".join(said)


def exceptions(
    verdict: Verdict, margin: float, change: Callable[[float], str] = change
) -> str:
    """Returns the tasks on which an arm that is no better on average stands apart.

    A task stands apart where its own difference exceeds the margin and its interval
    excludes zero. It is one of many looks, so it is no verdict; hiding it would be worse.

    Args:
        verdict: The verdict.
        margin: The margin.
        change: Words of a difference.
    """
    if verdict.outcome not in (Outcome.EQUIVALENT, Outcome.INCONCLUSIVE):
        return ""
    apart = [
        task
        for task in verdict.comparison.tasks
        if abs(task.effect) > margin
        and not (task.interval.low <= 0.0 <= task.interval.high)
    ]
    apart.sort(key=lambda task: -abs(task.effect))
    if not apart:
        return ""
    named = [f"{change(task.effect)} on {task.task}" for task in apart[:3]]
    more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
    return f"On average, not everywhere: {', '.join(named)}{more}."


def nothing_ran(verdict: Verdict) -> bool:
    """Returns whether all runs of both arms failed, so that nothing is known."""
    return verdict.identical and verdict.outcome is Outcome.INCONCLUSIVE


def undecided(verdict: Verdict) -> str:
    """Returns what would decide an open question."""
    if not verdict.deciding:
        return f"No size that would decide is known: {verdict.reason}."
    sizes = " or ".join(
        f"{several(size.n_tasks, 'task')} \u00d7 {several(size.n_seeds, 'pair')}"
        for size in verdict.deciding
    )
    return f"Would decide: {sizes}."


def _reasons(pair: Sequence[tuple[str, Dial]]) -> list[str]:
    """Returns what is dead about two arms, once if it is the same."""
    found = [(name, _reason(dial)) for name, dial in pair]
    (_, one), (_, other) = found
    if one and one == other:
        return [f"in both arms {one}"]
    return [f"{name}: {reason}" for name, reason in found if reason]


def _reason(dial: Dial) -> str:
    """Returns what is dead about an arm, empty if nothing is."""
    arm = dial.behaviour
    if arm.n_runs == 0:
        return "no run finished"
    somewhere = dead_somewhere(arm)
    return dead(arm) or (f"dial {somewhere}" if somewhere else "")


def _levels(pair: Sequence[tuple[str, Dial]], population: int | None) -> list[str]:
    """Returns how two living dials compare."""
    (_, arm), (_, base) = pair
    found = []
    for word, of in (
        ("T", [temperature(dial.behaviour) for dial in (arm, base)]),
        ("effective parents", [parents(dial, population) for dial in (arm, base)]),
    ):
        if all(of):
            same = f"{word} {of[0]} in both"
            found.append(same if of[0] == of[1] else f"{word} {of[0]} against {of[1]}")
    cut = [
        f"{name} at a bound {steps(min(1.0, share))}"
        for name, dial in pair
        for share in [dial.behaviour.minimum_share + dial.behaviour.maximum_share]
        if share > 0.0
    ]
    zero = [
        f"D = 0 {steps(dial.behaviour.zero_diversity_share)} of {name}"
        for name, dial in pair
        if dial.behaviour.zero_diversity_share > 0.0
    ]
    return found + cut + zero


def control(verdict: Verdict, expected: Expected, *, passed: bool) -> str:
    """Returns how a control came out."""
    start = f"{verdict.words}"
    wanted = f"must be {expected}"
    if expected is Expected.IDENTICAL and passed:
        return f"{start}, {wanted}: every paired difference is exactly 0"
    if expected is Expected.SAME and verdict.identical and passed:
        return f"{start}: both drew the same random numbers, so it tested nothing"
    return f"{start}, {wanted}"


def failures(n_failed: int, n_runs: int, *, contrasts: bool) -> str:
    """Returns a sentence on runs that did not finish."""
    if n_failed == 0:
        return f"All {several(n_runs, 'run')} finished."
    text = (
        f"{n_failed:,} of {several(n_runs, 'run')} did not finish. They count as the "
        "worst value of their task"
    )
    if contrasts:
        return f"{text}; a second table leaves their pairs out."
    return f"{text}."
