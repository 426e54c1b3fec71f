"""The engine of one machine: worker processes that may die without loss.

A worker computes one block at a time and reports each cell as it begins and ends. If it
dies, the rows that it reported are kept, the cell it was at is tried again alone, and the
rest of its block goes to others. A cell that outlasts its time is ended with its worker.
Workers end with their parent, however it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, cast

from experiments.cells import Cell, Row, computed, unfinished_row
from experiments.study import Study

#: How often a cell may take its worker with it before it counts as failed.
ATTEMPTS = 3
#: Share of the free memory that all workers together may take.
MEMORY_SHARE = 0.8
#: Characters that are kept of what a cell printed.
KEPT_OUTPUT = 2_000

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True)
class _Worker:
    """What the parent knows of one worker."""

    process: BaseProcess
    connection: Connection
    lifeline: Connection
    block: deque[Cell] = field(default_factory=deque)
    rows: list[Row] = field(default_factory=list)
    #: When the cell that is under way began; infinite between cells.
    since: float = math.inf


class Processes:
    """Computes blocks in processes of their own.

    Args:
        study: The study whose cells will be computed.
        workers: Number of processes, at least one.
        timeout_seconds: Longest time of a cell; none if ``None``.
        memory_bytes: What each process may take on top of what it has at its start; a
            share of the free memory if ``None``.

    Raises:
        ValueError: ``workers``, ``timeout_seconds`` or ``memory_bytes`` is not positive.
    """

    def __init__(
        self,
        study: Study,
        workers: int,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        if timeout_seconds is not None and not timeout_seconds > 0.0:
            raise ValueError(f"timeout_seconds must be positive, got {timeout_seconds}")
        if memory_bytes is not None and memory_bytes < 1:
            raise ValueError(f"memory_bytes must be at least 1, got {memory_bytes}")
        self.capacity = workers + 1
        self._study = study
        self._n_workers = workers
        self._timeout = timeout_seconds
        self._context = multiprocessing.get_context("spawn")
        share = int(MEMORY_SHARE * free_memory() / workers)
        self._memory = share if memory_bytes is None else memory_bytes
        self._workers: list[_Worker] = []
        self._queue: deque[deque[Cell]] = deque()
        self._deaths: dict[str, int] = {}

    def submit(self, block: Sequence[Cell]) -> None:
        """See ``Engine``."""
        self._queue.append(deque(block))

    def as_completed(self) -> Iterator[list[Row]]:
        """See ``Engine``."""
        while True:
            self._dispatch()
            busy = [worker for worker in self._workers if worker.block]
            if not busy:
                return
            by_connection = {worker.connection: worker for worker in busy}
            ready = wait(list(by_connection), timeout=self._patience(busy))
            for connection in ready:
                worker = by_connection[cast(Connection, connection)]
                if not self._heard(worker):
                    yield self._lost(worker)
                elif not worker.block:
                    rows, worker.rows = worker.rows, []
                    yield rows
            for worker in self._overdue():
                yield self._ended(worker)

    def cancel(self) -> None:
        """See ``Engine``."""
        self._queue.clear()

    def close(self) -> None:
        """See ``Engine``."""
        self.cancel()
        for worker in self._workers:
            _end(worker)
        self._workers.clear()

    def _dispatch(self) -> None:
        """Gives a block to every idle worker, as long as there are blocks."""
        idle = [worker for worker in self._workers if not worker.block]
        while self._queue:
            if idle:
                worker = idle.pop()
            elif len(self._workers) < self._n_workers:
                worker = self._hired()
            else:
                return
            block = self._queue.popleft()
            worker.block = deque(block)
            worker.since = math.inf
            # A worker that has just died is noticed when its connection is read.
            with contextlib.suppress(OSError):
                worker.connection.send(list(block))

    def _hired(self) -> _Worker:
        """Starts a worker; it sees one thread of numerical libraries."""
        ours, theirs = self._context.Pipe()
        kept, lifeline = self._context.Pipe()
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            process = self._context.Process(
                target=_work,
                args=(theirs, lifeline, self._study, self._memory, os.getpid()),
                daemon=True,
            )
            process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        theirs.close()
        lifeline.close()
        worker = _Worker(process, ours, kept)
        self._workers.append(worker)
        return worker

    def _heard(self, worker: _Worker) -> bool:
        """Takes in one message of ``worker``; returns whether it is alive."""
        try:
            row: Row | None = worker.connection.recv()
        except (EOFError, OSError):
            return False
        if row is None:
            worker.since = time.monotonic()
        else:
            worker.since = math.inf
            worker.rows.append(row)
            worker.block.popleft()
        return True

    def _patience(self, busy: Sequence[_Worker]) -> float | None:
        """Returns the seconds until the next cell is overdue."""
        if self._timeout is None:
            return None
        first = min(worker.since for worker in busy)
        if first == math.inf:
            return None
        return max(0.0, first + self._timeout - time.monotonic())

    def _overdue(self) -> list[_Worker]:
        if self._timeout is None:
            return []
        latest = time.monotonic() - self._timeout
        return [w for w in self._workers if w.block and w.since <= latest]

    def _lost(self, worker: _Worker) -> list[Row]:
        """Returns the rows of a worker that died; its cells go back to the queue."""
        worker.process.join(5.0)
        cell, rows = self._let_go(worker)
        deaths = self._deaths[cell.id] = self._deaths.get(cell.id, 0) + 1
        if deaths < ATTEMPTS:
            self._queue.appendleft(deque([cell]))
        else:
            reason = (
                f"the worker died {deaths} times at this cell, at last "
                f"{_death(worker.process.exitcode)}"
            )
            rows.append(unfinished_row(cell, "failed", reason))
        return rows

    def _ended(self, worker: _Worker) -> list[Row]:
        """Returns the rows of a worker whose cell took too long, after ending it."""
        cell, rows = self._let_go(worker)
        reason = f"the cell took longer than {self._timeout:g} s and was ended"
        return [*rows, unfinished_row(cell, "timeout", reason)]

    def _let_go(self, worker: _Worker) -> tuple[Cell, list[Row]]:
        """Ends ``worker``; returns the cell it was at and its rows so far."""
        _end(worker)
        self._workers.remove(worker)
        cell = worker.block.popleft()
        if worker.block:
            self._queue.appendleft(worker.block)
        return cell, worker.rows


def _end(worker: _Worker) -> None:
    # With all that its cells may have started: the worker leads a group of its own.
    with contextlib.suppress(OSError):
        os.killpg(cast(int, worker.process.pid), signal.SIGKILL)
    worker.process.kill()
    worker.process.join(5.0)
    worker.connection.close()
    worker.lifeline.close()


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return f"by {name}{hint}"
    return f"with exit status {code}"


def free_memory() -> int:
    """Returns the bytes that could be used now; a large number if unknown."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    return 2**62


