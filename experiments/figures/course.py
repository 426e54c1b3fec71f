"""Course: the share of trials that went right so far, one facet a task."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

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

QUESTION = "How does it go as a run goes on?"

#: The least share between both ends of the y axis.
_LEAST = 0.1
_WIDTH, _HEIGHT = 3.6, 2.5


def draw(
    curves: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], score: str, trial: str
) -> None:
    """Draws one task.

    Args:
        curves: Curves of the share so far on one task: arm, evaluation, centre, low,
            high; not empty.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
        score: Name of the share.
        trial: Name of a trial, in the singular.
    """
    ends = draw_lines(axes, curves, arms)
    trials = curves["evaluation"]
    start, end = float(trials.min()), float(trials.max())
    log_axis(axes, "x", start, max(end, 1.001 * start))
    low, high = reached(curves, arms)
    pad = max(0.05 * (high - low), 0.5 * (_LEAST - (high - low)))
    axes.set(ylim=(low - pad, high + pad), xlabel=f"{trial}s")
    percent(axes)
    label_y(axes, score)
    label_ends(axes, ends, arms)


def percent(axes: Axes) -> None:
    """Makes the ticks of a y axis per cent, of what lies in ``[0, 1]``."""
    low, high = axes.get_ylim()
    ticks = [t for t in MaxNLocator(5).tick_values(low, high) if 0.0 <= t <= 1.0]
    axes.set_yticks([tick for tick in ticks if low <= tick <= high])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100.0 * y:.0f} %"))


def panel(
    curves: pd.DataFrame, task: str, arms: Mapping[str, Look], score: str, trial: str
) -> Figure:
    """Returns the figure of one task that has curves, for the page."""
    with styled():
        figure, facets = blank(1, 1, width=_WIDTH, height=_HEIGHT, right=_right(arms))
        draw(curves[curves["task"] == task], facets[0][0], arms, score, trial)
        facets[0][0].set_title(task)
    return figure


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    names: tuple[str, str],
    caption: str,
    question: str = QUESTION,
) -> Figure:
    """Returns the figure of all tasks that have curves, which stands alone.

    Args:
        curves: As in ``draw``, of all tasks.
        tasks: Their labels.
        arms: Looks of the arms.
        names: Names of the share and of a trial.
        caption: What stands below.
        question: What stands above.
    """
    with styled():
        whole, facets = blank(
            len(tasks), 3, width=_WIDTH, height=_HEIGHT, right=_right(arms)
        )
        for axes, task in zip(facets, tasks, strict=True):
            draw(curves[curves["task"] == task], axes[0], arms, *names)
            axes[0].set_title(task)
        titled(whole, question, caption, arms)
    return whole


def _right(arms: Mapping[str, Look]) -> float:
    """Returns the margin that labels of the highlighted need."""
    names = [arm for arm, look in arms.items() if not look.context]
    return space(list(shortened(names).values()))
