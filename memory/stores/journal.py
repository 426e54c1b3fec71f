"""The contract of every store: an append-only journal of bytes.

A journal remembers, in one total order, short *rows* that every worker reads and long
*bodies* that are fetched by key. It knows nothing of solutions, islands or scores: the
population is a fold over the rows, computed by whoever reads them. Every implementation
is safe for concurrent use by many threads, and by many processes where it outlives one,
and passes ``tests/contracts/test_journal.py``.

A journal that has lost entries, or another one in its place, is never taken for the one
that was read before: whatever is asked of it raises ``JournalRewound`` (``mark.py`` says
how it is noticed).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

#: Most entries that one call reads unless told otherwise.
LIMIT = 10_000


class Entry(NamedTuple):
    """One row and its place in the order, counted from one without gaps."""

    seq: int
    row: bytes


class Appended(NamedTuple):
    """What ``append_and_read`` did: whether the entry is new, and what there is to read."""

    new: bool
    entries: list[Entry]


class PopulationSize(NamedTuple):
    """What one population takes up in a store.

    Attributes:
        name: Name of the population.
        entries: Length of its journal, trimmed rows included.
        rows: Rows kept.
        bodies: Bodies kept.
        bytes: Bytes of it, as near as the store can say without reading everything.
    """

    name: str
    entries: int
    rows: int
    bodies: int
    bytes: int


class JournalTrimmed(LookupError):
    """Rows were asked for that have been trimmed away: start from the snapshot."""


class JournalRewound(LookupError):
    """The journal lacks entries that had been read, or is another one: start anew."""


class JournalUnavailable(ConnectionError):
    """The store does not answer, or refuses; an append may safely be sent again."""


class JournalUnreadable(ValueError):
    """What the store holds is damaged, or is no journal of this release."""


class Journal(Protocol):
    """An append-only sequence of rows, each with a body under a unique key.

    Every method of a store that outlives the process may raise ``JournalRewound``,
    ``JournalUnavailable`` or ``JournalUnreadable``.
    """

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """Appends ``row`` and stores ``body``, atomically and at most once per key.

        Returns:
            Whether the entry is new. A repeated key changes nothing, so an append whose
            reply was lost may safely be sent again.
        """

    def append_and_read(
        self, key: str, row: bytes, body: bytes, after: int, limit: int = LIMIT
    ) -> Appended:
        """Appends like ``append``, then reads like ``read``, in one step and round trip.

        Returns:
            Whether the entry is new, and at most ``limit`` entries from ``after + 1`` on;
            the appended one is among them unless the limit comes first.

        Raises:
            JournalRewound: The journal has fewer than ``after`` entries.
            JournalTrimmed: Entry ``after + 1`` has been trimmed.
            ValueError: ``after`` is negative or ``limit`` is not positive.
        """

    def read(self, after: int, limit: int = LIMIT) -> list[Entry]:
        """Returns at most ``limit`` entries in order, starting at ``after + 1``.

        Raises:
            JournalRewound: The journal has fewer than ``after`` entries.
            JournalTrimmed: Entry ``after + 1`` has been trimmed.
            ValueError: ``after`` is negative or ``limit`` is not positive.
        """

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """Returns the bodies stored under ``keys``, ``None`` where there is none."""

    def save_snapshot(self, seq: int, blob: bytes) -> None:
        """Keeps ``blob``, the fold of the first ``seq`` rows, unless a later one is.

        Raises:
            JournalRewound: The journal has fewer than ``seq`` entries.
            ValueError: ``seq`` is negative.
        """

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

    def close(self) -> None:
        """Lets go of files and connections; a later call opens them again."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def require_bounds(after: int, limit: int) -> None:
    """Refuses bounds that name no entries.

    Raises:
        ValueError: ``after`` is negative or ``limit`` is not positive.
    """
    if after < 0:
        raise ValueError(f"after must not be negative, got {after}")
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")


def require_place(after: int, trimmed: int, last: int) -> None:
    """Refuses to read on from where a journal has nothing to say.

    Args:
        after: Entry that was read last.
        trimmed: Number of rows that have been trimmed.
        last: Number of the last entry.

    Raises:
        JournalRewound: ``after`` lies beyond the last entry.
        JournalTrimmed: Entry ``after + 1`` has been trimmed.
    """
    if after > last:
        raise JournalRewound(
            f"the journal holds {last} entries where {after} had been read: it was "
            "rewound or replaced"
        )
    if after < trimmed:
        raise JournalTrimmed(
            f"entry {after + 1} has been trimmed, the first one kept is {trimmed + 1}"
        )


def require_snapshot(seq: int, last: int) -> None:
    """Refuses a snapshot of what is not there.

    Raises:
        JournalRewound: ``seq`` lies beyond ``last``, the last entry.
        ValueError: ``seq`` is negative.
    """
    if seq < 0:
        raise ValueError(f"seq must not be negative, got {seq}")
    if seq > last:
        raise JournalRewound(
            f"the journal holds {last} entries where a snapshot covers {seq}: it was "
            "rewound or replaced"
        )


def require_covered(seq: int, covered: int) -> None:
    """Refuses to trim what no snapshot covers.

    Raises:
        ValueError: ``seq`` lies beyond ``covered``, the entry of the latest snapshot.
    """
    if seq > covered:
        raise ValueError(f"seq must be covered by a snapshot, got {seq} > {covered}")


def require_name(name: object) -> str:
    """Returns ``name``, a name of a population.

    Raises:
        TypeError: ``name`` is not a string.
        ValueError: ``name`` is empty, or not UTF-8.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    if not name:
        raise ValueError("name must not be empty, got ''")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"name must be encodable as UTF-8, got {name!r}") from None
    return name