def _work(
    connection: Connection,
    lifeline: Connection,
    study: Study,
    memory_bytes: int,
    parent: int,
) -> None:
    """Computes blocks until the parent is gone or says so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgid(0, 0)
    _die_with(lifeline, parent)
    _limit_memory(memory_bytes)
    output = _captured_output()
    _share_no_lock()
    while True:
        try:
            block: list[Cell] = connection.recv()
        except EOFError:
            return
        for cell in block:
            # The clock of a cell starts when it does.
            connection.send(None)
            row = computed(study, cell)
            _keep_output(row, output)
            connection.send(row)


def _share_no_lock() -> None:
    """Gives progress bars of libraries a lock of this process.

    The one they would make, for several processes, is left behind where a process is
    killed, as ours are.
    """
    with contextlib.suppress(ImportError):
        import_module("tqdm").tqdm.set_lock(threading.RLock())


def _die_with(lifeline: Connection, parent: int) -> None:
    """Makes this process end as soon as its parent does, even in the middle of a cell."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            lifeline.recv()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _limit_memory(memory_bytes: int) -> None:
    """Lets this process take ``memory_bytes`` more: beyond is a MemoryError."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        limit = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _captured_output() -> IO[bytes]:
    """Sends what cells print to a file without a name, and returns it."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    return output


def _keep_output(row: Row, output: IO[bytes]) -> None:
    """Notes in ``row`` how much its cell printed, and how it began."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    size = os.fstat(output.fileno()).st_size
    if size:
        row["printed"] = size
        output.seek(0)
        row["output"] = output.read(KEPT_OUTPUT).decode(errors="replace")
        output.seek(0)
        output.truncate()
