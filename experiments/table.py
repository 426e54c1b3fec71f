"""All runs of a study as tidy tables, or a refusal that names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

#: Added to a regret before its logarithm is taken; the floor of every regret shown.
EPSILON = 1e-6

#: What makes two runs of different arms a pair.
BLOCK = ("task", "instance", "seed")
KEY = ("arm", *BLOCK)
STATUSES = ("ok", "failed", "timeout")

_NAMES = ("cell", "study", "task", "family", "arm", "stream")
_TEXTS = (*_NAMES, "status", "failure")
_INTEGERS = ("instance", "seed", "evaluations", "failures")
_SHARES = ("zero_diversity_share", "minimum_share", "maximum_share")
_REQUIRED_REALS = ("best", "regret", "area")
_OPTIONAL_REALS = ("hit", "mean_diversity", "mean_temperature")
_REALS = (*_REQUIRED_REALS, *_OPTIONAL_REALS, *_SHARES)
_FLAGS = ("success",)

# What a run that did not finish may lack, and what stands in for it.
_STAND_INS = {"evaluations": 0, "failures": 0, "success": False}

#: What a run may have been measured by beside its search; ``contracts.MEASURES``.
MEASURES = (
    "kept_bytes",
    "overrating",
    "distinct_parents",
    "consistency",
    "tokens",
)

#: What a table of runs must have; other columns (where, when, how long) are left out,
#: but for ``MEASURES``, which it may have.
RUN_COLUMNS = (*_TEXTS, *_INTEGERS, *_REALS, *_FLAGS)

_DIALS = ("diversity", "used_diversity", "temperature", "clamp", "effective_parents")
_LISTS = ("evaluation", "best", *_DIALS)
TRAJECTORY_COLUMNS = ("cell", *_LISTS)

Floats = NDArray[np.float64]


class Tables(NamedTuple):
    """The tidy tables of one study.

    Attributes:
        runs: One row a run, failed ones too, sorted by task, instance, seed and arm;
            measures that were not taken are NaN.
        trajectories: One row a run with status ``ok``, in the same order: ``task``,
            ``arm``, ``instance``, ``seed`` and the list columns as float arrays.
    """

    runs: pd.DataFrame
    trajectories: pd.DataFrame


class Metric(NamedTuple):
    """What a run is measured by.

    Attributes:
        lower_is_better: Direction.
        worst: Value of a search that never beat a random text (unit score 0), which a
            failed run cannot beat either.
    """

    lower_is_better: bool
    worst: float


METRICS: Mapping[str, Metric] = {
    "area": Metric(True, math.log10(1.0 + EPSILON)),
    "regret": Metric(True, 1.0),
    "success": Metric(False, 0.0),
}

#: What can be drawn against evaluations: the column it is made of, and how.
QUANTITIES: Mapping[str, tuple[str, Callable[[Floats], Floats]]] = {
    "best": ("best", lambda best: best),
    "log_regret": (
        "best",
        lambda best: np.log10(np.maximum(1.0 - best, 0.0) + EPSILON),
    ),
    "diversity": ("diversity", lambda diversity: diversity),
    "used_diversity": ("used_diversity", lambda diversity: diversity),
    "temperature": ("temperature", lambda temperature: temperature),
    "floor": ("clamp", lambda clamp: (clamp == -1.0).astype(np.float64)),
    "ceiling": ("clamp", lambda clamp: (clamp == 1.0).astype(np.float64)),
    "effective_parents": ("effective_parents", lambda parents: parents),
}


def tidy(runs: pd.DataFrame, trajectories: pd.DataFrame) -> Tables:
    """Returns the tables of one study, checked and sorted.

    Args:
        runs: One row a run, with the columns ``RUN_COLUMNS``; numbers of a run that is
            not ``ok`` may be missing.
        trajectories: At most one row a run, with the columns ``TRAJECTORY_COLUMNS``;
            the lists of a row are of one length, and all runs of a task that are
            ``ok`` share one grid of evaluations. Rows of other runs are left out. A best
            score that is NaN, before any evaluation succeeded, counts as 0, that of a
            random text.

    Raises:
        TypeError: A column holds another type than it should; the message names it.
        ValueError: A column is missing, a value is out of range, cells or designs are
            duplicated, studies are mixed, an arm misses a (task, instance, seed) that
            another has, or a trajectory is missing, torn or on a grid of its own.
    """
    tidied = _typed_runs(runs)
    _check_values(tidied)
    _check_design(tidied)
    tidied = tidied.sort_values([*BLOCK, "arm"], ignore_index=True)
    return Tables(tidied, _tidy_trajectories(tidied, trajectories))


def values(
    runs: pd.DataFrame,
    metric: str = "area",
    *,
    failed: Literal["worst", "missing"] = "worst",
) -> pd.DataFrame:
    """Returns a metric as a long table: arm, task, instance, seed, value.

    Args:
        runs: The tidy runs.
        metric: One of ``METRICS``.
        failed: What a run that is not ``ok`` is worth: the worst value of its task (the
            worst that any run reached, or that of random texts if worse), or NaN.

    Raises:
        ValueError: ``metric`` or ``failed`` is unknown.
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if failed not in ("worst", "missing"):
        raise ValueError(f"failed must be 'worst' or 'missing', got {failed!r}")
    table = runs[list(KEY)].copy()
    numbers = runs[metric].astype(np.float64).where(runs["status"] == "ok")
    if failed == "worst":
        lower_is_better, random = METRICS[metric]
        seen = numbers.groupby(runs["task"])
        if lower_is_better:
            worst = seen.transform("max").fillna(random).clip(lower=random)
        else:
            worst = seen.transform("min").fillna(random).clip(upper=random)
        numbers = numbers.fillna(worst)
    table["value"] = numbers
    return table


