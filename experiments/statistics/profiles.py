"""Profiles: how often a score, or a target, is reached.

Scores are unit scores, whose two anchors are fixed for each task (0 a random text, 1 the
best known). Normalising by the best of the arms compared, as Dolan and Moré 2002 do
("Benchmarking optimization software with performance profiles", Mathematical
Programming 91), lets a third arm turn the order of two others around (Gould and Scott
2016), so it is not done here.

References:
    Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical
    precipice", NeurIPS 34: performance profiles with stratified bootstrap bands.
    Hansen et al. 2021, "COCO: a platform for comparing continuous optimizers in a
    black-box setting", Optimization Methods and Software 36: runtime ECDF and expected
    running time.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.statistics.aggregate import resampled_means
from experiments.statistics.blocks import checked

Floats = NDArray[np.float64]


def performance_profile(
    scores: pd.DataFrame,
    thresholds: Floats,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 1000,
) -> pd.DataFrame:
    """Returns which share of runs scores above each threshold, a task counting once.

    The bands are pointwise percentile bootstraps of runs within tasks. All arms share
    their resamples, so that an arm does not depend on which others there are.

    Args:
        scores: Long table of arm, task, instance, seed and value, a unit score.
        thresholds: ``(k,)`` unit scores.
        rng: Source of the resamples.
        level: Coverage of the band at each threshold.
        resamples: Number of resamples.

    Returns:
        A table of arm, threshold, n (runs), share, low and high.

    Raises:
        TypeError: As ``blocks.checked``.
        ValueError: As ``blocks.checked``.
    """
    table = checked(scores)
    sizes = table[table["arm"] == table["arm"].iloc[0]].groupby("task").size()
    uniforms = {str(task): rng.random((resamples, n)) for task, n in sizes.items()}
    tail = (1.0 - level) / 2.0
    parts = []
    for arm, rows in table.groupby("arm", sort=True):
        share = np.zeros(thresholds.size)
        draws = np.zeros((resamples, thresholds.size))
        for task, column in rows.groupby("task", sort=True)["value"]:
            above = (column.to_numpy()[:, None] > thresholds).astype(np.float64)
            share += above.mean(axis=0) / len(uniforms)
            draws += resampled_means(above, uniforms[str(task)]) / len(uniforms)
        low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0)
        part = {"arm": arm, "threshold": thresholds, "n": len(rows)}
        parts.append(pd.DataFrame({**part, "share": share, "low": low, "high": high}))
    return pd.concat(parts, ignore_index=True)


def runtime_ecdf(
    points: pd.DataFrame, runs: pd.DataFrame, targets: Floats
) -> pd.DataFrame:
    """Returns which share of (task, run, target) is reached by each evaluation.

    A target is reached at the first point whose value is not above it, so runtimes are
    rounded up to the grid of points. A task counts once, whatever its runs. A run without
    points, which failed, reaches nothing.

    Args:
        points: Long table of arm, task, instance, seed, evaluation and value; lower is
            better.
        runs: Table of arm and task, one row a run, failed ones too.
        targets: ``(k,)`` values to reach.

    Returns:
        A table of arm, evaluation and share, which rises; evaluations are those at which
        any run of the arm reached a target.

    Raises:
        ValueError: There is no target, or a (task, arm) has points of more runs than
            there are.
    """
    if targets.size == 0:
        raise ValueError("targets must not be empty")
    n_runs = runs.groupby(["arm", "task"], sort=True).size()
    n_tasks = n_runs.groupby("arm").size()
    ordered = points.sort_values("evaluation", kind="stable")
    keys = ["arm", "task", "instance", "seed"]
    reached = []
    for target in targets:
        hits = ordered[ordered["value"] <= target].drop_duplicates(keys)
        reached.append(hits[[*keys, "evaluation"]])
    hits = pd.concat(reached, ignore_index=True)
    parts = []
    for arm, n_of_arm in n_tasks.items():
        mine = hits[hits["arm"] == arm]
        here = mine.merge(n_runs.rename("n").reset_index(), on=["arm", "task"])
        sizes = here["n"].to_numpy(np.float64)
        weights = 1.0 / (sizes * targets.size * float(n_of_arm))
        steps = pd.Series(weights, index=here["evaluation"].to_numpy(np.float64))
        rising = steps.groupby(level=0, sort=True).sum().cumsum()
        if len(rising) and rising.iloc[-1] > 1.0 + 1e-9:
            raise ValueError(f"points must be of the runs, got more of {arm}")
        grid = rising.index.to_numpy(np.float64)
        parts.append(
            pd.DataFrame(
                {"arm": arm, "evaluation": grid, "share": rising.to_numpy(np.float64)}
            )
        )
    return pd.concat(parts, ignore_index=True)


def expected_running_time(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the evaluations of all runs divided by the number of successes.

    It is the expected cost of restarting an arm until it succeeds. A run that succeeded
    costs its evaluations until then, one that did not all it spent, and one that failed
    the most that any run of its task spent.

    Args:
        runs: Tidy runs: arm, task, status, evaluations, success and hit.

    Returns:
        A table of task, arm, n, successes and expected_running_time, in evaluations,
        infinite where no run succeeded.
    """
    spent = runs["evaluations"].astype(np.float64)
    most = spent.groupby(runs["task"]).transform("max")
    cost = spent.where(runs["status"] == "ok", most)
    cost = cost.mask(runs["success"] & runs["hit"].notna(), runs["hit"])
    table = runs[["task", "arm"]].assign(cost=cost, success=runs["success"].astype(int))
    grouped = table.groupby(["task", "arm"], sort=True)
    found = pd.DataFrame(
        {
            "n": grouped.size(),
            "successes": grouped["success"].sum(),
            "cost": grouped["cost"].sum(),
        }
    ).reset_index()
    rare = found["successes"].where(found["successes"] > 0).astype(np.float64)
    found["expected_running_time"] = (found["cost"] / rare).fillna(np.inf)
    return found.drop(columns="cost")
