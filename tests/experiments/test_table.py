"""Tidy tables: what is refused, and what becomes of failed runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import table
from tests.experiments import synthetic

Raw = tuple[pd.DataFrame, pd.DataFrame]


@pytest.fixture(scope="module")
def raw() -> Raw:
    return synthetic.tables(2)


def changed(frame: pd.DataFrame, row: int, column: str, value: object) -> pd.DataFrame:
    copy = frame.copy()
    copy[column] = [
        value if index == row else old for index, old in enumerate(frame[column])
    ]
    return copy


def test_rows_come_sorted_whatever_their_order_was(raw: Raw) -> None:
    runs, trajectories = raw
    straight = table.tidy(runs, trajectories)
    backwards = table.tidy(runs[::-1], trajectories[::-1])
    pd.testing.assert_frame_equal(straight.runs, backwards.runs)
    pd.testing.assert_frame_equal(straight.trajectories, backwards.trajectories)
    keys = straight.runs[["task", "instance", "seed", "arm"]]
    assert keys.equals(keys.sort_values(list(keys.columns), ignore_index=True))


def test_tables_from_parquet_are_the_tables_that_were_written(
    raw: Raw, tmp_path: Path
) -> None:
    runs, trajectories = raw
    runs.to_parquet(tmp_path / "runs.parquet")
    trajectories.to_parquet(tmp_path / "trajectories.parquet")
    direct = table.tidy(runs, trajectories)
    read = table.tidy(
        pd.read_parquet(tmp_path / "runs.parquet"),
        pd.read_parquet(tmp_path / "trajectories.parquet"),
    )
    pd.testing.assert_frame_equal(direct.runs, read.runs, check_dtype=False)
    pd.testing.assert_frame_equal(
        direct.trajectories, read.trajectories, check_dtype=False
    )


@pytest.mark.parametrize("column", table.RUN_COLUMNS)
def test_a_missing_column_of_runs_is_named(raw: Raw, column: str) -> None:
    runs, trajectories = raw
    with pytest.raises(ValueError, match=f"runs must have the columns {column}"):
        table.tidy(runs.drop(columns=column), trajectories)


@pytest.mark.parametrize("column", table.TRAJECTORY_COLUMNS)
def test_a_missing_column_of_trajectories_is_named(raw: Raw, column: str) -> None:
    runs, trajectories = raw
    with pytest.raises(ValueError, match=f"trajectories must have .* {column}"):
        table.tidy(runs, trajectories.drop(columns=column))


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("arm", 3, "strings"),
        ("task", None, "strings"),
        ("seed", 1.5, "integers"),
        ("seed", "1", "integers"),
        ("area", "low", "real numbers"),
        ("success", 2, "bools"),
        ("instance", None, "integers"),
        ("evaluations", 1.5, "integers"),
        ("success", None, "bools"),
    ],
)
def test_a_wrong_type_is_refused_by_column(
    raw: Raw, column: str, value: object, kind: str
) -> None:
    runs, trajectories = raw
    with pytest.raises(TypeError, match=f"{column} of runs must hold {kind}"):
        table.tidy(changed(runs, 1, column, value), trajectories)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("status", "lost", "status must be one of ok, failed, timeout, got 'lost'"),
        ("area", math.nan, "area must be finite where the status is ok"),
        ("regret", -0.1, "regret must not be negative"),
        ("regret", 7.0, "regret must equal 1 - best"),
        ("minimum_share", 1.2, r"minimum_share must lie in \[0, 1\]"),
        ("evaluations", -1, "evaluations must not be negative"),
        ("study", "another", "runs must belong to one study, got another, synthetic"),
        ("cell", "onemax_64-fixed-0", "cell must differ from all others"),
        ("seed", 0, "got two of fixed at task onemax_64"),
        ("seed", 9, "must hold every arm in every block"),
    ],
)
def test_a_value_out_of_order_is_refused_by_name(
    raw: Raw, column: str, value: object, message: str
) -> None:
    runs, trajectories = raw
    bad = changed(runs, 1, column, value)
    if column == "seed" and value == 0:
        bad = changed(bad, 1, "instance", 1)
    with pytest.raises(ValueError, match=message):
        table.tidy(bad, trajectories)


def test_no_runs_are_refused(raw: Raw) -> None:
    runs, trajectories = raw
    with pytest.raises(ValueError, match="runs must not be empty"):
        table.tidy(runs[:0], trajectories[:0])


def test_an_arm_that_misses_a_block_is_named(raw: Raw) -> None:
    runs, trajectories = raw
    with pytest.raises(ValueError, match="got no adaptive at task onemax_64, instance"):
        table.tidy(runs[runs["cell"] != "onemax_64-adaptive-1"], trajectories)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("cell", "nobody", "trajectories must belong to the runs, got the cell 'nobo"),
        ("cell", "onemax_64-fixed-0", "trajectories must hold a cell once"),
        ("best", 0.5, "best of trajectories must hold lists of real numbers"),
        ("best", ["a"], "best of trajectories must hold lists of real numbers"),
        ("best", [0.5], "best must hold .* numbers as the grid of its task"),
        ("evaluation", (synthetic.GRID + 1).tolist(), "evaluation must be the same"),
        ("best", np.linspace(1, 0, synthetic.GRID.size).tolist(), "must never fall"),
        ("best", [math.nan] * synthetic.GRID.size, "best must end in a number"),
        (
            "best",
            [0.1, math.nan, *[0.2] * (synthetic.GRID.size - 2)],
            "best must be finite after its first number",
        ),
        ("clamp", [2] * synthetic.GRID.size, "clamp must hold -1, 0 or 1 only"),
    ],
)
def test_a_torn_trajectory_is_refused(
    raw: Raw, column: str, value: object, message: str
) -> None:
    runs, trajectories = raw
    with pytest.raises((ValueError, TypeError), match=message):
        table.tidy(runs, changed(trajectories, 1, column, value))


def test_a_best_score_that_is_not_there_yet_counts_as_that_of_a_random_text(
    raw: Raw,
) -> None:
    runs, trajectories = raw
    late = [math.nan, math.nan, *[-0.5] * (synthetic.GRID.size - 2)]
    tables = table.tidy(runs, changed(trajectories, 1, "best", late))
    cell = trajectories["cell"].iloc[1]
    best = tables.trajectories.set_index("cell")["best"][cell]
    assert best[:3].tolist() == [0.0, 0.0, -0.5]


def test_a_failed_run_may_lack_its_numbers_but_no_other_may(raw: Raw) -> None:
    runs, trajectories = raw
    cell = "onemax_64-fixed-0"
    failed = synthetic.with_failures(runs, [cell])
    for column in ("evaluations", "failures", "success", "minimum_share"):
        failed[column] = failed[column].astype(object)
        failed.loc[failed["cell"] == cell, column] = None
    failed["evaluations"] = failed["evaluations"].astype(float)
    failed["minimum_share"] = failed["minimum_share"].astype(float)
    row = table.tidy(failed, trajectories).runs.set_index("cell").loc[cell]
    assert (row["evaluations"], row["failures"], row["success"]) == (0, 0, False)
    failed["status"] = "ok"
    with pytest.raises(TypeError, match="evaluations of runs must hold integers"):
        table.tidy(failed, trajectories)


def test_a_grid_that_does_not_rise_is_refused(raw: Raw) -> None:
    runs, trajectories = raw
    flat = trajectories.assign(evaluation=[[5] * synthetic.GRID.size] * len(runs))
    with pytest.raises(ValueError, match="evaluation must rise from at least 1"):
        table.tidy(runs, flat)


def test_a_run_that_is_ok_must_have_its_trajectory(raw: Raw) -> None:
    runs, trajectories = raw
    with pytest.raises(ValueError, match="got none of 'onemax_64-fixed-0'"):
        table.tidy(runs, trajectories[1:])


def test_a_failed_run_needs_no_trajectory_and_its_torn_one_is_left_out(
    raw: Raw,
) -> None:
    runs, trajectories = raw
    failed = ["onemax_64-fixed-0", "onemax_64-fixed-1"]
    runs = synthetic.with_failures(runs, failed)
    torn = changed(trajectories, 1, "best", [0.1])
    tables = table.tidy(runs, torn[1:])
    assert len(tables.runs) == len(runs)
    assert not tables.trajectories["cell"].isin(failed).any()


def test_a_failed_run_counts_as_the_worst_that_any_run_of_its_task_reached(
    raw: Raw,
) -> None:
    runs, trajectories = raw
    worse = changed(runs, 3, "area", 0.75)
    runs = synthetic.with_failures(worse, ["onemax_64-fixed-0", "trap_60-fixed-0"])
    tidied = table.tidy(runs, trajectories).runs
    values = table.values(tidied, "area").set_index(["task", "arm", "seed"])["value"]
    assert values["onemax_64", "fixed", 0] == 0.75
    # No run of the other task is worse than random texts, so that is its worst.
    assert values["trap_60", "fixed", 0] == math.log10(1.0 + 1e-6)
    assert (
        values["nk_32", "fixed", 0]
        == tidied.query("task == 'nk_32' and arm == 'fixed' and seed == 0")[
            "area"
        ].item()
    )


def test_a_task_on_which_all_failed_still_has_a_worst_value(raw: Raw) -> None:
    runs, trajectories = raw
    cells = runs.loc[runs["task"] == "nk_32", "cell"].tolist()
    tidied = table.tidy(synthetic.with_failures(runs, cells), trajectories).runs
    for metric, worst in (("regret", 1.0), ("success", 0.0)):
        values = table.values(tidied, metric)
        assert (values.loc[values["task"] == "nk_32", "value"] == worst).all()


def test_a_failed_run_has_no_value_where_failures_are_missing(raw: Raw) -> None:
    runs, trajectories = raw
    tidied = table.tidy(
        synthetic.with_failures(runs, ["onemax_64-fixed-0"]), trajectories
    ).runs
    values = table.values(tidied, "area", failed="missing")
    assert values["value"].isna().sum() == 1
    assert values.loc[values["value"].isna(), "arm"].item() == "fixed"


def test_unknown_metrics_quantities_and_treatments_are_refused(raw: Raw) -> None:
    tables = table.tidy(*raw)
    with pytest.raises(ValueError, match="metric must be one of area"):
        table.values(tables.runs, "speed")
    with pytest.raises(ValueError, match="failed must be 'worst' or 'missing'"):
        table.values(tables.runs, failed="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="quantity must be one of best, log_regret"):
        table.points(tables.trajectories, "speed")


def test_points_are_thinned_evenly_in_the_log_and_keep_both_ends(raw: Raw) -> None:
    trajectories = table.tidy(*raw).trajectories
    points = table.points(trajectories, "diversity", at_most=12)
    grid = points["evaluation"].unique()
    assert 8 <= grid.size <= 12
    assert (grid[0], grid[-1]) == (10, 500)
    ratios = np.diff(np.log(grid))
    assert ratios.max() < 2.5 * ratios.min()


def test_points_hold_the_values_of_the_trajectory(raw: Raw) -> None:
    trajectories = table.tidy(*raw).trajectories
    row = trajectories.iloc[7]
    key = {name: row[name] for name in table.KEY}
    expected = {
        "log_regret": np.log10(1.0 - row["best"] + 1e-6),
        "floor": row["clamp"] == -1,
        "ceiling": row["clamp"] == 1,
        "temperature": row["temperature"],
    }
    for quantity, values in expected.items():
        points = table.points(trajectories, quantity, at_most=1000)
        mine = points[(points[list(key)] == pd.Series(key)).all(axis=1)]
        np.testing.assert_allclose(mine["value"], values.astype(float), rtol=1e-12)


def test_points_of_no_trajectory_are_an_empty_table(raw: Raw) -> None:
    points = table.points(table.tidy(*raw).trajectories[:0], "diversity")
    assert points.empty
    assert "value" in points.columns


def test_a_table_of_older_code_has_no_measures(raw: Raw) -> None:
    tidied = table.tidy(*raw).runs
    assert tidied[list(table.MEASURES)].isna().all().all()
    assert list(table.measures(tidied)) == ["task", "arm"]


def test_a_measure_is_the_mean_of_the_finished_runs_of_a_task_and_arm(raw: Raw) -> None:
    runs, trajectories = raw
    sizes = runs.assign(kept_bytes=np.where(runs["arm"] == "fixed", 10.0, math.nan))
    first = sizes.index[(sizes["arm"] == "fixed") & (sizes["task"] == "trap_60")][0]
    sizes.loc[first, "kept_bytes"] = 90.0
    means = table.measures(table.tidy(sizes, trajectories).runs)
    means = means.set_index(["task", "arm"])["kept_bytes"]
    assert (means["trap_60", "fixed"], means["nk_32", "fixed"]) == (50.0, 10.0)
    assert math.isnan(means["nk_32", "twin"])
    failed = synthetic.with_failures(sizes, [sizes["cell"][first]])
    means = table.measures(table.tidy(failed, trajectories).runs)
    means = means.set_index(["task", "arm"])["kept_bytes"]
    assert means["trap_60", "fixed"] == 10.0


def test_a_measure_of_a_block_in_which_a_run_lacks_it_is_left_out_whole(
    raw: Raw,
) -> None:
    runs, trajectories = raw
    sizes = runs.assign(tokens=7.0)
    sizes.loc[sizes["cell"] == "nk_32-fixed-0", "tokens"] = math.nan
    failed = synthetic.with_failures(sizes, ["trap_60-stuck-1"])
    tidied = table.tidy(failed, trajectories).runs
    values = table.measured(tidied, "tokens")
    assert list(values.columns) == ["arm", "task", "instance", "seed", "value"]
    blocks = set(zip(values["task"], values["seed"], strict=True))
    assert blocks == {
        *(("onemax_64", 0), ("onemax_64", 1), ("nk_32", 1), ("trap_60", 0))
    }
    assert len(values) == len(blocks) * len(synthetic.ARMS)
    with pytest.raises(ValueError, match="measure must be one of kept_bytes"):
        table.measured(tidied, "speed")


def test_a_measure_of_no_number_or_an_infinite_one_is_refused(raw: Raw) -> None:
    runs, trajectories = raw
    with pytest.raises(TypeError, match="kept_bytes of runs must hold real numbers"):
        table.tidy(runs.assign(kept_bytes="many"), trajectories)
    with pytest.raises(ValueError, match="kept_bytes must be finite or NaN"):
        table.tidy(runs.assign(kept_bytes=math.inf), trajectories)


def test_coverage_counts_every_status(raw: Raw) -> None:
    runs, trajectories = raw
    runs = synthetic.with_failures(runs, ["nk_32-twin-0"])
    counts = table.coverage(table.tidy(runs, trajectories).runs)
    row = counts.query("task == 'nk_32' and arm == 'twin'").iloc[0]
    assert (row["ok"], row["failed"], row["timeout"]) == (1, 1, 0)
    assert counts[["ok", "failed", "timeout"]].to_numpy().sum() == len(runs)
