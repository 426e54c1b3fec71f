"""A journal in the memory of this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from memory.stores.journal import Entry, JournalTrimmed


class InMemoryJournal:
    """The journal of one process; it is gone when the process is."""

    __slots__ = ("_bodies", "_lock", "_rows", "_snapshot", "_trimmed")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[bytes] = []
        self._trimmed = 0
        self._bodies: dict[str, bytes | None] = {}
        self._snapshot: tuple[int, bytes] | None = None

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """See ``Journal``."""
        with self._lock:
            if key in self._bodies:
                return False
            self._bodies[key] = body
            self._rows.append(row)
            return True

    def read(self, after: int, limit: int = 10_000) -> list[Entry]:
        """See ``Journal``."""
        if after < 0:
            raise ValueError(f"after must not be negative, got {after}")
        if limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        with self._lock:
            start = after - self._trimmed
            if start < 0:
                raise JournalTrimmed(
                    f"entry {after + 1} has been trimmed, the first one kept is "
                    f"{self._trimmed + 1}"
                )
            rows = self._rows[start : start + limit]
        return [Entry(seq, row) for seq, row in enumerate(rows, start=after + 1)]

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """See ``Journal``."""
        with self._lock:
            return [self._bodies.get(key) for key in keys]

    def save_snapshot(self, seq: int, blob: bytes) -> None:
        """See ``Journal``."""
        with self._lock:
            if self._snapshot is None or seq > self._snapshot[0]:
                self._snapshot = (seq, blob)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """See ``Journal``."""
        return self._snapshot

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        with self._lock:
            covered = 0 if self._snapshot is None else self._snapshot[0]
            if seq > covered:
                raise ValueError(
                    f"seq must be covered by a snapshot, got {seq} > {covered}"
                )
            dropped = max(0, seq - self._trimmed)
            del self._rows[:dropped]
            self._trimmed += dropped
            return dropped

    def discard(self, keys: Sequence[str]) -> int:
        """See ``Journal``."""
        with self._lock:
            discarded = 0
            for key in keys:
                if self._bodies.get(key) is not None:
                    self._bodies[key] = None
                    discarded += 1
            return discarded
