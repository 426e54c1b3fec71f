"""Where things are in a figure: facets, axes, labels of lines, title, key and caption.

Places are fixed in inches, so that a figure is the same on every run and host.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from experiments.figures.style import MUTED, Look

#: The most lines ending side by side that are named one below the other; of more, a
#: label says how many they are, and the key names them.
MOST_ALIKE = 3

#: Height of a line of text beside axes, in inches.
LABEL_HEIGHT = 0.135
#: Width of a letter beside axes, in inches, and the most that all of them may take.
_LETTER, _MOST_RIGHT = 0.066, 1.35

#: Space around axes for ticks, labels and title, in inches.
LEFT, RIGHT, BOTTOM, TOP = 0.68, 0.14, 0.44, 0.3
#: Space between axes on top of each other in one facet, in inches.
_BETWEEN = 0.1


def blank(
    n: int,
    columns: int,
    *,
    width: float,
    height: float,
    stack: int = 1,
    left: float = LEFT,
    right: float = RIGHT,
) -> tuple[Figure, list[list[Axes]]]:
    """Returns an empty figure and the axes of its facets, row by row.

    Places are fixed in inches, so that they are the same on every run and host.

    Args:
        n: Number of facets.
        columns: Number of facets in a row.
        width: Width of a facet with its margins, in inches.
        height: Height of a facet with its margins, in inches.
        stack: Number of axes on top of each other in a facet; only the lowest has
            labels of its x axis.
        left: Margin at the left, in inches.
        right: Margin at the right, in inches.
    """
    columns = min(n, columns)
    rows = -(-n // columns)
    whole = (width * columns, height * rows)
    figure = Figure(figsize=whole, facecolor="none")
    inner = (height - TOP - BOTTOM - _BETWEEN * (stack - 1)) / stack
    facets = []
    for index in range(n):
        row, column = divmod(index, columns)
        facet = []
        for place in range(stack):
            x = column * width + left
            top = whole[1] - row * height - TOP - place * (inner + _BETWEEN)
            box = (
                x / whole[0],
                (top - inner) / whole[1],
                (width - left - right) / whole[0],
                inner / whole[1],
            )
            one = figure.add_axes(box)
            one.set_facecolor("none")
            facet.append(one)
        facets.append(facet)
    return figure, facets


def label_y(axes: Axes, text: str, away: float = LEFT - 0.16) -> None:
    """Labels a y axis at a fixed distance from it, in inches."""
    figure = cast(Figure, axes.get_figure())
    inches = axes.get_position().width * figure.get_size_inches()[0]
    axes.set_ylabel(text)
    axes.yaxis.set_label_coords(-away / inches, 0.5)


def space(names: Sequence[str]) -> float:
    """Returns the margin at the right that labels of lines need, in inches."""
    longest = max((len(name) for name in (*names, "88 arms alike")), default=0)
    return min(_MOST_RIGHT, 0.2 + _LETTER * longest)


def shortened(names: Sequence[str]) -> Mapping[str, str]:
    """Returns names without the words that all of them begin with, for labels.

    The words are those before an underscore: of ``ranked_fixed`` and ``ranked_adaptive``
    it leaves ``fixed`` and ``adaptive``.
    """
    most = int((_MOST_RIGHT - 0.2) / _LETTER)
    common = ""
    if len(names) > 1:
        shared = _beginning(min(names), max(names))
        common = shared[: shared.rfind("_") + 1]
    bare = {name: name.removeprefix(common) for name in names}
    return {
        name: text if len(text) <= most else f"{text[: most - 1]}\u2026"
        for name, text in bare.items()
    }


def _beginning(one: str, other: str) -> str:
    """Returns what two words begin with, which all words between them do as well."""
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return one[:n]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Returns round numbers for a logarithmic axis, three of them or more.

    Args:
        low: Lower end, positive.
        high: Upper end, above ``low``.
        most: The most there may be.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)):
        ticks = [
            float(f"{step * 10.0**decade:.6g}")
            for decade in decades
            for step in steps
            if low <= step * 10.0**decade <= high
        ]
        if len(ticks) >= 3:
            return ticks[:: -(-len(ticks) // most)]
    ticks = np.asarray(MaxNLocator(4).tick_values(low, high)).tolist()
    return [float(f"{tick:.6g}") for tick in ticks if low <= tick <= high]


def log_axis(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """Makes an axis logarithmic from ``low`` to ``high``, with few round ticks."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if which == "x":
        axes.set(xscale="log", xlim=(low, high))
    else:
        axes.set(yscale="log", ylim=(low, high))
    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())


