"""Convergence: regret of the best so far against evaluations, one facet a task."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.figures.style import (
    MOST_LABELS,
    MUTED,
    Look,
    blank,
    label_ends,
    plain,
    styled,
    titled,
)

QUESTION = "Which arm finds better solutions sooner?"


def draw(
    curves: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], floor: float
) -> None:
    """Draws one task.

    Args:
        curves: Curves of log10 regret on one task: arm, evaluation, centre, low, high.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
        floor: Regret that stands for zero, in unit scores.
    """
    ends = {}
    for arm, look in arms.items():
        curve = curves[curves["arm"] == arm]
        if curve.empty:
            continue
        x = curve["evaluation"].to_numpy(np.float64)
        centre, low, high = (
            10.0 ** curve[name].to_numpy(np.float64)
            for name in ("centre", "low", "high")
        )
        if len(arms) <= MOST_LABELS:
            axes.fill_between(x, low, high, color=look.colour, alpha=0.16, linewidth=0)
        axes.plot(x, centre, color=look.colour, linestyle=look.dashes)
        ends[arm] = float(centre[-1])
    axes.set(xscale="log", yscale="log", xlabel="evaluations", ylabel="regret")
    _limit(axes, floor)
    if len(ends) <= MOST_LABELS:
        label_ends(axes, ends, arms)


def _limit(axes: Axes, floor: float) -> None:
    """Shows at least a factor of three, and says where zero is if it is in sight."""
    low, high = axes.get_ylim()
    if high / low < 3.0:
        middle = (high * low) ** 0.5
        low, high = middle / 3.0**0.5, middle * 3.0**0.5
    if low < 2.0 * floor:
        low = 0.7 * floor
        axes.axhline(floor, color=MUTED[0], linewidth=0.9, linestyle=":")
        axes.text(
            0.02,
            floor * 1.15,
            "optimum",
            transform=axes.get_yaxis_transform(),
            color=MUTED[0],
            fontsize=7.5,
        )
    axes.set_ylim(low, high)
    decades = np.log10(high / low)
    ones = (
        (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 0.7 else range(1, 10)
    )
    axes.yaxis.set_major_locator(LogLocator(subs=tuple(ones), numticks=8))
    x_low, x_high = axes.get_xlim()
    steps = (1.0,) if x_high / x_low > 300.0 else (1.0, 3.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps, numticks=8))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain))
        axis.set_minor_formatter(NullFormatter())


def panel(
    curves: pd.DataFrame, task: str, arms: Mapping[str, Look], floor: float
) -> Figure:
    """Returns the figure of one task, for the page."""
    with styled():
        figure, axes = blank(1, 1, width=4.6, height=2.9)
        draw(curves[curves["task"] == task], axes[0][0], arms, floor)
        axes[0][0].set_title(task)
    return figure


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    floor: float,
    caption: str,
) -> Figure:
    """Returns the figure of all tasks, which stands alone."""
    columns = min(3, len(tasks))
    rows = -(-len(tasks) // columns)
    with styled():
        whole, axes = blank(rows, columns, width=4.4, height=2.9)
        flat = [one for row in axes for one in row]
        for one, task in zip(flat, tasks, strict=False):
            draw(curves[curves["task"] == task], one, arms, floor)
            one.set_title(task)
        for one in flat[len(tasks) :]:
            one.set_axis_off()
        titled(whole, QUESTION, caption, arms)
    return whole