def points(
    trajectories: pd.DataFrame, quantity: str, *, at_most: int = 40
) -> pd.DataFrame:
    """Returns a quantity against evaluations as a long table.

    Args:
        trajectories: The tidy trajectories.
        quantity: One of ``QUANTITIES``.
        at_most: Number of points a run, at least two, spread evenly in the logarithm of
            evaluations where the grid has more; the first and last are always kept.

    Returns:
        A table of arm, task, instance, seed, evaluation and value.

    Raises:
        ValueError: ``quantity`` is unknown.
    """
    if quantity not in QUANTITIES:
        raise ValueError(
            f"quantity must be one of {', '.join(QUANTITIES)}, got {quantity!r}"
        )
    column, transform = QUANTITIES[quantity]
    parts = []
    for _, rows in trajectories.groupby("task", sort=True):
        grid = rows["evaluation"].iloc[0]
        kept = _thinned(grid, at_most)
        matrix = transform(np.stack(rows[column].tolist())[:, kept])
        part = rows.loc[rows.index.repeat(kept.size), list(KEY)]
        part["evaluation"] = np.tile(grid[kept], len(rows))
        part["value"] = matrix.ravel()
        parts.append(part)
    if not parts:
        return pd.DataFrame(columns=[*KEY, "evaluation", "value"])
    return pd.concat(parts, ignore_index=True)


