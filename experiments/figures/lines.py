"""Lines of arms against something: context first, then those that are highlighted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.figures.style import MOST_BANDS, OTHER, Look


def banded(arms: Mapping[str, Look]) -> bool:
    """Returns whether the highlighted of ``arms`` are few enough to have bands."""
    return sum(not look.context for look in arms.values()) <= MOST_BANDS


def draw_lines(
    axes: Axes,
    curves: pd.DataFrame,
    arms: Mapping[str, Look],
    *,
    x: str = "evaluation",
    steps: bool = False,
) -> Mapping[str, float]:
    """Draws one line an arm, and the bands of the highlighted if they are few.

    Args:
        axes: Where to draw.
        curves: Columns arm, ``x``, centre, low and high; a band needs finite ends.
        arms: Looks of the arms, in the order of drawing.
        x: Name of the column along the x axis.
        steps: Whether a value holds until the next.

    Returns:
        The last value of each highlighted arm that has a line.
    """
    ends = {}
    parts = dict(list(curves.groupby("arm", sort=False)))
    with_bands = banded(arms)
    style = "steps-post" if steps else "default"
    grey = [parts[arm] for arm, look in arms.items() if look.context and arm in parts]
    if grey:
        gap = pd.DataFrame({x: [np.nan], "centre": [np.nan]})
        both = pd.concat([one for rows in grey for one in (rows[[x, "centre"]], gap)])
        # One line with gaps takes a third of the room of many.
        axes.plot(
            both[x], both["centre"], color=OTHER[0], linewidth=0.8, drawstyle=style
        )
    for arm, look in arms.items():
        if look.context or arm not in parts:
            continue
        numbers = parts[arm][[x, "centre", "low", "high"]].to_numpy(np.float64)
        if with_bands and np.isfinite(numbers[:, 2:]).all():
            axes.fill_between(
                *(numbers[:, 0], numbers[:, 2], numbers[:, 3]),
                color=look.colour,
                alpha=0.16,
                linewidth=0,
                step="post" if steps else None,
            )
        axes.plot(
            *(numbers[:, 0], numbers[:, 1]),
            color=look.colour,
            linestyle=look.dashes,
            drawstyle=style,
        )
        ends[str(arm)] = float(numbers[-1, 1])
    return ends


def reached(curves: pd.DataFrame, arms: Mapping[str, Look]) -> tuple[float, float]:
    """Returns the lowest and highest value that lines and bands need.

    Args:
        curves: Columns arm, centre, low and high, not empty.
        arms: Looks of the arms.
    """
    shown = curves[curves["arm"].isin(list(arms))]
    columns = [shown["centre"]]
    if banded(arms):
        high = [arm for arm, look in arms.items() if not look.context]
        bands = shown[shown["arm"].isin(high)]
        columns += [bands["low"], bands["high"]]
    numbers = np.concatenate([column.to_numpy(np.float64) for column in columns])
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.min()), float(numbers.max())
