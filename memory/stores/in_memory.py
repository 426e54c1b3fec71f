"""A journal in the memory of this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Self

from memory.stores.journal import (
    Appended,
    Entry,
    require_bounds,
    require_covered,
    require_place,
    require_snapshot,
)


class InMemoryJournal:
    """The journal of one process; it is gone when the process is."""

    __slots__ = ("_bodies", "_lock", "_rows", "_snapshot", "_trimmed")

    def __init__(self) -> None:
        self._lock = threading.RLock()
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

    def append_and_read(
        self, key: str, row: bytes, body: bytes, after: int, limit: int = 10_000
    ) -> Appended:
        """See ``Journal``."""
        require_bounds(after, limit)
        with self._lock:
            require_place(after, self._trimmed, self._last)
            return Appended(self.append(key, row, body), self.read(after, limit))

    def read(self, after: int, limit: int = 10_000) -> list[Entry]:
        """See ``Journal``."""
        require_bounds(after, limit)
        with self._lock:
            require_place(after, self._trimmed, self._last)
            start = after - self._trimmed
            rows = self._rows[start : start + limit]
        return [Entry(seq, row) for seq, row in enumerate(rows, start=after + 1)]

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """See ``Journal``."""
        with self._lock:
            return [self._bodies.get(key) for key in keys]

    def save_snapshot(self, seq: int, blob: bytes) -> None:
        """See ``Journal``."""
        with self._lock:
            require_snapshot(seq, self._last)
            if self._snapshot is None or seq > self._snapshot[0]:
                self._snapshot = (seq, blob)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """See ``Journal``."""
        return self._snapshot

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        with self._lock:
            require_covered(seq, 0 if self._snapshot is None else self._snapshot[0])
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

    def close(self) -> None:
        """See ``Journal``; there is nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _last(self) -> int:
        return self._trimmed + len(self._rows)
