"""Contrasts: paired differences with their intervals, a row each, as in a forest plot."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.figures.style import INK, Look, blank, styled, titled
from experiments.statistics.aggregate import NO_INTERVAL, Interval
from experiments.statistics.paired import Comparison

#: Height of a line of a label more, in rows.
LINE = 0.32

QUESTION = "How much does each change help?"


class Row(NamedTuple):
    """One row of the plot.

    Attributes:
        label: What is compared.
        colour: Hexadecimal colour.
        effect: Paired difference, arm - base.
        inner: Interval drawn thick.
        outer: Interval drawn thin; none if NaN.
        strong: Whether the row is a mean over tasks and not one task.
        identical: Whether every difference is zero.
    """

    label: str
    colour: str
    effect: float
    inner: Interval
    outer: Interval = NO_INTERVAL
    strong: bool = True
    identical: bool = False


def overview_rows(
    comparisons: Sequence[tuple[str, Comparison]], arms: Mapping[str, Look]
) -> tuple[Row, ...]:
    """Returns one row a contrast, from pairs of title and comparison."""
    return tuple(
        Row(
            title,
            arms[found.arm].colour,
            found.effect,
            found.tasks_fixed,
            found.tasks_random,
            identical=found.identical,
        )
        for title, found in comparisons
    )


def task_rows(comparison: Comparison, arms: Mapping[str, Look]) -> tuple[Row, ...]:
    """Returns the rows of one contrast: all tasks, then each task."""
    colour = arms[comparison.arm].colour
    (overall,) = overview_rows([("mean of tasks", comparison)], arms)
    tasks = (
        Row(task.task, colour, task.effect, task.interval, strong=False)
        for task in comparison.tasks
    )
    return (overall, *tasks)


def reach(comparisons: Sequence[Comparison]) -> float:
    """Returns the largest distance from zero that any row needs, at least 0.05.

    A tasks-random interval of two or three tasks can be so wide that nothing else would
    be seen; it counts up to twice what the rest needs, and is drawn with an arrow.
    """
    inner, outer = [0.05], [0.0]
    for found in comparisons:
        inner += [abs(found.effect), *map(abs, found.tasks_fixed)]
        outer += map(abs, found.tasks_random)
        for task in found.tasks:
            inner += [abs(task.effect), *map(abs, task.interval)]
    most = max(number for number in inner if not math.isnan(number))
    far = max((number for number in outer if not math.isnan(number)), default=0.0)
    return 1.08 * max(most, min(far, 2.0 * most))


def draw(rows: Sequence[Row], axes: Axes, limit: float) -> None:
    """Draws rows from the top down.

    Args:
        rows: The rows.
        axes: Where to draw.
        limit: The x axis goes from ``-limit`` to ``limit``.
    """
    for height, row in zip(_heights(rows), rows, strict=True):
        # The line at zero makes way for the labels.
        axes.plot(
            [0.0, 0.0], [height - 0.2, height + 0.35], color=INK[0], linewidth=0.9
        )
        _interval(axes, row.outer, height, row.colour, 1.1, limit)
        _interval(
            axes, row.inner, height, row.colour, 3.6 if row.strong else 2.0, limit
        )
        axes.plot(
            row.effect,
            height,
            marker="D" if row.strong else "o",
            markersize=6.0 if row.strong else 4.5,
            color=row.colour,
        )
        axes.text(
            0.0,
            height - 0.24,
            "\n".join(_lines(row)),
            transform=axes.get_yaxis_transform(),
            fontsize=8.0,
            fontweight="bold" if row.strong else "normal",
            va="bottom",
            ha="left",
            linespacing=1.1,
        ).set_in_layout(False)
    axes.set(xlim=(-limit, limit), ylim=(_total(rows) - 0.55, -0.72), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5, symmetric=True))
    axes.set_xlabel("\u2190 arm is better | base is better \u2192")


def _lines(row: Row) -> list[str]:
    """Returns the label of a row, broken where it would leave the axes."""
    label = f"{row.label} (identical)" if row.identical else row.label
    return textwrap.wrap(label, 48)


def _heights(rows: Sequence[Row]) -> list[float]:
    """Returns where each row is, one unit a row and a bit more for long labels."""
    extra = [LINE * (len(_lines(row)) - 1) for row in rows]
    return [index + sum(extra[: index + 1]) for index in range(len(rows))]


def _total(rows: Sequence[Row]) -> float:
    return _heights(rows)[-1] + 1.0


def _interval(
    axes: Axes,
    interval: Interval,
    height: float,
    colour: str,
    width: float,
    limit: float,
) -> None:
    if math.isnan(interval.low):
        return
    low, high = max(interval.low, -limit), min(interval.high, limit)
    axes.plot(
        [low, high], [height, height], color=colour, linewidth=width, linestyle="-"
    )
    for end, beyond, marker in (
        (low, interval.low < -limit, "<"),
        (high, interval.high > limit, ">"),
    ):
        if beyond:
            axes.plot(
                end, height, marker=marker, markersize=5.0, color=colour, clip_on=False
            )


def panel(rows: Sequence[Row], title: str, limit: float) -> Figure:
    """Returns one forest, for the page."""
    lines = textwrap.wrap(title, 46)
    with styled():
        figure, axes = blank(
            1, 1, width=4.6, height=0.62 + 0.16 * len(lines) + 0.42 * _total(rows)
        )
        draw(rows, axes[0][0], limit)
        axes[0][0].set_title("\n".join(lines))
    return figure


def figure(
    comparisons: Sequence[tuple[str, Comparison]],
    arms: Mapping[str, Look],
    caption: str,
) -> Figure:
    """Returns the forests of all contrasts side by side, which stand alone."""
    limit = reach([found for _, found in comparisons])
    columns = min(3, len(comparisons))
    bands = -(-len(comparisons) // columns)
    n_rows = 1 + max(len(found.tasks) for _, found in comparisons)
    with styled():
        whole, axes = blank(bands, columns, width=4.4, height=1.1 + 0.42 * n_rows)
        flat = [one for row in axes for one in row]
        for one, (title, found) in zip(flat, comparisons, strict=False):
            draw(task_rows(found, arms), one, limit)
            one.set_title("\n".join(textwrap.wrap(title, 44)))
        for one in flat[len(comparisons) :]:
            one.set_axis_off()
        titled(whole, QUESTION, caption)
    return whole
