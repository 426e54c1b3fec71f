"""Convergence: regret of the best so far against evaluations, one facet a task."""

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
from experiments.figures.style import MUTED, Look, styled

QUESTION = "Which arm finds better solutions sooner?"

#: The least factor between both ends of the y axis.
_LEAST = 1.25
_WIDTH, _HEIGHT = 3.6, 2.5


def draw(
    curves: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], floor: float
) -> None:
    """Draws one task.

    Args:
        curves: Curves of log10 regret on one task: arm, evaluation, centre, low, high;
            not empty.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
        floor: Regret that stands for zero, in unit scores.
    """
    columns = ["centre", "low", "high"]
    regret = curves.assign(**{name: 10.0 ** curves[name] for name in columns})
    ends = draw_lines(axes, regret, arms)
    evaluations = regret["evaluation"]
    log_axis(axes, "x", float(evaluations.min()), float(evaluations.max()))
    low, high = _limits(*reached(regret, arms), floor)
    log_axis(axes, "y", low, high)
    axes.set_xlabel("evaluations")
    label_y(axes, "regret (own axis)")
    if low < floor:
        axes.axhline(floor, color=MUTED[0], linewidth=0.9, linestyle=":")
        axes.text(
            0.02,
            floor * 1.15,
            "optimum",
            transform=axes.get_yaxis_transform(),
            color=MUTED[0],
            fontsize=8.0,
        )
    label_ends(axes, ends, arms)


def _limits(low: float, high: float, floor: float) -> tuple[float, float]:
    """Returns the ends of the y axis; it passes the floor only where that is in sight."""
    if high / low < _LEAST:
        middle = (high * low) ** 0.5
        low, high = middle / _LEAST**0.5, middle * _LEAST**0.5
    pad = (high / low) ** 0.05
    low, high = low / pad, high * pad
    return (0.7 * floor if low < 2.0 * floor else low), high


def panel(
    curves: pd.DataFrame, task: str, arms: Mapping[str, Look], floor: float
) -> Figure:
    """Returns the figure of one task that has curves, for the page."""
    with styled():
        figure, facets = blank(1, 1, width=_WIDTH, height=_HEIGHT, right=_right(arms))
        draw(curves[curves["task"] == task], facets[0][0], arms, floor)
        facets[0][0].set_title(task)
    return figure


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    floor: float,
    caption: str,
    question: str = QUESTION,
) -> Figure:
    """Returns the figure of all tasks that have curves, which stands alone."""
    with styled():
        whole, facets = blank(
            len(tasks), 3, width=_WIDTH, height=_HEIGHT, right=_right(arms)
        )
        for axes, task in zip(facets, tasks, strict=True):
            draw(curves[curves["task"] == task], axes[0], arms, floor)
            axes[0].set_title(task)
        titled(whole, question, caption, arms)
    return whole


def _right(arms: Mapping[str, Look]) -> float:
    """Returns the margin that labels of the highlighted need."""
    names = [arm for arm, look in arms.items() if not look.context]
    return space(list(shortened(names).values()))
