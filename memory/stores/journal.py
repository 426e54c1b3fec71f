"""The contract of every store: an append-only journal of bytes.

A journal remembers, in one total order, short *rows* that every worker reads and long
*bodies* that are fetched by key. It knows nothing of solutions, islands or scores: the
population is a fold over the rows, computed by whoever reads them. Every implementation
is safe for concurrent use by many threads, and by many processes where it outlives one,
and passes ``tests/contracts/test_journal.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Entry(NamedTuple):
    """One row and its place in the order, counted from one without gaps."""

    seq: int
    row: bytes


class JournalTrimmed(LookupError):
    """Rows were asked for that have been trimmed away: start from the snapshot."""


class Journal(Protocol):
    """An append-only sequence of rows, each with a body under a unique key."""

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """Appends ``row`` and stores ``body``, atomically and at most once per key.

        Returns:
            Whether the entry is new. A repeated key changes nothing, so an append whose
            reply was lost may safely be sent again.
        """

    def read(self, after: int, limit: int = 10_000) -> list[Entry]:
        """Returns at most ``limit`` entries in order, starting at ``after + 1``.

        Raises:
            JournalTrimmed: Entry ``after + 1`` has been trimmed.
            ValueError: ``after`` is negative or ``limit`` is not positive.
        """

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """Returns the bodies stored under ``keys``, ``None`` where there is none."""

    def save_snapshot(self, seq: int, blob: bytes) -> None:
        """Keeps ``blob``, the fold of the first ``seq`` rows, unless a later one is."""

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Returns the latest snapshot as ``(seq, blob)``, or ``None``."""

    def trim(self, seq: int) -> int:
        """Forgets the rows up to ``seq``, which a snapshot must cover; bodies stay.

        Returns:
            How many rows were forgotten.

        Raises:
            ValueError: No snapshot covers ``seq``.
        """

    def discard(self, keys: Sequence[str]) -> int:
        """Forgets the bodies stored under ``keys``; a key stays used for ever.

        Returns:
            How many bodies were forgotten.
        """
