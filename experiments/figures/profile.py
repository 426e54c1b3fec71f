"""Performance profile: how many runs end below each regret, a task counting once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
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

QUESTION = "How many runs end how close to the optimum?"

_WIDTH, _HEIGHT = 3.6, 2.5


def thresholds(
    lowest: float, n: int = 41
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns ``(n,)`` regrets from 1 down to ``lowest``, evenly spread in their log."""
    return np.geomspace(1.0, lowest, n)


def draw(profile: pd.DataFrame, axes: Axes, arms: Mapping[str, Look]) -> None:
    """Draws all arms.

    Args:
        profile: Columns arm, regret (the threshold), share, low and high.
        axes: Where to draw.
        arms: Looks of the arms, in the order of drawing.
    """
    shown = profile.rename(columns={"share": "centre"})
    ends = draw_lines(axes, shown, arms, x="regret")
    lowest = float(profile["regret"].min())
    log_axis(axes, "x", lowest, 1.0)
    axes.invert_xaxis()
    axes.set(
        ylim=(-0.02, 1.03),
        yticks=[0.0, 0.25, 0.5, 0.75, 1.0],
        yticklabels=["0 %", "25 %", "50 %", "75 %", "100 %"],
        xlabel="final regret below (right is better)",
    )
    label_y(axes, "share of runs")
    label_ends(axes, ends, arms)


def figure(
    profile: pd.DataFrame,
    arms: Mapping[str, Look],
    caption: str = "",
    question: str = "",
) -> Figure:
    """Returns the figure; it stands alone if ``caption`` and ``question`` are given."""
    names = [arm for arm, look in arms.items() if not look.context]
    right = space(list(shortened(names).values()))
    with styled():
        whole, facets = blank(1, 1, width=_WIDTH, height=_HEIGHT, right=right)
        draw(profile, facets[0][0], arms)
        if caption:
            titled(whole, question, caption, arms)
    return whole
