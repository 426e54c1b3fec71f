"""Aggregates of the runs of one (task, arm): curves, scores, and what the dials did.

Intervals of means are percentile bootstraps (Efron and Tibshirani 1993, chapter 13)
over runs, vectorised and driven by ``rng.random()`` alone: ``scipy.stats.bootstrap``
cannot be keyed that way, and its BCa interval is undefined on constant data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """An interval; both ends are NaN where there is none."""

    low: float
    high: float


NO_INTERVAL = Interval(float("nan"), float("nan"))


def resampled_means(values: Floats, uniforms: Floats) -> Floats:
    """Returns means of bootstrap resamples over the first axis.

    Args:
        values: ``(n, ...)`` numbers, one row a run.
        uniforms: ``(resamples, n)`` numbers in ``[0, 1)``; each picks one row.

    Returns:
        ``(resamples, ...)`` means.
    """
    indices = (uniforms * len(values)).astype(np.intp)
    means: Floats = values[indices].mean(axis=1)
    return means


def percentile_interval(resamples: Floats, level: float = 0.95) -> Interval:
    """Returns the central interval that holds ``level`` of ``(resamples,)`` numbers."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(resamples, (tail, 1.0 - tail))
    return Interval(float(low), float(high))


def interquartile_mean(values: Floats) -> float:
    """Returns the mean of the middle half of ``(n,)`` numbers, NaN if there are none.

    ``floor(n / 4)`` numbers are cut off at each end (Agarwal et al. 2021).
    """
    if values.size == 0:
        return float("nan")
    return float(stats.trim_mean(values, 0.25))


def interquartile_means(
    scores: pd.DataFrame,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 4000,
) -> pd.DataFrame:
    """Returns the interquartile mean of each arm over all its runs and tasks.

    The interval is a percentile bootstrap of runs within tasks (Agarwal et al. 2021). It
    is that of one arm alone and does not compare two: pairs are for that. All arms share
    their resamples.

    Args:
        scores: Long table of arm, task, instance, seed and value, normalised so that
            tasks can be put together; every arm has the same blocks.
        rng: Source of the resamples.
        level: Coverage of the interval.
        resamples: Number of resamples.

    Returns:
        A table of arm, n (runs), iqm, low and high.
    """
    ordered = scores.sort_values(["task", "instance", "seed"])
    arms = {str(arm): rows for arm, rows in ordered.groupby("arm", sort=True)}
    sizes = next(iter(arms.values())).groupby("task", sort=True).size().to_numpy()
    starts = np.cumsum(sizes) - sizes
    picks = [
        start + (rng.random((resamples, n)) * n).astype(np.intp)
        for start, n in zip(starts, sizes, strict=True)
    ]
    indices = np.concatenate(picks, axis=1)
    parts = []
    for arm, rows in arms.items():
        values = rows["value"].to_numpy(np.float64)
        draws = stats.trim_mean(values[indices], 0.25, axis=1)
        low, high = percentile_interval(draws, level)
        iqm = interquartile_mean(values)
        parts.append(
            {"arm": arm, "n": values.size, "iqm": iqm, "low": low, "high": high}
        )
    return pd.DataFrame(parts)