def titled(
    figure: Figure,
    question: str,
    caption: str,
    arms: Mapping[str, Look] | None = None,
) -> None:
    """Puts what a figure needs to stand alone around it.

    Args:
        figure: The figure; it grows by what is added.
        question: Title, above.
        caption: Caption, below.
        arms: Looks of the arms, for a key between figure and caption.
    """
    width, height = map(float, figure.get_size_inches())
    heading = textwrap.wrap(question, int(width * 9.5)) or [""]
    notes = textwrap.wrap(caption, int(width * 13.2)) or [""]
    looks = {arm: look for arm, look in (arms or {}).items() if not look.context}
    per_row = max(1, int(width / (0.62 + 0.09 * max(map(len, looks), default=1))))
    n_rows = -(-len(looks) // per_row)
    above = 0.24 * len(heading) + 0.1
    below = 0.17 * len(notes) + 0.12
    middle = 0.2 * n_rows + (0.12 if n_rows else 0.0)
    whole = above + height + middle + below
    figure.set_size_inches(width, whole)
    for axes in figure.axes:
        x, y, wide, tall = axes.get_position().bounds
        y = (y * height + middle + below) / whole
        axes.set_position((x, y, wide, tall * height / whole))
    left = 0.08 / width
    figure.text(
        *(left, 1.0 - 0.08 / whole, "\n".join(heading)),
        va="top",
        fontsize=12.0,
        fontweight="bold",
    )
    figure.text(
        *(left, 0.06 / whole, "\n".join(notes)),
        va="bottom",
        color=MUTED[0],
        fontsize=9.0,
    )
    if looks:
        figure.legend(
            handles=[
                Line2D([], [], color=look.colour, linestyle=look.dashes, label=arm)
                for arm, look in looks.items()
            ],
            loc="lower left",
            bbox_to_anchor=(0.0, below / whole),
            ncols=per_row,
            frameon=False,
            handlelength=2.6,
            borderaxespad=0.0,
        )


def label_ends(axes: Axes, ends: Mapping[str, float], arms: Mapping[str, Look]) -> None:
    """Names lines at their right ends, moved apart where they would overlap.

    Where more than ``MOST_ALIKE`` end side by side, one label says how many. Call it
    last, when the limits of the y axis are final.

    Args:
        axes: Where the lines are; labels go to the right of it.
        ends: Last value of each line, in data units.
        arms: Looks of the arms.
    """
    if not ends:
        return
    low, high = axes.get_ylim()
    scale = axes.get_yaxis().get_transform()
    bottom, top, *heights = scale.transform(np.array([low, high, *ends.values()]))
    wanted = (np.array(heights) - bottom) / (top - bottom)
    figure = cast(Figure, axes.get_figure())
    gap = LABEL_HEIGHT / (axes.get_position().height * figure.get_size_inches()[1])
    names = shortened(list(ends))
    labels: list[tuple[str, float, str]] = []
    for cluster in _clusters(wanted, gap):
        members = [list(ends)[index] for index in cluster]
        if len(cluster) > MOST_ALIKE:
            middle = float(wanted[cluster].mean())
            labels.append((f"{len(cluster)} arms alike", middle, MUTED[0]))
        else:
            labels += [
                (names[arm], float(wanted[index]), arms[arm].colour)
                for arm, index in zip(members, cluster, strict=True)
            ]
    placed = apart(np.array([height for _, height, _ in labels]), gap)
    for (name, at, colour), to in zip(labels, placed, strict=True):
        axes.annotate(
            name,
            xy=(1.0, at),
            xytext=(1.06, float(to)),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=8.5,
            va="center",
            ha="left",
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 1.2,
                "shrinkA": 1.0,
                "shrinkB": 0.0,
                "relpos": (0.0, 0.5),
            },
            annotation_clip=False,
        )


def _clusters(heights: NDArray[np.float64], gap: float) -> list[list[int]]:
    """Returns the indices of heights, those less than half a ``gap`` apart together."""
    clusters: list[list[int]] = []
    last = -math.inf
    for index in map(int, np.argsort(heights, kind="stable")):
        if clusters and heights[index] - last < 0.5 * gap:
            clusters[-1].append(index)
        else:
            clusters.append([index])
        last = float(heights[index])
    return clusters


def apart(wanted: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Returns heights at least ``gap`` apart, in order, near the wanted ones."""
    order = np.argsort(wanted, kind="stable")
    placed = wanted[order].copy()
    steps = gap * np.arange(placed.size)
    # Of all ascending sequences with that gap, pool neighbours that collide and centre
    # each pool on its mean: isotonic regression of what is left without the gaps.
    pools: list[tuple[float, int]] = []
    for height in placed - steps:
        mean, size = float(height), 1
        while pools and pools[-1][0] >= mean:
            before, n = pools.pop()
            mean, size = (before * n + mean * size) / (n + size), n + size
        pools.append((mean, size))
    flat = np.repeat([mean for mean, _ in pools], [size for _, size in pools])
    result = np.empty_like(placed)
    result[order] = flat + steps
    return result


def plain(value: float, _: object = None) -> str:
    """Returns a tick label without mathematics: 0.001, 1e-06."""
    return f"{value:g}"
