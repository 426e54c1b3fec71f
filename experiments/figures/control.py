"""Control: diversity, temperature and clamps against evaluations, one facet a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.figures.style import MOST_LABELS, Look, blank, plain, styled, titled

QUESTION = "What did diversity do, and did the temperature follow?"

#: The quantities that are drawn, as curves with a column ``quantity``.
QUANTITIES = ("diversity", "temperature", "floor", "ceiling")
N_ROWS = 3


def draw(curves: pd.DataFrame, axes: Sequence[Axes], arms: Mapping[str, Look]) -> None:
    """Draws one task.

    Args:
        curves: Curves on one task: quantity, arm, evaluation, centre, low, high.
        axes: Three axes: D, T (log scale), and the share of runs at a clamp, that at
            the ceiling upwards and that at the floor downwards.
        arms: Looks of the arms, in the order of drawing.
    """
    for arm, look in arms.items():
        mine = curves[curves["arm"] == arm]
        for one, quantity in zip(axes, ("diversity", "temperature"), strict=False):
            curve = mine[mine["quantity"] == quantity]
            if curve.empty:
                continue
            x = curve["evaluation"].to_numpy(np.float64)
            low, high = (curve[end].to_numpy(np.float64) for end in ("low", "high"))
            if len(arms) <= MOST_LABELS:
                one.fill_between(
                    x, low, high, color=look.colour, alpha=0.16, linewidth=0
                )
            one.plot(x, curve["centre"], color=look.colour, linestyle=look.dashes)
        for quantity, sign in (("ceiling", 1.0), ("floor", -1.0)):
            curve = mine[mine["quantity"] == quantity]
            if (curve["centre"] > 0.0).any():
                axes[2].plot(
                    curve["evaluation"],
                    sign * curve["centre"],
                    color=look.colour,
                    linestyle=look.dashes,
                )
    _finish(axes)


def _finish(axes: Sequence[Axes]) -> None:
    diversity, temperature, clamps = axes
    top = max(1.0, diversity.get_ylim()[1])
    diversity.set(ylim=(-0.04, top * 1.04), ylabel="D")
    temperature.set(yscale="log", ylabel="T")
    low, high = temperature.get_ylim()
    if high / low < 4.0:
        middle = (high * low) ** 0.5
        low, high = middle / 2.0, middle * 2.0
        temperature.set_ylim(low, high)
    subs = (1.0,) if high / low > 300.0 else (1.0, 2.0, 5.0)
    temperature.yaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
    clamps.axhline(0.0, color=clamps.spines["left"].get_edgecolor(), linewidth=0.8)
    clamps.set(
        ylim=(-1.08, 1.08),
        yticks=[-1.0, 0.0, 1.0],
        yticklabels=["all at floor", "none", "all at ceiling"],
        xlabel="evaluations",
    )
    for one in axes:
        one.set_xscale("log")
        start, end = one.get_xlim()
        steps = (1.0,) if end / start > 300.0 else (1.0, 3.0)
        one.xaxis.set_major_locator(LogLocator(subs=steps, numticks=8))
        one.xaxis.set_major_formatter(FuncFormatter(plain))
        one.xaxis.set_minor_formatter(NullFormatter())
    temperature.yaxis.set_major_formatter(FuncFormatter(plain))
    temperature.yaxis.set_minor_formatter(NullFormatter())


def _facet(axes: list[list[Axes]], index: int, columns: int) -> list[Axes]:
    """Returns the axes of one task, facets counted from the left and top."""
    band, column = divmod(index, columns)
    return [row[column] for row in axes[N_ROWS * band : N_ROWS * (band + 1)]]


def panel(curves: pd.DataFrame, task: str, arms: Mapping[str, Look]) -> Figure:
    """Returns the figure of one task, for the page."""
    with styled():
        figure, axes = blank(N_ROWS, 1, width=4.6, height=1.45, sharex=True)
        draw(curves[curves["task"] == task], [row[0] for row in axes], arms)
        axes[0][0].set_title(task)
        figure.align_ylabels()
    return figure


def figure(
    curves: pd.DataFrame,
    tasks: tuple[str, ...],
    arms: Mapping[str, Look],
    caption: str,
) -> Figure:
    """Returns the figure of all tasks, which stands alone."""
    columns = min(3, len(tasks))
    bands = -(-len(tasks) // columns)
    with styled():
        whole, axes = blank(N_ROWS * bands, columns, width=4.4, height=1.45)
        for index, task in enumerate(tasks):
            rows = _facet(axes, index, columns)
            draw(curves[curves["task"] == task], rows, arms)
            rows[0].set_title(task)
        for index in range(len(tasks), bands * columns):
            for one in _facet(axes, index, columns):
                one.set_axis_off()
        titled(whole, QUESTION, caption, arms)
    return whole
