"""One quantity against evaluations, one facet a task, for any choice of arms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.figures.style import (
    MOST_LABELS,
    Look,
    blank,
    label_ends,
    plain,
    styled,
    titled,
)

#: Title and label of the y axis of each quantity, and whether that axis is logarithmic.
LOOKS: Mapping[str, tuple[str, str, bool]] = {
    "best": ("How good is the best solution so far?", "best unit score", False),
    "regret": ("Which arm finds better solutions sooner?", "log10 regret", False),
    "D": ("How diverse is the population?", "D", False),
    "T": ("How hot is selection?", "T", True),
    "effective_parents": (
        "How many parents is the law of selection worth?",
        "exp(entropy)",
        True,
    ),
}


def draw(
    curves: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], quantity: str
) -> None:
    """Draws one task.

    Args:
        curves: Curves on one task: arm, evaluation, centre, low, high.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
        quantity: One of ``LOOKS``.
    """
    ends = {}
    for arm, look in arms.items():
        curve = curves[curves["arm"] == arm]
        if curve.empty:
            continue
        x, centre, low, high = (
            curve[name].to_numpy(np.float64)
            for name in ("evaluation", "centre", "low", "high")
        )
        if len(arms) <= MOST_LABELS:
            axes.fill_between(x, low, high, color=look.colour, alpha=0.16, linewidth=0)
        axes.plot(x, centre, color=look.colour, linestyle=look.dashes)
        ends[arm] = float(centre[-1])
    _, label, logarithmic = LOOKS[quantity]
    axes.set(xscale="log", xlabel="evaluations", ylabel=label)
    if logarithmic:
        axes.set_yscale("log")
        bottom, top = axes.get_ylim()
        if top / bottom < 4.0:
            middle = (top * bottom) ** 0.5
            axes.set_ylim(middle / 2.0, middle * 2.0)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if len(ends) <= MOST_LABELS:
        label_ends(axes, ends, arms)


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    quantity: str,
    caption: str,
) -> Figure:
    """Returns the figure of all tasks, which stands alone."""
    columns = min(3, len(tasks))
    rows = -(-len(tasks) // columns)
    with styled():
        whole, axes = blank(rows, columns, width=4.4, height=2.9)
        flat = [one for row in axes for one in row]
        for one, task in zip(flat, tasks, strict=False):
            draw(curves[curves["task"] == task], one, arms, quantity)
            one.set_title(task)
        for one in flat[len(tasks) :]:
            one.set_axis_off()
        titled(whole, LOOKS[quantity][0], caption, arms)
    return whole