def wilson_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Returns the score interval of a success rate (Wilson 1927), none if ``n`` is 0."""
    if n == 0:
        return NO_INTERVAL
    interval = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return Interval(float(interval.low), float(interval.high))


def curves(
    points: pd.DataFrame,
    rng: np.random.Generator,
    *,
    centre: Literal["mean", "median"] = "mean",
    level: float = 0.95,
    resamples: int = 1000,
) -> pd.DataFrame:
    """Returns one curve with its bootstrap interval over runs per (task, arm).

    All curves and all points of a curve share their resamples, so that a curve is
    smooth and does not depend on which other arms there are.

    Args:
        points: Long table of arm, task, instance, seed, evaluation and value; all runs
            of a (task, arm) have the same evaluations. Points where any of its runs has
            no number are left out.
        rng: Source of the resamples.
        centre: What to summarise runs by.
        level: Coverage of the interval.
        resamples: Number of resamples.

    Returns:
        A table of task, arm, evaluation, n, centre, low and high; the interval of a
        single run is NaN.

    Raises:
        ValueError: ``centre`` is unknown, or a run lacks evaluations that others have.
    """
    if centre not in ("mean", "median"):
        raise ValueError(f"centre must be 'mean' or 'median', got {centre!r}")
    columns = ["task", "arm", "evaluation", "n", "centre", "low", "high"]
    if points.empty:
        return pd.DataFrame(columns=columns)
    ordered = points.sort_values(["instance", "seed", "evaluation"])
    groups = ordered.groupby(["task", "arm"], sort=True)
    matrices = {key: _matrix(rows) for key, rows in groups}
    most = max(len(matrix) for _, matrix in matrices.values())
    uniforms = rng.random((resamples, most))
    parts = []
    for (task, arm), (grid, matrix) in matrices.items():
        n = len(matrix)
        low, high = np.full((2, grid.size), np.nan)
        if n > 1:
            draws = _resampled(matrix, uniforms[:, :n], centre)
            tail = (1.0 - level) / 2.0
            low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0)
        middle = matrix.mean(axis=0) if centre == "mean" else np.median(matrix, axis=0)
        part = {"task": task, "arm": arm, "evaluation": grid, "n": n}
        parts.append(pd.DataFrame({**part, "centre": middle, "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)[columns]


class _Curves(NamedTuple):
    """Runs of one (task, arm): the grid ``(p,)`` and the values ``(n, p)``."""

    grid: Floats
    matrix: Floats


def _matrix(rows: pd.DataFrame) -> _Curves:
    grid = np.unique(rows["evaluation"].to_numpy(np.float64))
    n, rest = divmod(len(rows), grid.size)
    evaluations = rows["evaluation"].to_numpy(np.float64)
    if rest or not (evaluations.reshape(n, -1) == grid).all():
        raise ValueError(
            "points must hold the same evaluations for all runs of a task and arm, got "
            f"otherwise in {rows['arm'].iloc[0]} at {rows['task'].iloc[0]}"
        )
    matrix = rows["value"].to_numpy(np.float64).reshape(n, -1)
    known = np.isfinite(matrix).all(axis=0)
    return _Curves(grid[known], matrix[:, known])


def _resampled(matrix: Floats, uniforms: Floats, centre: str) -> Floats:
    if centre == "mean":
        return resampled_means(matrix, uniforms)
    indices = (uniforms * len(matrix)).astype(np.intp)
    medians: Floats = np.median(matrix[indices], axis=1)
    return medians


def summary(
    values: Mapping[str, pd.DataFrame], success: str = "success"
) -> pd.DataFrame:
    """Returns one row of scores per (task, arm).

    Args:
        values: Long tables of arm, task, instance, seed and value, one a metric.
        success: Name of the metric that is 1 for a success and 0 for none.

    Returns:
        A table of task, arm, n; the mean, median and interquartile mean of each other
        metric; successes and the Wilson interval of their rate.
    """
    parts = []
    for metric, table in values.items():
        grouped = table.groupby(["task", "arm"], sort=True)["value"]
        if metric == success:
            part = pd.DataFrame({"n": grouped.size(), "successes": grouped.sum()})
            part = part.astype(int)
            ends = [
                wilson_interval(k, n)
                for k, n in zip(part["successes"], part["n"], strict=True)
            ]
            part["success_low"] = [interval.low for interval in ends]
            part["success_high"] = [interval.high for interval in ends]
        else:
            part = pd.DataFrame(
                {
                    f"{metric}_mean": grouped.mean(),
                    f"{metric}_median": grouped.median(),
                    f"{metric}_iqm": grouped.agg(
                        lambda column: interquartile_mean(column.to_numpy(np.float64))
                    ),
                }
            )
        parts.append(part)
    return pd.concat(parts, axis=1).reset_index()


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the dials of an arm did, over all its runs that finished.

    Args:
        n_runs: Number of runs.
        mean_diversity: Mean of D over runs; NaN if no run measured it.
        zero_diversity_share: Share of steps where D was exactly 0; NaN as above.
        minimum_share: Share of steps where T was held at its minimum.
        maximum_share: Share of steps where T was held at its maximum.
        temperature_low: Lowest T at any recorded point, in units of scaled score.
        temperature_high: Highest T at any recorded point.
        parents_low: Lowest number of effective parents at any recorded point; NaN if
            no point has one.
        parents_high: Highest number of effective parents.
        tasks: The same on each task alone, by task, so that what holds on some tasks
            only is seen and not averaged; empty in those of one task.
    """

    n_runs: int
    mean_diversity: float = float("nan")
    zero_diversity_share: float = float("nan")
    minimum_share: float = 0.0
    maximum_share: float = 0.0
    temperature_low: float = float("nan")
    temperature_high: float = float("nan")
    parents_low: float = float("nan")
    parents_high: float = float("nan")
    tasks: Mapping[str, Behaviour] = field(default_factory=dict)


def behaviours(
    runs: pd.DataFrame, trajectories: pd.DataFrame
) -> Mapping[str, Behaviour]:
    """Returns what the dials of each arm did, by arm.

    Args:
        runs: One row a run: task, arm, status and the columns of shares and means.
        trajectories: One row a run: task, arm and the lists temperature and
            effective_parents.
    """
    found = {}
    for arm, rows in runs.groupby("arm", sort=True):
        mine = trajectories[trajectories["arm"] == arm]
        tasks = {
            str(task): _behaviour(part, mine[mine["task"] == task])
            for task, part in rows.groupby("task", sort=True)
        }
        found[str(arm)] = replace(_behaviour(rows, mine), tasks=tasks)
    return found


def _behaviour(runs: pd.DataFrame, trajectories: pd.DataFrame) -> Behaviour:
    finished = runs[runs["status"] == "ok"]
    temperatures = _flat(trajectories["temperature"])
    parents = _flat(trajectories["effective_parents"])
    return Behaviour(
        n_runs=len(finished),
        mean_diversity=float(finished["mean_diversity"].mean()),
        zero_diversity_share=float(finished["zero_diversity_share"].mean()),
        minimum_share=float(finished["minimum_share"].mean()),
        maximum_share=float(finished["maximum_share"].mean()),
        temperature_low=_extreme(temperatures, np.min),
        temperature_high=_extreme(temperatures, np.max),
        parents_low=_extreme(parents, np.min),
        parents_high=_extreme(parents, np.max),
    )


def _flat(rows: pd.Series[Any]) -> Floats:
    """Returns the finite numbers of all lists of a column."""
    lists = [np.asarray(row, dtype=np.float64) for row in rows]
    flat = np.concatenate(lists) if lists else np.empty(0)
    return flat[np.isfinite(flat)]


def _extreme(numbers: Floats, extreme: Callable[[Floats], float]) -> float:
    return float(extreme(numbers)) if numbers.size else float("nan")
