"""A journal in the memory of this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Self

from memory.stores.dump import Dump, Snapshot, require_empty, require_whole
from memory.stores.journal import (
    Appended,
    Entry,
    require_bounds,
    require_place,
    require_reader,
    require_snapshot,
    require_there,
)


class InMemoryJournal:
    """The journal of one process; it is gone when the process is."""

    __slots__ = ("_bodies", "_lock", "_rows", "_snapshots", "_trimmed")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: list[bytes] = []
        self._trimmed = 0
        self._bodies: dict[str, bytes] = {}
        self._snapshots: dict[str, tuple[int, bytes]] = {}

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

    def save_snapshot(self, seq: int, blob: bytes, reader: str = "") -> None:
        """See ``Journal``."""
        require_snapshot(seq, blob, reader)
        with self._lock:
            require_there(seq, self._last)
            kept_seq, kept = self._snapshots.get(reader, (-1, b""))
            if seq > kept_seq or (seq == kept_seq and not kept):
                self._snapshots[reader] = (seq, blob)

    def load_snapshot(self, reader: str = "") -> tuple[int, bytes] | None:
        """See ``Journal``."""
        with self._lock:
            seq, blob = self._snapshots.get(require_reader(reader), (0, b""))
        return (seq, blob) if blob else None

    def drop_reader(self, reader: str) -> bool:
        """See ``Journal``."""
        with self._lock:
            return self._snapshots.pop(require_reader(reader), None) is not None

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        with self._lock:
            covered = min((seq for seq, _ in self._snapshots.values()), default=0)
            dropped = max(0, min(seq, covered) - self._trimmed)
            del self._rows[:dropped]
            self._trimmed += dropped
            return dropped

    def discard(self, keys: Sequence[str]) -> int:
        """See ``Journal``."""
        with self._lock:
            before = len(self._bodies)
            for key in keys:
                self._bodies.pop(key, None)
            return before - len(self._bodies)

    def dump(self) -> Dump:
        """See ``Journal``."""
        with self._lock:
            return Dump(
                self._trimmed,
                tuple(self._rows),
                tuple(sorted(self._bodies.items())),
                tuple(
                    Snapshot(reader, *saved)
                    for reader, saved in sorted(self._snapshots.items())
                ),
            )

    def restore(self, dump: Dump) -> None:
        """See ``Journal``."""
        require_whole(dump)
        with self._lock:
            require_empty(self._last, len(self._snapshots))
            self._trimmed = dump.trimmed
            self._rows = list(dump.rows)
            self._bodies = dict(dump.bodies)
            self._snapshots = {
                reader: (seq, blob) for reader, seq, blob in dump.snapshots
            }

    def close(self) -> None:
        """See ``Journal``; there is nothing to let go of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _last(self) -> int:
        return self._trimmed + len(self._rows)
