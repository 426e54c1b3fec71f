"""Contrasts: paired differences with their intervals, a row each, as in a forest plot."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.figures.layout import LEFT, RIGHT, blank, titled
from experiments.figures.style import ARMS, GRID, INK, MUTED, PAPER, styled
from experiments.statistics.aggregate import NO_INTERVAL, Interval
from experiments.statistics.paired import Comparison
from experiments.statistics.verdict import Outcome, Verdict

QUESTION = "Which changes make a difference, and on which tasks?"

#: Title of the forest of contrasts without a group.
ALL = "All contrasts, mean of tasks"

#: Colour of each verdict; an open question has a hollow mark as well.
COLOURS: Mapping[Outcome, str] = {
    Outcome.BETTER: ARMS[0][0],
    Outcome.WORSE: ARMS[1][0],
    Outcome.EQUIVALENT: INK[0],
    Outcome.INCONCLUSIVE: MUTED[0],
}

#: Height of a row, of a line of its label, and of both ends, in inches.
_ROW, _LINE, _ENDS = 0.24, 0.155, 0.72
_WIDTH, _MARGIN = 3.6, 0.14
#: Letters of a title that fit above axes.
_LETTERS = 40


class Row(NamedTuple):
    """One row of the plot.

    Attributes:
        label: What is compared.
        colour: Hexadecimal colour.
        effect: Paired difference, arm - base.
        deciding: Interval for tasks like these, drawn as a line.
        these: Interval for these tasks alone, drawn as a pale bar.
        note: What stands at the right of the label.
        hollow: Whether the question is open.
        strong: Whether the row is a mean over tasks and not one task.
        beside: Whether the label stands left of the axes, and not above the row.
    """

    label: str
    colour: str
    effect: float
    deciding: Interval = NO_INTERVAL
    these: Interval = NO_INTERVAL
    note: str = ""
    hollow: bool = False
    strong: bool = True
    beside: bool = False


class Named(NamedTuple):
    """A verdict with its question and the group it belongs to."""

    title: str
    group: str
    verdict: Verdict


def overview_rows(named: Sequence[Named]) -> tuple[Row, ...]:
    """Returns one row a contrast."""
    return tuple(_overall(title, verdict) for title, _, verdict in named)


def groups(named: Sequence[Named]) -> Mapping[str, tuple[Named, ...]]:
    """Returns contrasts by their group."""
    return {
        group: tuple(entry for entry in named if entry.group == group)
        for group in dict.fromkeys(entry.group for entry in named)
    }


def _overall(title: str, verdict: Verdict) -> Row:
    found = verdict.comparison
    return Row(
        title,
        COLOURS[verdict.outcome],
        found.effect,
        found.tasks_random,
        found.tasks_fixed,
        verdict.words,
        verdict.outcome is Outcome.INCONCLUSIVE,
    )


def task_rows(verdict: Verdict) -> tuple[Row, ...]:
    """Returns the rows of one contrast: all tasks, then each task."""
    tasks = (
        Row(
            task.task,
            MUTED[0],
            task.effect,
            these=task.interval,
            strong=False,
            beside=True,
        )
        for task in verdict.comparison.tasks
    )
    overall = _overall("mean of tasks", verdict)
    return (overall._replace(note="", beside=True), *tasks)


def reach(comparisons: Sequence[Comparison], margin: float, *, tasks: bool) -> float:
    """Returns the largest distance from zero that any row needs.

    The interval of two or three tasks can be so wide that nothing else would be seen; it
    counts up to twice what the rest needs, and is drawn with an arrow.

    Args:
        comparisons: What is drawn.
        margin: The margin, which is always seen.
        tasks: Whether the rows of single tasks are drawn.
    """
    inner, outer = [1.4 * margin], [0.0]
    for found in comparisons:
        inner += [abs(found.effect), *map(abs, found.tasks_fixed)]
        outer += map(abs, found.tasks_random)
        for task in found.tasks if tasks else ():
            inner += [abs(task.effect), *map(abs, task.interval)]
    most = max(number for number in inner if not math.isnan(number))
    far = max((number for number in outer if not math.isnan(number)), default=0.0)
    return 1.05 * max(most, min(far, 2.0 * most))


def draw(rows: Sequence[Row], axes: Axes, limit: float, margin: float) -> None:
    """Draws rows from the top down, in inches.

    Args:
        rows: The rows.
        axes: Where to draw.
        limit: The x axis goes from ``-limit`` to ``limit``.
        margin: Half the width of the band in which a difference does not matter.
    """
    axes.axvspan(-margin, margin, color=GRID[0], alpha=0.6, linewidth=0)
    top = 0.0
    for row in rows:
        lines = _lines(row)
        label = _LINE * len(lines)
        if row.beside:
            height = top + 0.5 * _ROW
            axes.text(
                *(-0.02, height, row.label),
                transform=axes.get_yaxis_transform(),
                fontsize=8.5,
                fontweight="bold" if row.strong else "normal",
                va="center",
                ha="right",
            )
            _row(row, axes, height, limit)
            top += _ROW
            continue
        axes.text(
            *(0.0, top + label, "\n".join(lines)),
            transform=axes.get_yaxis_transform(),
            fontsize=8.5,
            fontweight="bold" if row.strong else "normal",
            va="bottom",
            linespacing=1.1,
        )
        height = top + label + 0.4 * _ROW
        axes.text(
            *(1.0, top + label, row.note),
            transform=axes.get_yaxis_transform(),
            fontsize=8.5,
            color=row.colour,
            va="bottom",
            ha="right",
        )
        _row(row, axes, height, limit)
        top += label + _ROW
    axes.plot([0.0, 0.0], [0.0, top], color=INK[0], linewidth=0.7, zorder=0.5)
    axes.set(xlim=(-limit, limit), ylim=(top, 0.0), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5, symmetric=True))
    axes.set_xlabel("\u2190 arm is better | base is better \u2192")


def _row(row: Row, axes: Axes, height: float, limit: float) -> None:
    _interval(axes, row.these, height, row.colour, 6.5, limit, pale=True)
    _interval(axes, row.deciding, height, row.colour, 1.8, limit)
    axes.plot(
        row.effect,
        height,
        marker="D" if row.strong else "o",
        markersize=6.0 if row.strong else 4.5,
        color=row.colour,
        markerfacecolor=PAPER[0] if row.hollow else row.colour,
        linestyle="none",
    )


def _lines(row: Row) -> list[str]:
    """Returns the label of a row, broken where it would leave the axes or meet the note."""
    return textwrap.wrap(row.label, max(14, 46 - len(row.note) - 2 * bool(row.note)))


def _height(rows: Sequence[Row]) -> float:
    """Returns the height of all rows, in inches."""
    labels = sum(_LINE * len(_lines(row)) for row in rows if not row.beside)
    return labels + _ROW * len(rows)


def _left(rows: Sequence[Row]) -> float:
    """Returns the margin that labels beside the axes need, in inches."""
    longest = max((len(row.label) for row in rows if row.beside), default=0)
    return max(_MARGIN, min(1.7, 0.12 + 0.076 * longest))


def titles(entry: Named) -> str:
    """Returns the title of the forest of one contrast: question and verdict."""
    start = f"{entry.group}: " if entry.group else ""
    return f"{start}{entry.title} {entry.verdict.words}"


def _interval(
    axes: Axes,
    interval: Interval,
    height: float,
    colour: str,
    width: float,
    limit: float,
    *,
    pale: bool = False,
) -> None:
    if math.isnan(interval.low):
        return
    low, high = max(interval.low, -limit), min(interval.high, limit)
    axes.plot(
        *([low, high], [height, height]),
        color=colour,
        linewidth=width,
        linestyle="-",
        alpha=0.3 if pale else 1.0,
        solid_capstyle="butt",
    )
    for end, beyond, marker in (
        (low, interval.low < -limit, "<"),
        (high, interval.high > limit, ">"),
    ):
        if beyond and not pale:
            axes.plot(
                end, height, marker=marker, markersize=5.0, color=colour, clip_on=False
            )


def panel(rows: Sequence[Row], title: str, limit: float, margin: float) -> Figure:
    """Returns one forest, for the page."""
    lines = textwrap.wrap(title, _LETTERS)
    above = 0.165 * (len(lines) - 1)
    with styled():
        figure, facets = blank(
            *(1, 1),
            width=_WIDTH,
            height=_ENDS + _height(rows) + 0.05,
            left=_left(rows),
            right=_MARGIN,
        )
        _grown(figure, above)
        draw(rows, facets[0][0], limit, margin)
        _title(facets[0][0], lines)
    return figure


def _title(axes: Axes, lines: Sequence[str]) -> None:
    """Puts a title above axes, from the left edge of their facet."""
    figure = cast(Figure, axes.get_figure())
    left = axes.get_position().x0 * figure.get_size_inches()[0] % _WIDTH - _MARGIN
    axes.annotate(
        *("\n".join(lines), (0.0, 1.0)),
        xycoords="axes fraction",
        xytext=(-72.0 * left, 8.0),
        textcoords="offset points",
        fontsize=10.0,
        fontweight="bold",
        annotation_clip=False,
        va="bottom",
    )


def _fitted(axes: Axes, rows: Sequence[Row], above: float) -> None:
    """Gives axes the margins and the height of their rows, from the top of a facet."""
    figure = cast(Figure, axes.get_figure())
    width, height = map(float, figure.get_size_inches())
    x, y, wide, tall = axes.get_position().bounds
    left, inner = _left(rows), _height(rows)
    axes.set_position(
        (
            x + (left - LEFT) / width,
            y + tall - (above + inner) / height,
            wide + (LEFT + RIGHT - left - _MARGIN) / width,
            inner / height,
        )
    )


def _grown(figure: Figure, above: float) -> None:
    """Adds room above all axes, in inches."""
    width, height = map(float, figure.get_size_inches())
    figure.set_size_inches(width, height + above)
    for axes in figure.axes:
        x, y, wide, tall = axes.get_position().bounds
        scale = height / (height + above)
        axes.set_position((x, y * scale, wide, tall * scale))


def figure(named: Sequence[Named], margin: float, caption: str) -> Figure:
    """Returns the forests of all contrasts side by side, which stand alone."""
    found = [entry.verdict.comparison for entry in named]
    overall, by_task = (reach(found, margin, tasks=tasks) for tasks in (False, True))
    forests = [
        (group or ALL, overview_rows(entries), overall)
        for group, entries in groups(named).items()
    ]
    forests += [(titles(one), task_rows(one.verdict), by_task) for one in named]
    highest = max(_height(rows) for _, rows, _ in forests)
    wrapped = [textwrap.wrap(title, _LETTERS) for title, _, _ in forests]
    above = 0.165 * max(map(len, wrapped))
    height = _ENDS + highest + above
    with styled():
        whole, facets = blank(len(forests), 3, width=_WIDTH, height=height)
        for axes, lines, (_, rows, limit) in zip(facets, wrapped, forests, strict=True):
            _fitted(axes[0], rows, above)
            draw(rows, axes[0], limit, margin)
            _title(axes[0], lines)
        titled(whole, QUESTION, caption)
    return whole
