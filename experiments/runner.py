"""Runs a study: subtracts what is done, computes the rest, writes the tables."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import memory
from experiments.cells import Cell, Row, cells_of, code_version
from experiments.runs import ShardWriter, read_shards, related, write_tables
from experiments.study import Study

#: A block should take about this long: less and the dispatch shows, more and a kill hurts.
BLOCK_SECONDS = 0.5


#: All that is kept of a row that is done and on the disk.
_OK: Row = {"status": "ok"}


class Engine(Protocol):
    """Who computes blocks of cells."""

    @property
    def capacity(self) -> int:
        """Blocks that may be under way at once."""

    def submit(self, block: Sequence[Cell]) -> None:
        """Queues a block."""

    def as_completed(self) -> Iterator[list[Row]]:
        """Yields the rows of the submitted blocks as they are done, until none is left.

        More blocks may be submitted between two yields.
        """

    def cancel(self) -> None:
        """Forgets what has not begun."""

    def close(self) -> None:
        """Ends all workers; safe to call twice."""


class Progress(Protocol):
    """Who is told how far a study is."""

    def advance(self, rows: Sequence[Row]) -> None:
        """Notes that ``rows`` are on the disk."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for a study.

    Attributes:
        cells: All its cells.
        done: Those that succeeded under the present code.
        failed: Those that failed under the present code.
        stale: Those that were computed under other code only.
        missing: Those to be computed: neither done nor, unless retried, failed.
        rows: The rows of what failed, and the status of what is done.
        seconds: Seconds of cells that were timed under any code, by plain id.
        damaged: Damaged lines of the shards.
    """

    cells: tuple[Cell, ...]
    done: tuple[Cell, ...]
    failed: tuple[Cell, ...]
    stale: tuple[Cell, ...]
    missing: tuple[Cell, ...]
    rows: dict[str, Row] = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    damaged: int = 0


def plan_of(study: Study, folder: Path, *, retry_failed: bool = False) -> Plan:
    """Returns what is done and what is to be done for ``study`` in ``folder``."""
    cells = cells_of(study)
    shards = read_shards(folder, light=True)
    elsewhere = {row["plain"] for row in shards.rows.values()}
    found = _with_related(folder, shards.rows, light=True)
    done: list[Cell] = []
    failed: list[Cell] = []
    stale: list[Cell] = []
    missing: list[Cell] = []
    for cell in cells:
        row = found.get(cell.id)
        if row is not None and row["status"] == "ok":
            done.append(cell)
            continue
        if row is not None:
            failed.append(cell)
            if not retry_failed:
                continue
        elif cell.plain_id in elsewhere:
            stale.append(cell)
        missing.append(cell)
    wanted = {cell.id for cell in cells}
    rows = {key: _light(row) for key, row in found.items() if key in wanted}
    return Plan(
        tuple(cells),
        tuple(done),
        tuple(failed),
        tuple(stale),
        tuple(missing),
        rows,
        {row["plain"]: row["seconds"] for row in found.values() if "seconds" in row},
        shards.damaged,
    )


def _with_related(folder: Path, rows: dict[str, Row], *, light: bool) -> dict[str, Row]:
    """Returns ``rows`` and what variants of the study have computed beside it."""
    found = dict(rows)
    for other in related(folder):
        for key, known in read_shards(other, light=light).rows.items():
            if known["status"] == "ok":
                found.setdefault(key, known)
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a study.

    Attributes:
        computed: Cells computed by this call.
        reused: Cells that were done before.
        failed: Rows of the cells that failed, of this call and before.
        unfinished: Cells without a row, because the run was stopped.
        seconds: Wall seconds of this call.
        printed: How many cells of this call printed something, and how many bytes.
    """

    computed: int
    reused: int
    failed: tuple[Row, ...]
    unfinished: int
    seconds: float
    printed: tuple[int, int] | None = None


