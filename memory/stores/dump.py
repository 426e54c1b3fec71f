"""All that a journal holds, as a value: what one store gives, any other takes."""

from __future__ import annotations

from typing import NamedTuple


class Snapshot(NamedTuple):
    """The fold of the first ``seq`` rows as ``reader`` has saved it; empty: enrolled."""

    reader: str
    seq: int
    blob: bytes


class Dump(NamedTuple):
    """A journal at one moment; equal journals give equal dumps, whatever their store.

    Attributes:
        trimmed: Number of rows that have been trimmed.
        rows: Rows kept, in their order; the first is entry ``trimmed + 1``.
        bodies: Keys and bodies, sorted by key.
        snapshots: What the readers have saved, sorted by reader.
    """

    trimmed: int
    rows: tuple[bytes, ...]
    bodies: tuple[tuple[str, bytes], ...]
    snapshots: tuple[Snapshot, ...]

    @property
    def last(self) -> int:
        """Number of the last entry."""
        return self.trimmed + len(self.rows)


def require_whole(dump: Dump) -> None:
    """Refuses what no journal can have given.

    Raises:
        ValueError: A number is out of range, a key or reader appears twice, or there
            are more bodies than entries.
    """
    if dump.trimmed < 0:
        raise ValueError(f"dump.trimmed must not be negative, got {dump.trimmed}")
    if len(dump.bodies) > dump.last:
        raise ValueError(
            f"dump.bodies must be at most one per entry, got {len(dump.bodies)} of "
            f"{dump.last}"
        )
    if len(dict(dump.bodies)) < len(dump.bodies):
        raise ValueError("dump.bodies must have different keys, got one twice")
    if len({snapshot.reader for snapshot in dump.snapshots}) < len(dump.snapshots):
        raise ValueError("dump.snapshots must have different readers, got one twice")
    for reader, seq, _ in dump.snapshots:
        if not 0 <= seq <= dump.last:
            raise ValueError(
                f"dump.snapshots must lie in [0, {dump.last}], got {seq} of reader "
                f"{reader!r}"
            )


def require_empty(last: int, n_readers: int) -> None:
    """Refuses to restore into a journal that is in use.

    Raises:
        ValueError: It holds entries, or readers are enrolled.
    """
    if last or n_readers:
        raise ValueError(
            f"a journal must be empty to be restored into, got one of {last} entries and "
            f"{n_readers} readers"
        )
