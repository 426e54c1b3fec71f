"""Shards and tables: nothing half written, nothing counted twice."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from experiments import cells, runs
from experiments.cells import cells_of, computed
from experiments.study import load


@pytest.fixture(scope="module")
def computed_study():
    study = load(["study=smoke", "study.seeds=1", "study.budget=30"])
    cells = cells_of(study)
    return study, cells, [computed(study, cell) for cell in cells]


def shard(folder: Path) -> Path:
    (path,) = (folder / "raw" / "shards").glob("*.jsonl")
    return path


def written(folder: Path, rows: list) -> None:
    writer = runs.ShardWriter(folder, "one")
    writer.write(rows)
    writer.close()


def test_rows_come_back_as_they_went(tmp_path: Path, computed_study) -> None:
    _, cells, rows = computed_study
    written(tmp_path, rows)
    found = runs.read_shards(tmp_path)
    assert found.damaged == 0
    assert set(found.rows) == {cell.id for cell in cells}
    for row in rows:
        again = found.rows[row["cell"]]
        assert again["area"] == row["area"]
        assert again["trajectory"]["best"] == row["trajectory"]["best"]
        assert again["digest"] == row["digest"]


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_last_line_is_no_row_and_swallows_none(
    tmp_path: Path, computed_study, cut: int
) -> None:
    _, _, rows = computed_study
    written(tmp_path, rows[:3])
    path = shard(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    kept = 3 if cut == 1 else 2
    assert len(runs.read_shards(tmp_path).rows) == kept
    written(tmp_path, rows[3:])
    found = runs.read_shards(tmp_path)
    assert len(found.rows) == kept + 1
    assert found.damaged == (0 if cut == 1 else 1)


def test_a_flipped_bit_is_noticed(tmp_path: Path, computed_study) -> None:
    _, _, rows = computed_study
    written(tmp_path, rows)
    path = shard(tmp_path)
    body = bytearray(path.read_bytes())
    body[200] ^= 1
    path.write_bytes(bytes(body))
    found = runs.read_shards(tmp_path)
    assert (len(found.rows), found.damaged) == (3, 1)


def test_a_cell_that_succeeded_stays_so(tmp_path: Path, computed_study) -> None:
    _, _, rows = computed_study
    failed = {**rows[0], "status": "failed"}
    written(tmp_path, [failed, rows[0], failed, rows[0]])
    found = runs.read_shards(tmp_path).rows
    assert len(found) == 1
    assert found[rows[0]["cell"]]["status"] == "ok"


def test_tables_are_the_same_bytes_whatever_the_order_of_rows(
    tmp_path: Path, computed_study
) -> None:
    study, cells, rows = computed_study
    found = []
    for name, order in (("a", rows), ("b", rows[::-1])):
        runs.write_tables(
            tmp_path / name, study, cells, {row["cell"]: row for row in order}
        )
        found.append(
            [(tmp_path / name / f).read_bytes() for f in ("runs.parquet",)]
            + [(tmp_path / name / "trajectories.parquet").read_bytes()]
        )
        assert sorted(p.name for p in (tmp_path / name).iterdir()) == [
            "runs.parquet",
            "trajectories.parquet",
        ]
    assert found[0] == found[1]


def test_rows_from_the_disk_and_from_this_process_make_the_same_tables(
    tmp_path: Path, computed_study
) -> None:
    study, cells, rows = computed_study
    written(tmp_path, rows)
    for name, made in (
        ("fresh", {row["cell"]: row for row in rows}),
        ("read", runs.read_shards(tmp_path).rows),
    ):
        runs.write_tables(tmp_path / name, study, cells, made)
    for table in ("runs.parquet", "trajectories.parquet"):
        fresh = (tmp_path / "fresh" / table).read_bytes()
        assert fresh == (tmp_path / "read" / table).read_bytes()


def test_no_table_knows_when_or_where_it_was_made(
    tmp_path: Path, computed_study
) -> None:
    study, cells, rows = computed_study
    slow = [{**row, "seconds": 1e6, "host": "elsewhere"} for row in rows]
    for name, made in (("a", rows), ("b", slow)):
        runs.write_tables(
            tmp_path / name, study, cells, {row["cell"]: row for row in made}
        )
    assert (tmp_path / "a" / "runs.parquet").read_bytes() == (
        tmp_path / "b" / "runs.parquet"
    ).read_bytes()


def test_a_failed_cell_is_in_the_runs_and_not_in_the_trajectories(
    tmp_path: Path, computed_study
) -> None:
    study, cells, rows = computed_study
    made = {row["cell"]: row for row in rows}
    first = cells[0].id
    made[first] = {
        key: made[first][key] for key in ("cell", "plain", "code", "failure")
    } | {"status": "failed", "failure": "boom"}
    runs.write_tables(tmp_path, study, cells, made)
    table, trajectories = runs.read_tables(tmp_path)
    assert table["status"].tolist().count("failed") == 1
    assert len(trajectories) == len(table) - 1
    assert pq.read_schema(tmp_path / "runs.parquet").names == runs.RUNS.names


def test_a_row_is_strict_json(tmp_path: Path, computed_study) -> None:
    _, _, rows = computed_study
    written(tmp_path, rows)
    for line in shard(tmp_path).read_text("utf-8").splitlines():
        body = line.split(" ", 1)[1]
        json.loads(body, parse_constant=lambda name: pytest.fail(name))


def test_the_area_is_the_mean_log_regret_over_the_grid_by_hand() -> None:
    # Regrets 1 (nothing yet), 0.1, 0.01 and 0, each with the floor of 1e-6.
    area = cells._area([math.nan, 0.9, 0.99, 1.0])
    by_hand = (0.0 - 1.0 - 2.0 - 6.0) / 4
    assert area == pytest.approx(by_hand, abs=1e-4)
    assert cells._area([2.0]) == pytest.approx(-6.0)
    assert cells._area([-3.0]) == pytest.approx(math.log10(4.0 + 1e-6))
