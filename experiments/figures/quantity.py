"""One quantity against evaluations, one facet a task, for any choice of arms."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.layout import (
    blank,
    label_ends,
    label_y,
    log_axis,
    shortened,
    space,
    titled,
)
from experiments.figures.lines import draw_lines, reached
from experiments.figures.style import Look, styled

#: Title and label of the y axis of each quantity, and whether that axis is logarithmic.
LOOKS: Mapping[str, tuple[str, str, bool]] = {
    "best": ("How good is the best solution so far?", "best unit score", False),
    "regret": ("Which arm finds better solutions sooner?", "log10 regret", False),
    "D": ("How diverse is the population?", "diversity D", False),
    "T": ("How hot is selection?", "temperature T", True),
    "effective_parents": (
        "How many parents is the law of selection worth?",
        "effective parents",
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
    ends = draw_lines(axes, curves, arms)
    _, label, logarithmic = LOOKS[quantity]
    axes.set_xlabel("evaluations")
    label_y(axes, label)
    if curves.empty:
        return
    evaluations = curves["evaluation"]
    start, end = float(evaluations.min()), float(evaluations.max())
    log_axis(axes, "x", start, max(end, 1.001 * start))
    if logarithmic:
        low, high = reached(curves, arms)
        if high / low < 4.0:
            middle = (high * low) ** 0.5
            low, high = middle / 2.0, middle * 2.0
        log_axis(axes, "y", low / 1.1, high * 1.1)
    label_ends(axes, ends, arms)


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    quantity: str,
    caption: str,
) -> Figure:
    """Returns the figure of all tasks, which stands alone."""
    right = space(list(shortened(list(arms)).values()))
    with styled():
        whole, facets = blank(len(tasks), 3, width=3.8, height=2.7, right=right)
        for axes, task in zip(facets, tasks, strict=True):
            draw(curves[curves["task"] == task], axes[0], arms, quantity)
            axes[0].set_title(task)
        titled(whole, LOOKS[quantity][0], caption, arms)
    return whole
