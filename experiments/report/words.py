"""Words for single numbers: what is said on the page is decided here, by rule."""

from __future__ import annotations

import math

from experiments.statistics.aggregate import Interval

NONE = "none"
MINUS = "\u2212"


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


def fine(share: float) -> str:
    """Returns a share in per cent with one digit below 10 %: 0.3 %, 12 %."""
    if 0.0 < share < 0.0005:
        return "<0.1 %"
    if 0.0 < share < 0.0995:
        return f"{100.0 * share:.1f} %".replace(".0 %", " %")
    return percent(share)


def points(share: float) -> str:
    """Returns a share in points, which are hundredths: 1 point, 3.1 points, 12 points."""
    if math.isnan(share):
        return NONE
    value = 100.0 * abs(share)
    if 0.0 < value < 0.05:
        return "<0.1 points"
    text = f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"
    return f"{text} point" if text == "1" else f"{text} points"


def steps(share: float) -> str:
    """Returns how many steps a share means: in all, in none, in 97 % of steps."""
    if share == 1.0:
        return "in all steps"
    if share == 0.0:
        return "in no step"
    return f"in {percent(share)} of steps"


def several(n: int, noun: str) -> str:
    """Returns a number of things, one of them in the singular: 1 arm, 2 arms."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def change(effect: float) -> str:
    """Returns what a difference of log10 regret means: 3 % lower, 2.4 times higher."""
    if math.isnan(effect):
        return NONE
    if effect == 0.0:
        return "the same"
    way = "lower" if effect < 0.0 else "higher"
    ratio = 10.0 ** abs(effect)
    if ratio >= 2.0:
        times = f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"
        return f"{times} times {way}"
    share = 1.0 - 1.0 / ratio if effect < 0.0 else ratio - 1.0
    return f"{fine(share)} {way}"


def changes(interval: Interval) -> str:
    """Returns an interval of such differences, ``none`` where there is none."""
    if math.isnan(interval.low):
        return NONE
    low, high = change(interval.low), change(interval.high)
    if low == high:
        return low
    ways = {text.rpartition(" ")[2] for text in (low, high)}
    if len(ways) == 1 and " % " in low and " % " in high:
        return f"{low.rpartition(' ')[0]} to {high}"
    return f"{low} to {high}"
