"""Runs on disk: shards while a study runs, two Parquet tables when it is done.

A shard is a file of lines, each a checksum and a JSON row; it is only ever appended to and
is synced once a block. A torn or damaged line is not a row. Rows are known by their cell,
so the same row twice is harmless.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.cells import Cell, Row
from experiments.contracts import MEASURES
from experiments.study import Study

if TYPE_CHECKING:
    import pandas as pd

    DataFrames = tuple[pd.DataFrame, pd.DataFrame]

_SHARDS = "raw/shards"
TRAJECTORY = pa.schema(
    [
        ("cell", pa.string()),
        ("evaluation", pa.list_(pa.int32())),
        ("best", pa.list_(pa.float64())),
        ("diversity", pa.list_(pa.float32())),
        ("used_diversity", pa.list_(pa.float32())),
        ("raw_temperature", pa.list_(pa.float32())),
        ("clamped_temperature", pa.list_(pa.float32())),
        ("temperature", pa.list_(pa.float32())),
        ("clamp", pa.list_(pa.int8())),
        ("effective_parents", pa.list_(pa.float32())),
    ]
)
RUNS = pa.schema(
    [
        ("cell", pa.string()),
        ("study", pa.string()),
        ("task", pa.string()),
        ("family", pa.string()),
        ("instance", pa.int32()),
        ("arm", pa.string()),
        ("seed", pa.int32()),
        ("stream", pa.string()),
        ("status", pa.string()),
        ("failure", pa.string()),
        ("evaluations", pa.int32()),
        ("failures", pa.int32()),
        ("best", pa.float64()),
        ("regret", pa.float64()),
        ("area", pa.float64()),
        ("success", pa.bool_()),
        ("hit", pa.float64()),
        ("mean_diversity", pa.float64()),
        ("zero_diversity_share", pa.float64()),
        ("mean_temperature", pa.float64()),
        ("minimum_share", pa.float64()),
        ("maximum_share", pa.float64()),
        *[(name, pa.float64()) for name in MEASURES],
        ("digest", pa.string()),
    ]
)


class Shards(NamedTuple):
    """What the shards of a study hold.

    Attributes:
        rows: The last row of each cell that has one.
        damaged: Lines that were no rows.
    """

    rows: dict[str, Row]
    damaged: int


class ShardWriter:
    """The one writer of a shard.

    Args:
        folder: Folder of the study.
        name: Name of the shard, unique among the writers of a study.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / _SHARDS / f"{name}.jsonl"
        self._file: IO[bytes] | None = None

    def _open(self) -> IO[bytes]:
        path = self._path
        path.parent.mkdir(parents=True, exist_ok=True)
        torn = path.exists() and path.stat().st_size and not _ends_line(path)
        file = path.open("ab")
        if torn:
            # A line torn by a kill must not swallow the first row after it.
            file.write(b"\n")
        return file

    def write(self, rows: Iterable[Row]) -> None:
        """Appends ``rows`` and waits until they are on the disk."""
        if self._file is None:
            # Not before: a run that computes nothing leaves no shard.
            self._file = self._open()
        self._file.write(b"".join(_line(row) for row in rows))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the shard."""
        if self._file is not None:
            self._file.close()


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _line(row: Row) -> bytes:
    body = json.dumps(_without_nan(row), separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _without_nan(value: object) -> object:
    """Returns ``value`` with NaN as ``None``, for strict JSON."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return value


def _row(line: bytes) -> Row | None:
    checksum, _, body = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(body):
            return None
        row = json.loads(body)
    except ValueError:
        return None
    whole = isinstance(row, dict) and isinstance(row.get("cell"), str)
    return row if whole and isinstance(row.get("status"), str) else None


def read_shards(folder: Path, *, light: bool = False) -> Shards:
    """Returns all rows of the shards below ``folder``; later ones replace earlier.

    A row that succeeded is never replaced by one that failed.

    Args:
        folder: Folder of the study.
        light: Whether to leave out what is long, the trajectories.
    """
    rows: dict[str, Row] = {}
    damaged = 0
    for path in sorted((folder / _SHARDS).glob("*.jsonl")):
        if not path.is_file():
            continue
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            row = _row(line)
            if row is None:
                damaged += 1
            elif rows.get(row["cell"], {}).get("status") != "ok":
                if light:
                    row.pop("trajectory", None)
                rows[row["cell"]] = row
    return Shards(rows, damaged)


def related(folder: Path) -> list[Path]:
    """Returns the folders beside ``folder`` that hold variants of its study.

    A cell is named by what it reads, so one that a variant has computed (the same study
    with more seeds, say) is the same cell.
    """
    name = folder.name.partition("+")[0]
    beside = [folder.with_name(name), *folder.parent.glob(f"{name}+*")]
    return sorted(path for path in beside if path != folder and path.is_dir())


def merged(target: Path, source: Path) -> tuple[int, int]:
    """Adds the rows of the shards of ``source`` to those of ``target``.

    Returns:
        How many cells were new to the target, and how many it had already.
    """
    known = read_shards(target).rows
    new = [
        row
        for key, row in read_shards(source).rows.items()
        if known.get(key, {}).get("status") not in ("ok", row["status"])
    ]
    if new:
        digest = zlib.crc32("".join(row["cell"] for row in new).encode())
        writer = ShardWriter(target, f"merged-{digest:08x}")
        writer.write(new)
        writer.close()
    return len(new), len(read_shards(source).rows) - len(new)


def write_tables(
    folder: Path, study: Study, cells: Sequence[Cell], rows: dict[str, Row]
) -> None:
    """Writes ``runs.parquet`` and ``trajectories.parquet`` of all ``cells``.

    The tables hold what a run is and nothing of when or where it was made, so the same
    study gives the same bytes again. They are written beside and moved into place.
    """
    runs: list[Row] = []
    trajectories: list[Row] = []
    for cell in cells:
        # A row that has not been on the disk yet has NaN where one that has has null.
        row = cast(Row, _without_nan(rows[cell.id]))
        task, arm = study.tasks[cell.task], study.arms[cell.arm]
        runs.append(
            {
                **row,
                "study": study.name,
                "task": task.label,
                "family": task.task.family,
                "instance": cell.instance,
                "arm": arm.name,
                "seed": cell.seed,
                "stream": arm.stream_salt,
            }
        )
        if row["status"] == "ok":
            trajectories.append({"cell": cell.id, **row["trajectory"]})
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "runs.parquet", runs, RUNS)
    _write(folder / "trajectories.parquet", trajectories, TRAJECTORY)


def read_tables(folder: Path) -> DataFrames:
    """Returns the tables of runs and of trajectories in ``folder``.

    Raises:
        FileNotFoundError: There are none.
    """
    return (
        pq.read_table(folder / "runs.parquet").to_pandas(),
        pq.read_table(folder / "trajectories.parquet").to_pandas(),
    )


def _write(path: Path, rows: list[Row], schema: pa.Schema) -> None:
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type)
        for field in schema
    }
    beside = path.with_name(f".{path.name}.new")
    pq.write_table(pa.table(columns, schema), beside, compression="zstd")
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)
