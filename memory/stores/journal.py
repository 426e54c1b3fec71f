"""The contract of every store: an append-only journal of bytes.

A journal remembers, in one total order, short *rows* that every worker reads and long
*bodies* that are fetched by key. It knows nothing of solutions, islands or scores: the
population is a fold over the rows, computed by whoever reads them. Several *readers* may
fold one journal, each with a snapshot of its own. Every implementation is safe for
concurrent use by many threads, and by many processes where it outlives one, and passes
``tests/contracts/test_journal.py``.

A journal that has lost entries, or another one in its place, is never taken for the one
that was read before: whatever is asked of it raises ``JournalRewound`` (``mark.py`` says
how it is noticed).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from memory.stores.dump import Dump

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
        readers: Readers that have saved a snapshot or enrolled.
        bytes: Bytes of it, as near as the store can say without reading everything.
    """

    name: str
    entries: int
    rows: int
    bodies: int
    readers: int
    bytes: int


class JournalTrimmed(LookupError):
    """Rows were asked for that have been trimmed away: start from the snapshot.

    Args:
        message: What was asked for.
        first: Number of the first entry that is kept.
    """

    def __init__(self, message: str, first: int = 1) -> None:
        super().__init__(message)
        self.first = first


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

    def save_snapshot(self, seq: int, blob: bytes, reader: str = "") -> None:
        """Keeps ``blob``, the fold of the first ``seq`` rows, unless a later one is.

        Nothing is trimmed that a reader has not covered. ``save_snapshot(0, b"", reader)``
        enrols one that has no snapshot yet; its first one takes the place of that.

        Args:
            seq: Number of rows folded in.
            blob: The fold; empty only where ``seq`` is zero.
            reader: Name of the fold; each name has a snapshot of its own.

        Raises:
            JournalRewound: The journal has fewer than ``seq`` entries.
            TypeError: ``reader`` is not a string.
            ValueError: ``seq`` is negative, ``blob`` is empty behind the first entry, or
                ``reader`` is not UTF-8.
        """

    def load_snapshot(self, reader: str = "") -> tuple[int, bytes] | None:
        """Returns the reader's latest snapshot as ``(seq, blob)``, ``None`` without one.

        Raises:
            TypeError: ``reader`` is not a string.
            ValueError: ``reader`` is not UTF-8.
        """

    def drop_reader(self, reader: str) -> bool:
        """Forgets a reader: its snapshot, and that rows were kept for it.

        Returns:
            Whether there was one of this name.

        Raises:
            TypeError: ``reader`` is not a string.
            ValueError: ``reader`` is not UTF-8.
        """

    def trim(self, seq: int) -> int:
        """Forgets the rows up to ``seq`` that every reader has covered; bodies stay.

        Without any reader nothing is covered. A reader that lags keeps its rows, so this
        may stop short of ``seq``, and the next call goes on.

        Returns:
            How many rows were forgotten.
        """

    def discard(self, keys: Sequence[str]) -> int:
        """Forgets the bodies stored under ``keys``, and the keys: they are new again.

        Discard only what no writer will still send: an append that is sent again
        afterwards makes a second entry.

        Returns:
            How many bodies were forgotten.
        """

    def dump(self) -> Dump:
        """Returns all that the journal holds, at one moment."""

    def restore(self, dump: Dump) -> None:
        """Fills an empty journal with ``dump``, whole or not at all.

        It goes on as the dumped one would have, under an identity of its own.

        Raises:
            ValueError: The journal holds entries or has readers, or ``dump`` is none that
                a journal can have given.
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
            f"entry {after + 1} has been trimmed, the first one kept is {trimmed + 1}",
            trimmed + 1,
        )


def require_snapshot(seq: int, blob: bytes, reader: object) -> None:
    """Refuses a snapshot that cannot be one of any journal.

    Raises:
        TypeError: ``reader`` is not a string.
        ValueError: ``seq`` is negative, ``blob`` is empty behind the first entry, or
            ``reader`` is not UTF-8.
    """
    require_reader(reader)
    if seq < 0:
        raise ValueError(f"seq must not be negative, got {seq}")
    if seq > 0 and not blob:
        raise ValueError(f"blob must not be empty where seq is positive, got {seq}")


def require_there(seq: int, last: int) -> None:
    """Refuses a snapshot of what is not there.

    Raises:
        JournalRewound: ``seq`` lies beyond ``last``, the last entry.
    """
    if seq > last:
        raise JournalRewound(
            f"the journal holds {last} entries where a snapshot covers {seq}: it was "
            "rewound or replaced"
        )


def require_name(name: object) -> str:
    """Returns ``name``, a name of a population.

    Raises:
        TypeError: ``name`` is not a string.
        ValueError: ``name`` is empty, or not UTF-8.
    """
    if name == "":
        raise ValueError("name must not be empty, got ''")
    return _utf8("name", name)


def require_reader(reader: object) -> str:
    """Returns ``reader``, a name of a reader; it may be empty.

    Raises:
        TypeError: ``reader`` is not a string.
        ValueError: ``reader`` is not UTF-8.
    """
    return _utf8("reader", reader)


def _utf8(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a string, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{argument} must be encodable as UTF-8, got {value!r}"
        ) from None
    return value
