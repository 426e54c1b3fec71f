"""The look that all figures share, and their passage to SVG.

Figures are made without pyplot and without its state: ``blank`` gives axes, a figure's
``draw`` fills them, ``svg`` turns them into bytes that are the same on every run.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import seaborn
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

#: The most arms that are named beside their lines and have bands of their intervals;
#: beyond, the key alone names them, and bands would hide each other.
MOST_LABELS = 6

#: Height of a line of text beside axes about two inches tall, in parts of their height.
LABEL_GAP = 0.075

#: Colours as drawn, and what replaces them on a dark page.
INK = ("#1b1f24", "#e8eaed")
MUTED = ("#59626c", "#a3abb5")
GRID = ("#dde1e6", "#363c44")

# After Okabe and Ito 2008, darkened or lightened until each has a contrast of 3:1 with
# its page; neighbours also differ in their dashes.
ARMS = (
    ("#0072b2", "#4aa3df"),
    ("#d55e00", "#f0813a"),
    ("#008f68", "#2fbf94"),
    ("#b0528a", "#d98cbc"),
    ("#a67500", "#e6b23a"),
    ("#4b5563", "#b9c1cb"),
    ("#2b93c9", "#8fd0f2"),
)
_DASHES = ("-", (0, (5.0, 1.6)), (0, (1.2, 1.2)), (0, (6.0, 1.4, 1.2, 1.4)))

_NAMES = {
    **{light: f"arm-{index}" for index, (light, _) in enumerate(ARMS)},
    INK[0]: "ink",
    MUTED[0]: "muted",
    GRID[0]: "grid",
}

_TAG = re.compile(r"<[^>]*>")
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)([^")]*)(["\)])')
_LONG = re.compile(r"(?<![\w.])-?\d+\.\d{3,}")


class Look(NamedTuple):
    """How an arm is drawn, in every figure.

    Attributes:
        colour: Hexadecimal colour, one of ``ARMS``.
        dashes: Line style of Matplotlib.
    """

    colour: str
    dashes: Any


def looks(arms: Sequence[str]) -> Mapping[str, Look]:
    """Returns the look of each arm by its place in the study, 28 before one repeats."""
    return {
        arm: Look(ARMS[index % len(ARMS)][0], _DASHES[index % len(_DASHES)])
        for index, arm in enumerate(arms)
    }


def dash_array(look: Look) -> str:
    """Returns the dashes of a look as SVG wants them, for a line 2 units wide."""
    if look.dashes == "-":
        return "none"
    return " ".join(f"{2.0 * length:g}" for length in look.dashes[1])


def variables(*, dark: bool) -> Mapping[str, str]:
    """Returns the colours of a page, by the names that inline figures refer to."""
    pairs = (*ARMS, INK, MUTED, GRID)
    return {name: pair[dark] for name, pair in zip(_NAMES.values(), pairs, strict=True)}


def variable(colour: str) -> str:
    """Returns the name of the variable of a page that stands for ``colour``."""
    return _NAMES[colour]


@contextmanager
def styled() -> Iterator[None]:
    """Makes and writes figures in our style, and leaves that of others alone."""
    ink, muted, grid = INK[0], MUTED[0], GRID[0]
    style = {
        **seaborn.axes_style("ticks"),
        **seaborn.plotting_context("paper"),
        "font.family": ["DejaVu Sans"],
        "font.size": 8.5,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 8.5,
        "xtick.labelsize": 8.0,
        "ytick.labelsize": 8.0,
        "axes.edgecolor": muted,
        "axes.labelcolor": ink,
        "axes.titlecolor": ink,
        "text.color": ink,
        "xtick.color": muted,
        "ytick.color": muted,
        "xtick.labelcolor": ink,
        "ytick.labelcolor": ink,
        "xtick.minor.size": 0.0,
        "ytick.minor.size": 0.0,
        "axes.grid": True,
        "axes.grid.axis": "both",
        "grid.color": grid,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.6,
        "svg.fonttype": "none",
        "svg.hashsalt": "boltzmem",
    }
    with mpl.rc_context(style):
        yield


def blank(
    rows: int, columns: int, *, width: float, height: float, sharex: bool = False
) -> tuple[Figure, list[list[Axes]]]:
    """Returns an empty figure and its axes, row by row.

    Args:
        rows: Number of rows of axes.
        columns: Number of columns of axes.
        width: Width of one axes with its margins, in inches.
        height: Height of one axes with its margins, in inches.
        sharex: Whether the axes of a column share their x axis.
    """
    figure = Figure(
        figsize=(width * columns, height * rows), layout="constrained", facecolor="none"
    )
    axes = figure.subplots(
        rows, columns, squeeze=False, sharex="col" if sharex else False
    )
    for one in axes.flat:
        one.set_facecolor("none")
    return figure, [list(row) for row in axes]


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
    width, height = figure.get_size_inches()
    heading = textwrap.wrap(question, int(width * 10.0)) or [""]
    notes = textwrap.wrap(caption, int(width * 14.0)) or [""]
    looks = dict(arms or {})
    per_row = max(1, int(width / (0.62 + 0.085 * max(map(len, looks), default=1))))
    n_rows = -(-len(looks) // per_row)
    above = 0.24 * len(heading) + 0.1
    below = 0.165 * len(notes) + 0.12
    middle = 0.19 * n_rows + (0.12 if n_rows else 0.0)
    whole = above + height + middle + below
    figure.set_size_inches(width, whole)
    rect = (0.0, (below + middle) / whole, 1.0, height / whole)
    figure.set_layout_engine("constrained", rect=rect)
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
        fontsize=8.5,
    )
    if looks:
        legend = figure.legend(
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
        legend.set_in_layout(False)


def label_ends(axes: Axes, ends: Mapping[str, float], arms: Mapping[str, Look]) -> None:
    """Names lines at their right ends, moved apart where they would overlap.

    Call it last, when the limits of the y axis are final.

    Args:
        axes: Where the lines are; labels go to the right of it.
        ends: Last value of each line, in data units.
        arms: Looks of the arms.
    """
    low, high = axes.get_ylim()
    scale = axes.get_yaxis().get_transform()
    bottom, top, *heights = scale.transform(np.array([low, high, *ends.values()]))
    wanted = (np.array(heights) - bottom) / (top - bottom)
    placed = _apart(wanted, LABEL_GAP)
    for name, at, to in zip(ends, wanted, placed, strict=True):
        label = axes.annotate(
            name,
            xy=(1.0, float(at)),
            xytext=(1.055, float(to)),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=8.0,
            va="center",
            ha="left",
            arrowprops={
                "arrowstyle": "-",
                "color": arms[name].colour,
                "linewidth": 1.2,
                "shrinkA": 1.0,
                "shrinkB": 0.0,
                "relpos": (0.0, 0.5),
            },
            annotation_clip=False,
        )
        label.set_in_layout(True)


def _apart(wanted: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
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


def svg(figure: Figure) -> str:
    """Returns a figure as an SVG document on white, the same text on every run."""
    figure.set_facecolor("white")
    return _written(figure)


def save(figure: Figure, path: Path) -> None:
    """Writes a figure on white to an ``.svg``, ``.pdf`` or ``.png`` file.

    The same figure gives the same bytes: no file says when it was made.
    """
    if path.suffix == ".svg":
        path.write_text(svg(figure), encoding="utf-8")
        return
    figure.set_facecolor("white")
    dateless = {"CreationDate": None} if path.suffix == ".pdf" else None
    with styled():
        figure.savefig(path, dpi=200, metadata=dateless)


def inline_svg(figure: Figure, name: str, label: str) -> str:
    """Returns a figure as an element of a page, in the colours of that page.

    Args:
        figure: The figure; its background is left out.
        name: Prefix of all ids inside, unique in the page.
        label: What the figure shows, for those who do not see it.
    """
    figure.set_facecolor("none")
    text = _written(figure)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', text)
    if box is None:
        raise ValueError("figure must be written with a viewBox, got none")
    opening = f'<svg viewBox="{box[1]}" role="img" aria-label="{escape(label)}">'
    text = re.sub(r"<svg[^>]*>", lambda _: opening, text, count=1)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    for colour, variable_name in _NAMES.items():
        text = text.replace(colour, f"var(--{variable_name})")
    return text


def _settle(figure: Figure) -> None:
    """Lays a figure out for good, in positions that are the same on every run.

    The solver behind the layout differs in its last bits from one run to the next.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position(np.round(axes.get_position().bounds, 4).tolist())


def _written(figure: Figure) -> str:
    FigureCanvasSVG(figure)
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Type", "Format"))
    with styled():
        _settle(figure)
        figure.savefig(buffer, format="svg", metadata=nothing)
    # A hundredth of a point is not seen, and its digits may differ between processors.
    # What is read, between the tags, stays as it is.
    text = _TAG.sub(
        lambda tag: _LONG.sub(lambda number: f"{float(number[0]):.2f}", tag[0]),
        buffer.getvalue().decode(),
    )
    # Matplotlib makes ids of positions to the last bit, and ends lines with blanks.
    ids = re.findall(r'\bid="([^"]*)"', text)
    numbers = {name: f"i{index}" for index, name in enumerate(dict.fromkeys(ids))}
    text = _REFERENCE.sub(
        lambda found: f"{found[1]}{numbers.get(found[2], found[2])}{found[3]}", text
    )
    lines = text.splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
