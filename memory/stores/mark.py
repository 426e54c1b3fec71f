"""What a store object knows of its journal, so that a rewound one is noticed.

A journal begins with a random identity. Its *head* is a hash that every row is added to,

    head_0 = identity,      head_n = sha1(head_{n-1} + row_n),

so it stands for the whole history. Who reads to the end computes the same from the rows
it got and compares: a server that came back without its last seconds, a file that was
replaced, a journal that was emptied and has grown beyond the old place again are all told
apart from the one that was read. The cost is one hash a row and forty bytes a journal. A
journal restored from a dump that was trimmed begins its head with the first row it has.

SHA-1 because Redis offers a script no other; this guards against loss, not malice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory.stores.journal import JournalRewound


def link(head: str, row: bytes) -> str:
    """Returns the head of a journal after ``row``, from the head before it."""
    return hashlib.sha1(head.encode() + row, usedforsecurity=False).hexdigest()


def head_after(identity: str, rows: Iterable[bytes]) -> str:
    """Returns the head of a journal that begins with ``rows``."""
    found = identity
    for row in rows:
        found = link(found, row)
    return found


class State(NamedTuple):
    """Where a journal stands, as its store says together with every reply.

    Attributes:
        identity: Its random name; empty where nothing has been appended yet.
        trimmed: Number of rows that have been trimmed.
        last: Number of the last entry.
        head: Hash of all rows up to it.
    """

    identity: str = ""
    trimmed: int = 0
    last: int = 0
    head: str = ""


class Mark(NamedTuple):
    """How far a store object has seen its journal.

    Attributes:
        identity: Identity of the journal; empty before it is known.
        seen: Highest number of entries that it was known to have.
        seq: Entry up to which rows were read without a gap.
        head: Head at ``seq``; empty before any read.
    """

    identity: str = ""
    seen: int = 0
    seq: int = 0
    head: str = ""

    def require(self, state: State) -> None:
        """Refuses a journal that cannot be the continuation of what was seen.

        Raises:
            JournalRewound: It is another one, or has lost entries.
        """
        if self.identity and state.identity != self.identity:
            raise JournalRewound(
                f"the journal was lost or replaced: {self.seen} entries had been seen, "
                f"and in its place is another one of {state.last} entries"
            )
        if state.last < self.seen:
            raise JournalRewound(
                f"the journal holds {state.last} entries where {self.seen} had been "
                "seen: it was rewound"
            )
        if self.head and state.last == self.seq and state.head != self.head:
            raise self._forked(state)

    def seeing(self, state: State) -> Mark:
        """Returns the mark after a reply that brought no rows.

        Raises:
            JournalRewound: The journal is not the one that was seen.
        """
        self.require(state)
        return self._replace(identity=state.identity, seen=state.last)

    def reading(self, state: State, after: int, rows: Sequence[bytes]) -> Mark:
        """Returns the mark after ``rows``, those that follow entry ``after``.

        Raises:
            JournalRewound: The rows do not continue what was read before.
        """
        seen = self.seeing(state)
        end = after + len(rows)
        seq, head = (self.seq, self.head) if self.head else (0, state.identity)
        if after <= seq <= end:
            for row in rows[seq - after :]:
                head = link(head, row)
            if end == state.last and head != state.head:
                raise self._forked(state)
            return seen._replace(seq=end, head=head)
        if end == state.last and not self.head:
            # From a snapshot on: what came before it is the snapshot's word.
            return seen._replace(seq=end, head=state.head)
        return seen

    def _forked(self, state: State) -> JournalRewound:
        return JournalRewound(
            f"the journal was rewound and has grown again: its {state.last} entries do "
            f"not continue the {self.seq} that had been read"
        )