def execute(
    study: Study,
    folder: Path,
    engine: Engine,
    plan: Plan,
    progress: Progress,
    *,
    shuffle: bool = False,
    max_failures: int | None = None,
) -> Outcome:
    """Computes what ``plan`` misses and writes the tables of what is complete.

    Args:
        study: The study.
        folder: Its folder.
        engine: Who computes; closed at the end.
        plan: What is to be done.
        progress: Who is told.
        shuffle: Whether to mix the order of the blocks, the same way each time.
        max_failures: Stop when more cells than this have failed; never if ``None``.

    Raises:
        KeyboardInterrupt: The user stopped it; all finished blocks are on the disk.
    """
    start = time.perf_counter()
    rows = dict(plan.rows)
    computed = failures = 0
    printed: list[int] = []
    writer = ShardWriter(folder, f"{socket.gethostname()}-{os.getpid()}")
    missing = list(plan.missing)
    if shuffle:
        # By the id of the first arm of a block, which is a hash, and so mixes well.
        first = {cell.block: cell.id for cell in reversed(missing)}
        missing.sort(key=lambda cell: first[cell.block])
    blocks = _blocks(missing)
    try:
        for _ in range(engine.capacity):
            if block := blocks.next():
                engine.submit(block)
        for finished in engine.as_completed():
            writer.write(finished)
            # On the disk is enough: the parent stays small however long the study is.
            rows.update((row["cell"], _light(row)) for row in finished)
            computed += len(finished)
            printed += [row["printed"] for row in finished if "printed" in row]
            failures += sum(row["status"] != "ok" for row in finished)
            blocks.note(finished)
            progress.advance(finished)
            if max_failures is not None and failures > max_failures:
                engine.cancel()
            elif block := blocks.next():
                engine.submit(block)
    finally:
        engine.close()
        writer.close()
    unfinished = sum(cell.id not in rows for cell in plan.cells)
    if not unfinished:
        full = _with_related(folder, read_shards(folder).rows, light=False)
        write_tables(folder, study, plan.cells, full)
    return Outcome(
        computed=computed,
        reused=len(plan.done),
        failed=tuple(
            rows[cell.id]
            for cell in plan.cells
            if cell.id in rows and rows[cell.id]["status"] != "ok"
        ),
        unfinished=unfinished,
        seconds=time.perf_counter() - start,
        printed=(len(printed), sum(printed)) if printed else None,
    )


def _light(row: Row) -> Row:
    """Returns what an outcome needs of a row: why it failed, if it did."""
    return _OK if row["status"] == "ok" else row


class _blocks:  # noqa: N801 - an iterator with a memory, private to this module
    """Groups cells into blocks of about ``BLOCK_SECONDS``, whole pairs together."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._pairs = [list(pair) for _, pair in groupby(cells, key=lambda c: c.block)]
        self._next = 0
        self._seconds = 0.0
        self._cells = 0

    def note(self, rows: Sequence[Row]) -> None:
        """Learns from the seconds of finished ``rows``."""
        self._seconds += sum(row.get("seconds", 0.0) for row in rows)
        self._cells += len(rows)

    def next(self) -> list[Cell]:
        """Returns the next block, empty when none is left."""
        block: list[Cell] = []
        each = self._seconds / self._cells if self._cells else BLOCK_SECONDS
        while self._next < len(self._pairs):
            block += self._pairs[self._next]
            self._next += 1
            if len(block) * each >= BLOCK_SECONDS:
                break
        return block


class FolderLocked(RuntimeError):
    """Another run holds the folder of the study; the message says which."""


@contextlib.contextmanager
def locked(folder: Path, command: str) -> Iterator[None]:
    """Holds the folder of a study while it runs.

    The lock is the system's, so it ends with the process that holds it.

    Raises:
        FolderLocked: Another process holds it.
    """
    path = folder / "raw" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "an unknown process"
            raise FolderLocked(f"{folder} is held by {holder}") from None
        file.seek(0)
        file.truncate()
        since = time.strftime("%H:%M:%S")
        file.write(
            f"process {os.getpid()} on {socket.gethostname()} since {since}: {command}"
        )
        file.flush()
        try:
            yield
        finally:
            file.seek(0)
            file.truncate()


def holder(folder: Path) -> str | None:
    """Returns who holds the folder of a study, ``None`` if nobody does."""
    try:
        with (folder / "raw" / "lock").open("r", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return file.read().strip() or "an unknown process"
    except FileNotFoundError:
        return None
    return None


def changes(study: Study, folder: Path) -> list[str]:
    """Returns what differs from the last run in ``folder``, one line per key."""
    last = read_manifest(folder)
    if last is None:
        return []
    return list(memory.differences(study.description, last.get("study"), "study"))


def manifest(study: Study, command: str) -> dict[str, Any]:
    """Returns the volatile provenance of a run: where and with what it was made."""
    packages = ("numpy", "pandas", "scipy", "pyarrow", "ioh", "hydra-core")
    description = study.description
    return {
        "command": command,
        "study": description,
        "study_hash": memory.fingerprint(description),
        "code": code_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "packages": {name: version(name) for name in packages},
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write_manifest(folder: Path, content: dict[str, Any]) -> None:
    """Writes ``raw/manifest.json`` beside and moves it into place."""
    path = folder / "raw" / "manifest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(".manifest.new")
    beside.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
    beside.replace(path)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of the last run in ``folder``, ``None`` if there is none."""
    with contextlib.suppress(OSError, ValueError):
        content = json.loads((folder / "raw" / "manifest.json").read_text("utf-8"))
        if isinstance(content, dict):
            return content
    return None