def measured(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Returns a measure as a long table: arm, task, instance, seed, value.

    Blocks in which a run did not finish, or was not measured, are left out whole.

    Raises:
        ValueError: ``measure`` is unknown.
    """
    if measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {', '.join(MEASURES)}, got {measure!r}"
        )
    table = runs[list(KEY)].copy()
    table["value"] = runs[measure].where(runs["status"] == "ok")
    known = table["value"].notna().groupby([table[name] for name in BLOCK])
    return table[known.transform("all")].reset_index(drop=True)


def measures(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the mean of each measure over the finished runs of each (task, arm).

    Returns:
        A table of task, arm and the ``MEASURES`` that any run was measured by, NaN where
        none of a task and arm was.
    """
    ok = runs["status"] == "ok"
    taken = {name: runs[name].where(ok) for name in MEASURES}
    frame = pd.DataFrame(
        {name: column for name, column in taken.items() if column.notna().any()},
        index=runs.index,
    )
    keys = [runs["task"], runs["arm"]]
    return frame.groupby(keys, sort=True).mean().reset_index()


def coverage(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns how many runs of each (task, arm) ended in which status."""
    flags = {status: (runs["status"] == status).astype(int) for status in STATUSES}
    keys = [runs["task"], runs["arm"]]
    return pd.DataFrame(flags).groupby(keys, sort=True).sum().reset_index()


def _thinned(grid: Floats, at_most: int) -> NDArray[np.intp]:
    """Returns at most ``at_most`` indices of ``grid``, evenly spread in its log."""
    if grid.size <= at_most:
        return np.arange(grid.size)
    logs = np.log(grid)
    targets = np.linspace(logs[0], logs[-1], at_most)
    middles = (logs[1:] + logs[:-1]) / 2.0
    return np.unique(np.searchsorted(middles, targets))


def _require_columns(name: str, table: pd.DataFrame, wanted: tuple[str, ...]) -> None:
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        raise ValueError(f"{name} must have the columns {', '.join(missing)}")


def _typed_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Returns the known columns of ``runs`` in their types, all others dropped."""
    _require_columns("runs", runs, RUN_COLUMNS)
    if runs.empty:
        raise ValueError("runs must not be empty")
    typed = runs[list(RUN_COLUMNS)].reset_index(drop=True)
    for measure in MEASURES:
        # Tables of older code have no such column.
        typed[measure] = runs[measure].to_numpy() if measure in runs else math.nan
    unfinished = typed["status"] != "ok"
    for column, stand_in in _STAND_INS.items():
        # A column with gaps comes as floats or objects.
        missing = unfinished & typed[column].isna()
        filled = typed[column].astype(object).mask(missing, stand_in).infer_objects()
        if column != "success" and types.is_float_dtype(filled):
            whole = filled.notna().all() and (filled % 1.0 == 0.0).all()
            filled = filled.astype(np.int64) if whole else filled
        typed[column] = filled
    for column in (*RUN_COLUMNS, *MEASURES):
        series = typed[column]
        if column in _TEXTS:
            right = types.is_string_dtype(series) and not series.isna().any()
            kind = "strings"
        elif column in _INTEGERS:
            right = types.is_integer_dtype(series) and not series.isna().any()
            kind = "integers"
        elif column in _FLAGS:
            right = types.is_bool_dtype(series) and not series.isna().any()
            kind = "bools"
        else:
            right = types.is_numeric_dtype(series) and not types.is_bool_dtype(series)
            kind = "real numbers"
        if not right:
            raise TypeError(
                f"the column {column} of runs must hold {kind}, got {series.dtype}"
            )
        if column in (*_REALS, *MEASURES):
            typed[column] = series.astype(np.float64)
    return typed


def _refuse(runs: pd.DataFrame, wrong: pd.Series[bool], column: str, rule: str) -> None:
    """Raises for the first row where ``wrong``, with its cell and value."""
    if wrong.any():
        row = runs[wrong].iloc[0]
        raise ValueError(f"{column} must {rule}, got {row[column]!r} in {row['cell']}")


def _check_values(runs: pd.DataFrame) -> None:
    known = ", ".join(STATUSES)
    _refuse(runs, ~runs["status"].isin(STATUSES), "status", f"be one of {known}")
    ok = runs["status"] == "ok"
    for column in _REQUIRED_REALS:
        wrong = ok & ~np.isfinite(runs[column])
        _refuse(runs, wrong, column, "be finite where the status is ok")
    _refuse(runs, ok & (runs["regret"] < 0.0), "regret", "not be negative")
    expected = (1.0 - runs["best"]).clip(lower=0.0)
    gap = (runs["regret"] - expected).abs() > 1e-6
    _refuse(runs, ok & gap, "regret", "equal 1 - best")
    for column in _SHARES:
        outside = runs[column].notna() & ~runs[column].between(0.0, 1.0)
        _refuse(runs, outside, column, "lie in [0, 1]")
    for column in MEASURES:
        _refuse(runs, np.isinf(runs[column]), column, "be finite or NaN")
    for column in ("evaluations", "failures"):
        _refuse(runs, runs[column] < 0, column, "not be negative")


def _check_design(runs: pd.DataFrame) -> None:
    studies = runs["study"].unique()
    if len(studies) > 1:
        raise ValueError(
            f"runs must belong to one study, got {', '.join(sorted(studies))}"
        )
    _refuse(runs, runs["cell"].duplicated(), "cell", "differ from all others")
    twice = runs.duplicated(list(KEY))
    if twice.any():
        arm, task, instance, seed = runs.loc[twice, list(KEY)].iloc[0]
        raise ValueError(
            f"runs must hold one run of each arm a block, got two of {arm} at task "
            f"{task}, instance {instance}, seed {seed}"
        )
    arms = sorted(runs["arm"].unique())
    for block, rows in runs.groupby(list(BLOCK), sort=True):
        if len(rows) < len(arms):
            missing = [arm for arm in arms if arm not in set(rows["arm"])]
            task, instance, seed = block
            raise ValueError(
                f"runs must hold every arm in every block, got no {missing[0]} at task "
                f"{task}, instance {instance}, seed {seed}"
            )


def _tidy_trajectories(runs: pd.DataFrame, trajectories: pd.DataFrame) -> pd.DataFrame:
    _require_columns("trajectories", trajectories, TRAJECTORY_COLUMNS)
    cells = trajectories["cell"]
    if cells.duplicated().any():
        raise ValueError(
            "trajectories must hold a cell once, got "
            f"{cells[cells.duplicated()].iloc[0]!r} twice"
        )
    strangers = ~cells.isin(runs["cell"])
    if strangers.any():
        raise ValueError(
            "trajectories must belong to the runs, got the cell "
            f"{cells[strangers].iloc[0]!r}"
        )
    finished = runs.loc[runs["status"] == "ok", ["cell", *KEY]]
    missing = ~finished["cell"].isin(cells)
    if missing.any():
        raise ValueError(
            "trajectories must hold every run that is ok, got none of "
            f"{finished['cell'][missing].iloc[0]!r}"
        )
    tidied = finished.merge(
        trajectories[list(TRAJECTORY_COLUMNS)], on="cell", how="left"
    )
    for column in _LISTS:
        lists = [
            _row(column, cell, row)
            for cell, row in zip(tidied["cell"], tidied[column], strict=True)
        ]
        tidied[column] = pd.Series(lists, index=tidied.index, dtype=object)
    for _, rows in tidied.groupby("task", sort=True):
        _check_curves(rows)
    tidied["best"] = tidied["best"].map(np.nan_to_num)
    return tidied


def _row(column: str, cell: str, row: object) -> Floats:
    try:
        array = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(())
    if array.ndim != 1 or array.size == 0:
        raise TypeError(
            f"the column {column} of trajectories must hold lists of real numbers, "
            f"got {row!r} in {cell}"
        )
    return array


def _check_curves(rows: pd.DataFrame) -> None:
    """Checks the trajectories of one task, which share a grid."""
    cells = rows["cell"].to_numpy()
    grid = rows["evaluation"].iloc[0]
    if not grid[0] >= 1.0 or not (np.diff(grid) > 0.0).all():
        raise ValueError(
            f"evaluation must rise from at least 1, got {grid} in {cells[0]}"
        )
    for column in _LISTS:
        sizes = rows[column].map(len).to_numpy()
        if (sizes != grid.size).any():
            cell = cells[sizes != grid.size][0]
            raise ValueError(
                f"{column} must hold {grid.size} numbers as the grid of "
                f"its task does, got another length in {cell}"
            )
    stacked = {
        name: np.stack(rows[name].tolist()) for name in ("evaluation", "best", "clamp")
    }
    best = stacked["best"]
    known = np.maximum.accumulate(np.isfinite(best), axis=1)
    checks = {
        "evaluation must be the same in all runs of a task": stacked["evaluation"]
        == grid,
        "best must be finite after its first number": np.isfinite(best) == known,
        "best must end in a number": known[:, -1:],
        "best must never fall": ~(np.diff(best, axis=1) < 0.0),
        "clamp must hold -1, 0 or 1 only": np.isin(stacked["clamp"], (-1.0, 0.0, 1.0)),
    }
    for rule, right in checks.items():
        wrong = ~right.all(axis=1)
        if wrong.any():
            raise ValueError(f"{rule}, got otherwise in {cells[wrong][0]}")
