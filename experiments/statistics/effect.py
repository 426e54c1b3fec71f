"""How often an arm is better: effect sizes without units.

Both count ties half, so that 0.5 means no difference:

- the paired probability compares the two runs of a pair,
- A12 compares every run of the arm with every run of its base on the same task (Vargha
  and Delaney 2000, "A critique and improvement of the CL common language effect size
  statistics"). Its mean over tasks is the probability of improvement of Agarwal et al.
  2021, "Deep reinforcement learning at the edge of the statistical precipice".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from experiments.statistics.aggregate import (
    Interval,
    percentile_interval,
    resampled_means,
)

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    interval: Interval


def paired_probability(differences: Floats, lower_is_better: bool = True) -> float:
    """Returns the share of ``(n,)`` differences arm - base in favour of the arm."""
    better = differences < 0.0 if lower_is_better else differences > 0.0
    return float(np.mean(better + 0.5 * (differences == 0.0)))


def a12(arm: Floats, base: Floats, lower_is_better: bool = True) -> float:
    """Returns the probability that a run of the arm beats a run of the base.

    Args:
        arm: ``(n,)`` values of the arm on one task.
        base: ``(m,)`` values of the base on that task.
        lower_is_better: Direction of the metric.

    Raises:
        ValueError: An argument is empty or not finite.
    """
    for name, numbers in (("arm", arm), ("base", base)):
        if numbers.size == 0 or not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite and not empty, got {numbers}")
    ranks = stats.rankdata(np.concatenate([arm, base]))[: arm.size]
    higher = (float(ranks.mean()) - (arm.size + 1) / 2.0) / base.size
    return 1.0 - higher if lower_is_better else higher


def mean_a12(pairs: pd.DataFrame, lower_is_better: bool = True) -> float:
    """Returns A12 averaged over tasks.

    Args:
        pairs: The table of ``paired.differences``, without NaN.
        lower_is_better: Direction of the metric.
    """
    return float(np.mean([a12(*side, lower_is_better) for side in _sides(pairs)]))


def probability_of_improvement(
    pairs: pd.DataFrame,
    rng: np.random.Generator,
    *,
    lower_is_better: bool = True,
    level: float = 0.95,
    resamples: int = 4000,
) -> Estimate:
    """Returns A12 averaged over tasks, with its interval for these tasks.

    The interval is a percentile bootstrap of pairs within tasks: both runs of a pair are
    drawn together, so that what pairing achieved is not thrown away. It resamples each
    pair's two placements (DeLong et al. 1988), the shares of runs of the other arm that
    its runs beat and are beaten by. Recomputing A12 of resampled pairs instead would
    count runs of one pair against each other twice as often as they are, and can leave
    the estimate outside its own interval.

    Args:
        pairs: The table of ``paired.differences``, without NaN.
        rng: Source of the resamples.
        lower_is_better: Direction of the metric.
        level: Coverage of the interval.
        resamples: Number of bootstrap resamples.
    """
    sides = _sides(pairs)
    draws = np.zeros(resamples)
    for arm, base in sides:
        gap = arm[:, None] - base[None, :]
        wins = (gap < 0.0 if lower_is_better else gap > 0.0) + 0.5 * (gap == 0.0)
        placements = wins.mean(axis=1) + wins.mean(axis=0) - wins.mean()
        draws += resampled_means(placements, rng.random((resamples, arm.size)))
    # The mean of placements is linear in a pair, which A12 at its ends is not.
    draws = np.clip(draws / len(sides), 0.0, 1.0)
    return Estimate(
        mean_a12(pairs, lower_is_better),
        percentile_interval(draws, level),
    )


def _sides(pairs: pd.DataFrame) -> list[tuple[Floats, Floats]]:
    """Returns the values of arm and base, task by task."""
    return [
        (rows["arm"].to_numpy(np.float64), rows["base"].to_numpy(np.float64))
        for _, rows in pairs.groupby("task", sort=True)
    ]
