"""Runtime: how many targets are reached within a budget, as COCO shows it."""

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
from experiments.figures.lines import draw_lines
from experiments.figures.style import Look, styled

QUESTION = "How many targets are reached how soon?"

_WIDTH, _HEIGHT = 3.6, 2.5


def draw(
    ecdf: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], span: tuple[float, float]
) -> None:
    """Draws all arms.

    Args:
        ecdf: Columns arm, evaluation and share, as ``profiles.runtime_ecdf`` gives.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
        span: First and last evaluation of any run.
    """
    ends = [
        pd.DataFrame({"arm": arm, "evaluation": [span[1]], "share": [share]})
        for arm, share in ecdf.groupby("arm", sort=False)["share"].max().items()
    ]
    whole = pd.concat([ecdf, *ends], ignore_index=True)
    lines = whole.rename(columns={"share": "centre"}).assign(low=float("nan"))
    lines = lines.assign(high=float("nan"))
    shares = draw_lines(axes, lines, arms, steps=True)
    log_axis(axes, "x", span[0], max(span[1], 1.001 * span[0]))
    top = max(0.05, float(whole["share"].max()) if len(whole) else 0.05)
    step = next((one for one in (0.02, 0.05, 0.1) if top / one <= 5.5), 0.25)
    ticks = [step * index for index in range(int(1.05 * top / step) + 1)]
    axes.set(
        ylim=(-0.02 * top, 1.05 * top),
        yticks=ticks,
        yticklabels=[f"{100.0 * tick:.0f} %" for tick in ticks],
        xlabel="evaluations",
    )
    label_y(axes, "share of targets")
    label_ends(axes, shares, arms)


def figure(
    ecdf: pd.DataFrame,
    arms: Mapping[str, Look],
    span: tuple[float, float],
    caption: str = "",
    question: str = "",
) -> Figure:
    """Returns the figure; it stands alone if ``caption`` and ``question`` are given."""
    names = [arm for arm, look in arms.items() if not look.context]
    right = space(list(shortened(names).values()))
    with styled():
        whole, facets = blank(1, 1, width=_WIDTH, height=_HEIGHT, right=right)
        draw(ecdf, facets[0][0], arms, span)
        if caption:
            titled(whole, question, caption, arms)
    return whole
