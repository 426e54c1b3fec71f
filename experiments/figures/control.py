"""Control: diversity, temperature and effective parents against evaluations, by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.layout import (
    blank,
    label_ends,
    label_y,
    log_axis,
    plain,
    shortened,
    space,
    titled,
)
from experiments.figures.lines import draw_lines, reached
from experiments.figures.style import MUTED, Look, styled

QUESTION = "What did diversity do, and did the temperature follow?"

#: The rows, as curves with a column ``quantity``, and what stands beside each.
ROWS: Mapping[str, str] = {
    "diversity": "diversity D",
    "temperature": "temper-\nature T",
    "effective_parents": "parents\nin use",
}
#: What marks a temperature that was cut, as curves likewise, and the mark.
CLAMPS: Mapping[str, str] = {"ceiling": "^", "floor": "v"}
#: The quantities that are drawn.
QUANTITIES = (*ROWS, *CLAMPS)
#: Share of runs held at a bound from which a point is marked.
HELD = 0.5

_WIDTH, _HEIGHT = 3.6, 3.5
_LEFT = 0.8
#: Distance of a y axis's label from it, in inches.
_LABEL = 0.48


def draw(curves: pd.DataFrame, axes: Sequence[Axes], arms: Mapping[str, Look]) -> None:
    """Draws one task.

    Args:
        curves: Curves on one task: quantity, arm, evaluation, centre, low, high, the
            effective parents as a share of the population; not empty.
        axes: Three axes: D, T (log scale) with marks where it was cut, and parents.
        arms: Looks of the arms, in the order of drawing; context is left out.
    """
    shown = {arm: look for arm, look in arms.items() if not look.context}
    evaluations = curves["evaluation"]
    start, end = float(evaluations.min()), float(evaluations.max())
    for one, (quantity, label) in zip(axes, ROWS.items(), strict=True):
        mine = curves[
            (curves["quantity"] == quantity) & curves["arm"].isin(list(shown))
        ]
        ends = draw_lines(one, mine, shown)
        log_axis(one, "x", start, max(end, 1.001 * start))
        label_y(one, label, _LABEL)
        one.tick_params(labelbottom=one is axes[-1])
        if mine.empty:
            one.set(ylim=(0.0, 1.0), yticks=[])
            one.text(
                *(0.5, 0.5, "not measured"),
                transform=one.transAxes,
                ha="center",
                va="center",
                color=MUTED[0],
            )
            continue
        low, high = reached(mine, shown)
        if quantity == "temperature":
            log_axis(one, "y", *_wide(low, high))
            _marks(one, curves, shown)
        else:
            top = max(1.0, high)
            one.set(ylim=(-0.05 * top, 1.06 * top), yticks=[0.0, 0.5, 1.0])
            one.set_yticklabels(
                ["0 %", "50 %", "100 %"]
                if quantity == "effective_parents"
                else list(map(plain, (0.0, 0.5, 1.0)))
            )
        label_ends(one, ends, shown)
    axes[-1].set_xlabel("evaluations")


def _wide(low: float, high: float) -> tuple[float, float]:
    """Returns both ends of the axis of T, at least a factor of four apart."""
    if high / low < 4.0:
        middle = (high * low) ** 0.5
        low, high = middle / 2.0, middle * 2.0
    return low / 1.2, high * 1.2


def _marks(axes: Axes, curves: pd.DataFrame, arms: Mapping[str, Look]) -> None:
    """Marks every third point of T at which most runs were held at a bound."""
    hot = curves[curves["quantity"] == "temperature"].set_index(["arm", "evaluation"])
    for quantity, mark in CLAMPS.items():
        held = curves[(curves["quantity"] == quantity) & (curves["centre"] >= HELD)]
        for arm, rows in held.groupby("arm", sort=False):
            if arm not in arms:
                continue
            x = rows["evaluation"].to_numpy(np.float64)[::3]
            known = [at for at in x if (arm, at) in hot.index]
            y = [float(hot.loc[(arm, at), "centre"]) for at in known]
            axes.plot(
                *(known, y),
                linestyle="none",
                marker=mark,
                markersize=4.0,
                color=arms[str(arm)].colour,
            )


def panel(curves: pd.DataFrame, task: str, arms: Mapping[str, Look]) -> Figure:
    """Returns the figure of one task that has curves, for the page."""
    with styled():
        figure, facets = _blank(1, arms)
        draw(curves[curves["task"] == task], facets[0], arms)
        facets[0][0].set_title(task)
    return figure


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    caption: str,
    question: str = QUESTION,
) -> Figure:
    """Returns the figure of all tasks that have curves, which stands alone."""
    with styled():
        whole, facets = _blank(len(tasks), arms)
        for axes, task in zip(facets, tasks, strict=True):
            draw(curves[curves["task"] == task], axes, arms)
            axes[0].set_title(task)
        titled(whole, question, caption, arms)
    return whole


def _blank(n: int, arms: Mapping[str, Look]) -> tuple[Figure, list[list[Axes]]]:
    names = [arm for arm, look in arms.items() if not look.context]
    right = space(list(shortened(names).values()))
    return blank(
        n, 3, width=_WIDTH, height=_HEIGHT, stack=len(ROWS), left=_LEFT, right=right
    )
