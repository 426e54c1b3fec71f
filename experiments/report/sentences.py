"""Words for numbers: what is said on the page is decided here, by rule."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from experiments.statistics.aggregate import Behaviour, Interval
from experiments.statistics.paired import Comparison

#: Share of steps at a clamp from which a dial is called dead.
DEAD_SHARE = 0.95

#: Share of the population that effective parents must always reach for selection to be
#: called nearly uniform.
UNIFORM_SHARE = 0.95

NONE = "none"
MINUS = "\u2212"
EN_DASH = "\u2013"


def figures(value: float) -> str:
    """Returns a number in three significant digits, ``none`` for NaN."""
    if math.isnan(value):
        return NONE
    return f"{value:.3g}".replace("-", MINUS)


def signed(value: float) -> str:
    """Returns a difference with its sign and three decimals, ``none`` for NaN."""
    if math.isnan(value):
        return NONE
    if value == 0.0:
        return "0"
    text = f"{value:+.3f}"
    if float(text) == 0.0:
        text = f"{value:+.0e}"
    return text.replace("-", MINUS)


def span(interval: Interval) -> str:
    """Returns an interval of differences, ``none`` where there is none."""
    if math.isnan(interval.low):
        return NONE
    return f"{signed(interval.low)} to {signed(interval.high)}"


def percent(share: float) -> str:
    """Returns a share in per cent; only exact 0 and 1 are called 0 % and 100 %."""
    if math.isnan(share):
        return NONE
    if 0.0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1.0:
        return ">99 %"
    return f"{100.0 * share:.0f} %"


def steps(share: float) -> str:
    """Returns how many steps a share means: in all, in none, in 97 % of steps."""
    if share == 1.0:
        return "in all steps"
    if share == 0.0:
        return "in no step"
    return f"in {percent(share)} of steps"


def dead(arm: Behaviour) -> str:
    """Returns why the temperature of an arm could not respond, empty if it could.

    A temperature that is held at its bounds, or a diversity that is always zero, is a
    dial that is not connected, whatever its name.
    """
    if arm.minimum_share + arm.maximum_share >= DEAD_SHARE:
        where = "one of its bounds"
        if arm.maximum_share == 0.0:
            where = "its floor"
        elif arm.minimum_share == 0.0:
            where = "its ceiling"
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
    return f"dead on {len(tasks)} of {len(arm.tasks)} tasks ({', '.join(tasks)})"


def behaviour(arm: Behaviour, population: int | None = None) -> str:
    """Returns a sentence about what the dials of an arm did.

    Args:
        arm: What they did.
        population: Cap of the population, if it is one number.
    """
    if arm.n_runs == 0:
        return "No run finished."
    parts = [_temperature(arm), _diversity(arm), _parents(arm, population)]
    text = "; ".join(part for part in parts if part) + "."
    if dead(arm):
        text = f"This dial is dead: {text}"
    elif dead_somewhere(arm):
        text = f"This dial is {dead_somewhere(arm)}. Over all tasks: {text}"
    return text[0].upper() + text[1:]


def _temperature(arm: Behaviour) -> str:
    if dead(arm):
        return dead(arm)
    if math.isnan(arm.temperature_low):
        return "T was not recorded"
    if arm.temperature_low == arm.temperature_high:
        return f"T stayed at {figures(arm.temperature_low)}"
    low, high = figures(arm.temperature_low), figures(arm.temperature_high)
    text = f"T moved between {low} and {high}, "
    clamps = []
    if arm.minimum_share > 0.0:
        clamps.append(f"at its floor {steps(arm.minimum_share)}")
    if arm.maximum_share > 0.0:
        clamps.append(f"at its ceiling {steps(arm.maximum_share)}")
    return text + (" and ".join(clamps) or "never at a clamp")


def _diversity(arm: Behaviour) -> str:
    if math.isnan(arm.zero_diversity_share):
        return "D was not measured"
    if arm.zero_diversity_share == 1.0:
        return "" if "D was 0" in dead(arm) else "D was 0 in all steps"
    mean = f"D was {figures(arm.mean_diversity)} on average"
    if arm.zero_diversity_share == 0.0:
        return mean
    return f"{mean} and 0 {steps(arm.zero_diversity_share)}"


def _parents(arm: Behaviour, population: int | None) -> str:
    if math.isnan(arm.parents_low):
        return ""
    low, high = figures(arm.parents_low), figures(arm.parents_high)
    text = f"effective parents {low}" if low == high else f"effective parents {low} to "
    text += "" if low == high else high
    if population is None:
        return text
    text += f" of {population}"
    if arm.parents_low >= UNIFORM_SHARE * population:
        text += ", so selection was nearly uniform"
    return text


def contrast(found: Comparison, dials: Mapping[str, Behaviour]) -> str:
    """Returns a sentence on why a contrast came out as it did.

    Args:
        found: The comparison.
        dials: What the dials of each arm did.
    """
    arm, base = dials[found.arm], dials[found.base]
    reasons = [
        f"{name}: {reason}"
        for name, reason in (
            (found.arm, _reason(arm)),
            (found.base, _reason(base)),
        )
        if reason
    ]
    text = "; ".join(reasons) if reasons else _levels(arm, base)
    if found.identical:
        start = "Identical: every paired difference is zero"
    else:
        start = f"The arm was better in {percent(found.better)} of pairs, ties half"
    return f"{start}. {text}." if text else f"{start}."


def _reason(arm: Behaviour) -> str:
    """Returns what is dead about an arm, empty if nothing is."""
    somewhere = dead_somewhere(arm)
    return dead(arm) or (f"dial {somewhere}" if somewhere else "")


def _levels(arm: Behaviour, base: Behaviour) -> str:
    """Returns how the temperatures of two living dials compare."""
    ranges = [
        (dial.temperature_low, dial.temperature_high)
        for dial in (arm, base)
        if not math.isnan(dial.temperature_low)
    ]
    if len(ranges) < 2:
        return ""
    texts = [
        figures(low) if low == high else f"{figures(low)} to {figures(high)}"
        for low, high in ranges
    ]
    if ranges[0] == ranges[1]:
        return f"T was {texts[0]} in both"
    return f"T was {texts[0]} against {texts[1]}"


def left_out(found: Comparison) -> str:
    """Returns how many pairs a comparison did without."""
    if found.n_left_out == 0:
        return "no pair left out"
    word = "pair" if found.n_left_out == 1 else "pairs"
    return f"{found.n_left_out} {word} left out"


def failures(n_failed: int, n_runs: int) -> str:
    """Returns a sentence on runs that did not finish."""
    if n_failed == 0:
        return f"All {n_runs} runs finished."
    return (
        f"{n_failed} of {n_runs} runs did not finish. They count as the worst value of "
        "their task; a second table of contrasts leaves their pairs out."
    )


def convergence(task: str, curves: pd.DataFrame) -> str:
    """Returns what the curves of one task show, for those who do not see them.

    Args:
        task: Label of the task.
        curves: Its curves of log10 regret: arm, evaluation, centre.
    """
    if curves.empty:
        return f"No run finished on {task}."
    last = curves.sort_values("evaluation").groupby("arm", sort=True).last()
    order = last["centre"].sort_values(kind="stable")
    best, worst = order.index[0], order.index[-1]
    text = (
        f"Regret against evaluations on {task}. After "
        f"{last['evaluation'].max():.0f} evaluations {best} is at "
        f"{figures(10.0 ** order.iloc[0])}"
    )
    if best == worst:
        return f"{text}."
    highest = figures(10.0 ** order.iloc[-1])
    return f"{text}, the lowest, and {worst} at {highest}, the highest."


def control(task: str, curves: pd.DataFrame) -> str:
    """Returns what diversity and temperature did on one task.

    Args:
        task: Label of the task.
        curves: Its curves: quantity, arm, evaluation, centre.
    """
    parts = []
    for quantity, symbol in (("diversity", "D"), ("temperature", "T")):
        centres = curves.loc[curves["quantity"] == quantity, "centre"]
        if not centres.empty:
            low, high = figures(centres.min()), figures(centres.max())
            parts.append(f"mean {symbol} between {low} and {high}")
    clamped = curves[curves["quantity"].isin(("floor", "ceiling"))]
    held = sorted(clamped.loc[clamped["centre"] > 0.0, "arm"].unique())
    parts.append(f"at a clamp at times: {', '.join(held) or NONE}")
    return f"Control against evaluations on {task}: {'; '.join(parts)}."


def forest(title: str, found: Comparison) -> str:
    """Returns what the forest of one contrast shows."""
    tasks = ", ".join(f"{task.task} {signed(task.effect)}" for task in found.tasks)
    return (
        f"{title}: mean paired difference {signed(found.effect)}, tasks fixed "
        f"{span(found.tasks_fixed)}, tasks random {span(found.tasks_random)}. "
        f"By task: {tasks}."
    )
