"""Cost: how right each arm is against what it costs, means of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.course import percent
from experiments.figures.layout import (
    LABEL_HEIGHT,
    apart,
    blank,
    label_y,
    log_axis,
    shortened,
    space,
    titled,
)
from experiments.figures.style import Look, styled

QUESTION = "What does it cost?"

_WIDTH, _HEIGHT = 7.2, 3.6
#: The least share between both ends of the y axis, and factor between those of the x axis.
_LEAST, _FACTOR = 0.1, 2.0


def draw(
    points: pd.DataFrame, axes: Axes, arms: Mapping[str, Look], score: str, cost: str
) -> None:
    """Draws all arms, each with its name.

    Args:
        points: One row an arm: arm, score, cost; a cost is positive or NaN.
        axes: Where to draw.
        arms: Looks of the arms.
        score: Name of the share on the y axis.
        cost: Name of what is on the x axis.
    """
    known = points.dropna().set_index("arm")
    known = known.loc[[arm for arm in arms if arm in known.index]]
    low, high = _apart_by(_FACTOR, known["cost"])
    log_axis(axes, "x", low / 1.15, high * 1.15)
    low, high = float(known["score"].min()), float(known["score"].max())
    pad = max(0.08 * (high - low), 0.5 * (_LEAST - (high - low)))
    axes.set(ylim=(low - pad, high + pad), xlabel=cost)
    percent(axes)
    label_y(axes, score)
    for arm, row in known.iterrows():
        axes.plot(
            *(row["cost"], row["score"]),
            marker="o",
            markersize=6.0,
            linestyle="none",
            color=arms[str(arm)].colour,
        )
    _label(known, axes, arms)


def _apart_by(factor: float, costs: pd.Series[float]) -> tuple[float, float]:
    """Returns both ends of the x axis, at least a factor apart."""
    low, high = float(costs.min()), float(costs.max())
    if high / low < factor:
        middle = (high * low) ** 0.5
        low, high = middle / factor**0.5, middle * factor**0.5
    return low, high


def _label(known: pd.DataFrame, axes: Axes, arms: Mapping[str, Look]) -> None:
    """Names the points at their right, moved apart where names would overlap."""
    figure = cast(Figure, axes.get_figure())
    low, high = axes.get_ylim()
    wanted = (known["score"].to_numpy(np.float64) - low) / (high - low)
    gap = LABEL_HEIGHT / (axes.get_position().height * figure.get_size_inches()[1])
    names = shortened([str(arm) for arm in known.index])
    for (arm, row), to in zip(known.iterrows(), apart(wanted, gap), strict=True):
        axes.annotate(
            names[str(arm)],
            xy=(row["cost"], row["score"]),
            xytext=(
                9.0,
                (float(to) - (row["score"] - low) / (high - low)) * _inches(axes),
            ),
            textcoords="offset points",
            fontsize=8.5,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": arms[str(arm)].colour,
                "linewidth": 0.8,
                "shrinkA": 1.0,
                "shrinkB": 2.0,
                "relpos": (0.0, 0.5),
            },
            annotation_clip=False,
        )


def _inches(axes: Axes) -> float:
    """Returns the height of axes in points."""
    figure = cast(Figure, axes.get_figure())
    return float(72.0 * axes.get_position().height * figure.get_size_inches()[1])


def figure(
    points: pd.DataFrame,
    arms: Mapping[str, Look],
    names: tuple[str, str],
    caption: str = "",
) -> Figure:
    """Returns the figure; it stands alone if ``caption`` is given.

    Args:
        points: As in ``draw``.
        arms: Looks of the arms.
        names: Names of the share and of the cost.
        caption: What stands below.
    """
    right = space(list(shortened(list(arms)).values()))
    with styled():
        whole, facets = blank(1, 1, width=_WIDTH, height=_HEIGHT, right=right)
        draw(points, facets[0][0], arms, *names)
        if caption:
            titled(whole, QUESTION, caption)
    return whole
