"""What a run says while it runs: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from experiments.cells import Row
from experiments.runner import Progress as Told

#: Seconds between two plain lines.
INTERVAL = 10.0


class Reporter:
    """Speaks to the user.

    Args:
        quiet: Whether to print the outcome only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._errors = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """Prints ``text`` unless quiet."""
        if not self._quiet:
            self._errors.print(text, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Prints ``text`` always, where errors go."""
        self._errors.print(text, markup=False, soft_wrap=True, style="yellow")

    def result(self, text: str) -> None:
        """Prints ``text`` always, where results go."""
        print(text)

    @contextmanager
    def bar(self, total: int, name: str) -> Iterator[Told]:
        """Shows how far ``total`` cells are."""
        if self._quiet or total == 0:
            yield _Silent()
        elif sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[failures]} failed"),
            )
            with Progress(*columns, console=self._errors) as progress:
                yield _Bar(progress, total, name)
        else:
            yield _Lines(self._errors, total, name)


class _Silent:
    """Says nothing."""

    def advance(self, rows: Sequence[Row]) -> None:
        """See ``runner.Progress``."""


class _Bar:
    """A bar with the time that is left and the failures so far."""

    def __init__(self, progress: Progress, total: int, name: str) -> None:
        self._progress = progress
        self._failures = 0
        self._task = progress.add_task(name, total=total, failures=0)

    def advance(self, rows: Sequence[Row]) -> None:
        """See ``runner.Progress``."""
        self._failures += sum(row["status"] != "ok" for row in rows)
        self._progress.update(self._task, advance=len(rows), failures=self._failures)


class _Lines:
    """A line now and then, for logs."""

    def __init__(self, console: Console, total: int, name: str) -> None:
        self._console = console
        self._total = total
        self._name = name
        self._done = self._failures = 0
        self._start = self._last = time.monotonic()

    def advance(self, rows: Sequence[Row]) -> None:
        """See ``runner.Progress``."""
        self._done += len(rows)
        self._failures += sum(row["status"] != "ok" for row in rows)
        now = time.monotonic()
        if now - self._last < INTERVAL and self._done < self._total:
            return
        self._last = now
        left = (now - self._start) / self._done * (self._total - self._done)
        self._console.print(
            f"{self._name}: {self._done} of {self._total} cells, {self._failures} "
            f"failed, about {left:.0f} s left",
            markup=False,
            soft_wrap=True,
        )
