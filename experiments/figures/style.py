"""The look that all figures share, and their passage to SVG.

Figures are made without pyplot and without its state: ``layout.blank`` gives axes, a
figure's ``draw`` fills them, ``svg`` turns them into bytes that are the same on every
run.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import seaborn
from markupsafe import escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

#: The most arms that are drawn with bands of their intervals; those of more would hide
#: each other.
MOST_BANDS = 4
#: Colours as drawn, and what replaces them on a dark page.
INK = ("#1b1f24", "#e8eaed")
MUTED = ("#59626c", "#a3abb5")
GRID = ("#dde1e6", "#363c44")
#: What lies behind a figure on the page; hollow marks are filled with it.
PAPER = ("#f5f6f8", "#1d2126")
#: Arms that are there for comparison only.
OTHER = ("#aab2bb", "#59626c")

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
    OTHER[0]: "other",
    PAPER[0]: "paper",
}

_TAG = re.compile(r"<[^>]*>")
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)([^")]*)(["\)])')
_SPACE = re.compile(r">\s+<")
# What a page says once for all its figures, or what is so anyway.
_NEEDLESS = re.compile(
    r"(?:font-family: 'DejaVu Sans'|stroke-line(?:cap|join): \w+|stroke-dashoffset: 0)"
    r"(?:; |$)"
)
_FLAT = re.compile(r' transform="rotate\(-?0 [^)]*\)"')
_EMPTY = re.compile(r'<defs>\s*</defs>|<path d="[^"]*" style="fill:none"/>')
_LONG = re.compile(r"(?<![\w.])-?\d+\.\d{3,}")


class Look(NamedTuple):
    """How an arm is drawn, in every figure.

    Attributes:
        colour: Hexadecimal colour, one of ``ARMS``, or ``OTHER`` if it is context.
        dashes: Line style of Matplotlib.
    """

    colour: str
    dashes: Any

    @property
    def context(self) -> bool:
        """Whether the arm is there for comparison only."""
        return self.colour == OTHER[0]


CONTEXT = Look(OTHER[0], "-")


def looks(arms: Sequence[str]) -> Mapping[str, Look]:
    """Returns the look of each arm by its place in the study, 28 before one repeats."""
    return {
        arm: Look(ARMS[index % len(ARMS)][0], _DASHES[index % len(_DASHES)])
        for index, arm in enumerate(arms)
    }


def highlighted(
    arms: Sequence[str], groups: Sequence[Sequence[str]]
) -> Mapping[str, Look]:
    """Returns the look of each arm of a study of which some are highlighted.

    Arms of one group differ in colour as long as there are colours, then in dashes. An
    arm of several groups looks the same in all; one of none is context.

    Args:
        arms: All arms.
        groups: The arms that are shown together, group by group.
    """
    order = [(index % len(ARMS), index % len(_DASHES)) for index in range(28)]
    found: dict[str, tuple[int, int]] = {}
    for group in groups:
        for arm in group:
            taken = [found[name] for name in group if name in found]
            colours = [colour for colour, _ in taken]
            free = [pair for pair in order if pair not in taken] or order
            new = [pair for pair in free if pair[0] not in colours]
            found.setdefault(arm, (new or free)[0])
    return {
        arm: Look(ARMS[found[arm][0]][0], _DASHES[found[arm][1]])
        if arm in found
        else CONTEXT
        for arm in arms
    }


def dash_array(look: Look) -> str:
    """Returns the dashes of a look as SVG wants them, for a line 2 units wide."""
    if look.dashes == "-":
        return "none"
    return " ".join(f"{2.0 * length:g}" for length in look.dashes[1])


def variables(*, dark: bool) -> Mapping[str, str]:
    """Returns the colours of a page, by the names that inline figures refer to."""
    pairs = (*ARMS, INK, MUTED, GRID, OTHER, PAPER)
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
        "font.size": 9.0,
        "axes.titlesize": 10.0,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 9.0,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
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
        "axes.grid.axis": "y",
        "xtick.bottom": False,
        "ytick.left": False,
        "grid.color": grid,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": 1.6,
        # A dollar in somebody's label is a dollar.
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "boltzmem",
    }
    with mpl.rc_context(style):
        yield


def svg(figure: Figure) -> str:
    """Returns a figure as an SVG document on white, the same text on every run."""
    figure.set_facecolor("white")
    return _slim(_written(figure))


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
    return _compact(text)


def _compact(text: str) -> str:
    """Returns an inline figure without what a page does not need.

    Groups that nobody refers to are opened, numbers keep a tenth of a point, lettering
    is that of the page.
    """
    text = re.sub(r' style="([^"]*)"', lambda found: _style(found[1]), _slim(text))
    return _SPACE.sub("><", _EMPTY.sub("", _FLAT.sub("", text))) + "\n"


def _style(text: str) -> str:
    short = _NEEDLESS.sub("", text).removesuffix("; ")
    return f' style="{short.replace("; ", ";").replace(": ", ":")}"' if short else ""


def _slim(text: str) -> str:
    """Returns SVG without groups that only carry an id, ids not used and long paths."""
    text = _unwrapped(text)
    return re.sub(r' d="([^"]*)"', lambda found: f' d="{_path(found[1])}"', text)


def _unwrapped(text: str) -> str:
    used = frozenset(re.findall(r'(?:href="#|url\(#)([^")]*)', text))
    kept: list[bool] = []

    def tag(found: re.Match[str]) -> str:
        if found[0] == "</g>":
            return found[0] if kept.pop() else ""
        name = re.search(r' id="([^"]*)"', found[0])
        bare = found[0]
        if name is not None and name[1] not in used:
            bare = bare.replace(name[0], "")
        if bare in ("<g/>", "<g />"):
            return ""
        if bare.startswith("<g") and not bare.endswith("/>"):
            kept.append(bare != "<g>")
            return bare if kept[-1] else ""
        return bare

    return re.sub(r"<[^>]*>", tag, text)


def _path(text: str) -> str:
    """Returns the data of a path in tenths of a point, without needless letters."""
    text = re.sub(
        r"-?\d+\.\d+", lambda found: f"{round(float(found[0]), 1) + 0.0:g}", text
    )
    text = re.sub(r"\s*([A-Za-z])\s*", r"\1", text).strip()
    # After a move or a line, further pairs are lines.
    return re.sub(r"(?<=\d)L(?=[-\d])", " ", re.sub(r"\s+", " ", text))


def _written(figure: Figure) -> str:
    FigureCanvasSVG(figure)
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Type", "Format"))
    with styled():
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
