"""What both memories have in common: records in one scope of a journal.

A memory is a shell around a fold: it appends events, reads records by their ids, lays what
was said later over them, and lets the journal go of what is forgotten. What is folded, and
what a record is, its two heirs say.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from memory import codec
from memory.archive import Amendment, Forgotten, Total
from memory.checkpoints import save_checkpoint
from memory.following import Fold, Following
from memory.randomness import KeyedRandom
from memory.records import TOMBSTONES, Record, Status, utf8
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Journal


class Membership(Fold, Protocol):
    """A fold that knows who is in use."""

    def __len__(self) -> int: ...

    def __contains__(self, id: str) -> bool: ...

    def digest(self) -> str:
        """Returns a hash of the state."""


F = TypeVar("F", bound=Membership)
R = TypeVar("R", bound=Record)


class Recollection(ABC, Generic[F, R]):
    """A memory of records in one scope of a journal. Safe for use by several threads.

    Args:
        journal: Where events live; a journal in this process's memory if ``None``.
        described: The configuration as plain data; all who share a scope share it.
        key: What begins the names of the random numbers.
        stream: Name of this worker's own decisions; two workers need two names.
        scope: Key of this memory within the journal.
        compact_interval: Entries after which a worker that adds takes a snapshot, and
            discards what the retention rule forgot; never by itself if ``None``.
    """

    #: What a record is called in an error.
    noun: ClassVar[str]

    def __init__(
        self,
        journal: Journal | None,
        *,
        described: Mapping[str, Any],
        key: Sequence[int | str],
        stream: str,
        scope: str,
        compact_interval: int | None,
    ) -> None:
        self.stream = utf8("stream", stream)
        self.scope = utf8("scope", scope)
        self._own = KeyedRandom(*key, stream)
        # Two scopes of one journal give no two records one id.
        self._ids = KeyedRandom(*key, stream, "scope", scope) if scope else self._own
        self._lock = threading.RLock()
        self._known: dict[str, R] = {}
        self._following: Following[F] = Following(
            InMemoryJournal() if journal is None else journal,
            scope,
            described,
            self._new_fold,
            compact_interval=compact_interval,
            when_purged=lambda: self._known.clear(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes the journal, in which every acknowledged event is already."""
        self.close()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._following.journal!r}, scope={self.scope!r}, "
            f"stream={self.stream!r}: {len(self)} in use after entry {self.seq})"
        )

    def __len__(self) -> int:
        """Returns the number of those in use."""
        with self._lock:
            return len(self._fold)

    def __contains__(self, id: object) -> bool:
        """Returns whether ``id`` is in use."""
        with self._lock:
            return isinstance(id, str) and id in self._fold

    @property
    def seq(self) -> int:
        """Number of journal entries that have been folded in."""
        return self._fold.seq

    @property
    def kept_bytes(self) -> int:
        """Bytes of all records that are not forgotten, in use or not."""
        return self._fold.archive.kept_bytes

    @property
    def ledger(self) -> dict[str, Total]:
        """Records and bytes that were forgotten, by the rule that said so."""
        with self._lock:
            return self._fold.archive.ledger

    def digest(self) -> str:
        """Returns a hash of the state: equal in every worker that has read on."""
        with self._lock:
            return self._fold.digest()

    def get(self, id: str) -> R:
        """Returns the record called ``id``, in use or not, as it is known now.

        Its status says whether it was retracted or superseded; the score of a solution is
        the corrected one, the mean where it was evaluated several times.

        Raises:
            KeyError: There is none, or it was forgotten.
            TypeError: ``id`` is not a string.
        """
        with self._lock:
            return self._amended(self._record(id))

    def retract(self, id: str, reason: str) -> R:
        """Takes a record out of use for good; it stays readable, and so does its lineage.

        Returns:
            The tombstone: the record with the status ``retracted``.

        Raises:
            KeyError: There is no such record, or it was forgotten.
            TypeError: An argument has the wrong type.
            ValueError: It is retracted or superseded already.
        """
        return self._amend(
            id,
            reason,
            lambda key: codec.Retracted(self.scope, id, key, reason),
            status=Status.RETRACTED,
        )

    def supersede(self, id: str, by: str, reason: str) -> R:
        """Takes a record out of use for good: another one takes its place.

        Args:
            id: What is superseded.
            by: Id of the record that takes its place, remembered before.
            reason: Why.

        Returns:
            The tombstone: the record with the status ``superseded``.

        Raises:
            KeyError: There is no such record, or none called ``by``.
            TypeError: An argument has the wrong type.
            ValueError: It is ``by`` itself, or one of the two is not valid any more.
        """
        if utf8("by", by) == id:
            raise ValueError(f"by must be another {self.noun} than {id!r}")
        with self._lock:
            if self.get(by).status is not Status.VALID:
                raise ValueError(f"by must name a valid {self.noun}, got {by!r}")
            return self._amend(
                id,
                reason,
                lambda key: codec.Superseded(self.scope, id, key, reason, by),
                status=Status.SUPERSEDED,
            )

    def amendments(self, id: str) -> tuple[Amendment, ...]:
        """Returns what was said of a record later on, the oldest first.

        Raises:
            KeyError: There is none, or it was forgotten.
        """
        with self._lock:
            self._record(id)
            return tuple(self._fold.archive.amendments(id))

    def forgotten(self, id: str) -> Forgotten | None:
        """Returns the line of the ledger that says when and why ``id`` was forgotten.

        The ledger names the last 10,000 and counts all.
        """
        with self._lock:
            return self._fold.archive.forgotten(utf8("id", id))

    def past(self, seq: int) -> F:
        """Returns the state as it was after the first ``seq`` entries, to look at.

        The journal is folded anew, so this costs as much as the journal is long.

        Raises:
            JournalTrimmed: What came before has been trimmed.
            TypeError: ``seq`` is not an integer.
            ValueError: It lies beyond what this memory has folded in.
        """
        with self._lock:
            return self._following.past(seq)

    def sync(self) -> int:
        """Folds in what the journal holds beyond ``seq``; returns how many entries."""
        with self._lock:
            n = self._following.sync()
            self._let_go()
            return n

    def compact(self) -> int:
        """Takes a snapshot, and lets the journal go of what the retention rule forgot.

        Safe while other workers read and write. A snapshot makes the next opening fast.

        Returns:
            How many rows were trimmed.
        """
        with self._lock:
            return self._following.compact()

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Writes the whole journal into one file: see ``memory.save_checkpoint``."""
        save_checkpoint(self._following.journal, path)

    def close(self) -> None:
        """Lets go of files and connections; a later call opens them again."""
        self._following.journal.close()

    @property
    def _fold(self) -> F:
        return self._following.fold

    @abstractmethod
    def _new_fold(self, document: dict[str, Any] | None) -> F:
        """Returns an empty fold, or that of a document."""

    @abstractmethod
    def _decoded(self, body: bytes) -> R:
        """Returns the record of a body."""

    def _amended(self, record: R) -> R:
        """Returns a record with its tombstone, if there is one."""
        tombstone = self._fold.archive.tombstone(record.id)
        if tombstone is None or tombstone.kind not in TOMBSTONES:
            return record
        return dataclasses.replace(record, status=Status(tombstone.kind))

    def _key(self, id: str) -> str:
        return self._following.key("record", id)

    def _record(self, id: str) -> R:
        """Returns the record called ``id`` as it was written."""
        line = self._fold.archive.forgotten(utf8("id", id))
        if line is None:
            if (record := self._known.get(id)) is not None:
                return record
            if found := self._records([id]):
                self._keep(found[0])
                return found[0]
        why = "" if line is None else f", which {line.reason} forgot"
        raise KeyError(f"id must name a {self.noun}, got {id!r}{why}")

    def _records(self, ids: Iterable[str]) -> list[R]:
        """Returns those of ``ids`` that are kept, as they were written, in their order."""
        archive, known = self._fold.archive, self._known
        wanted = [id_ for id_ in ids if archive.forgotten(id_) is None]
        missing = [id_ for id_ in wanted if id_ not in known]
        found: dict[str, R] = {}
        if missing:
            keys = [self._key(id_) for id_ in missing]
            bodies = self._following.journal.fetch(keys)
            found = {
                id_: self._decoded(body)
                for id_, body in zip(missing, bodies, strict=True)
                if body is not None
            }
        return [
            record
            for id_ in wanted
            if (record := known.get(id_) or found.get(id_)) is not None
        ]

    def _require_new(self, id: str) -> None:
        """Refuses an id whose record was forgotten and is gone from the journal.

        As long as it is there, the same record again is known for what it is.
        """
        line = self._fold.archive.forgotten(id)
        if (
            line is not None
            and self._following.journal.fetch([self._key(id)])[0] is None
        ):
            raise ValueError(f"id must be new, got {id!r}, which {line.reason} forgot")

    def _keep(self, record: R) -> None:
        """Keeps a record at hand."""
        self._known[record.id] = record
        self._let_go()

    def _let_go(self) -> None:
        """Drops the texts of those out of use, once they outnumber the others twice."""
        fold = self._fold
        if len(self._known) > 3 * len(fold) + 64:
            self._known = {id_: one for id_, one in self._known.items() if id_ in fold}

    def _minted(self) -> str:
        """Returns an id of this worker's that belongs to the present entry.

        Another worker that goes by the same stream may be faster: then what it wrote is
        folded in by the append that failed, and the next id is another.
        """
        return self._ids.identifier(self._fold.seq)

    def _event(self, row: Callable[[str], bytes]) -> str:
        """Appends an event that brings no record; returns its key."""
        while True:
            key = self._following.key("amended", self._minted())
            written = row(key)
            if self._following.put(key, written, written):
                return key
            self._following.sync()

    def _amend(
        self,
        id: str,
        reason: str,
        event: Callable[[str], codec.Event],
        **changes: object,
    ) -> R:
        """Appends an amendment of ``id`` and returns what it makes of it.

        Args:
            id: What is amended.
            reason: Why.
            event: Returns the amendment under a key.
            changes: What it changes, should the record be forgotten by then.
        """
        utf8("reason", reason)
        with self._lock:
            record = self._in_use(utf8("id", id))
            done = self._event(lambda key: codec.row(event(key)))
            archive = self._fold.archive
            if archive.forgotten(id) is not None:
                return dataclasses.replace(record, **changes)  # type: ignore[arg-type]
            if done not in [amendment.key for amendment in archive.amendments(id)]:
                raise ValueError(
                    f"id must name a {self.noun} in use, got {id!r}: another worker was "
                    "faster, and it or what was to take its place is out of use"
                )
            return self.get(id)

    def _in_use(self, id: str) -> R:
        """Returns the record called ``id``, for an amendment.

        Raises:
            KeyError: There is none, or it was forgotten.
            ValueError: It is retracted or superseded.
        """
        record = self.get(id)
        if record.status in TOMBSTONES:
            raise ValueError(
                f"id must name a {self.noun} in use, got {id!r}, which is "
                f"{record.status}"
            )
        return record


def seed_names(seed: object) -> list[int | str]:
    """Returns the names that a seed stands for.

    Raises:
        TypeError: It is no integer, string, or list of them.
    """
    if isinstance(seed, str | Integral):
        seed = [seed]
    if not isinstance(seed, list | tuple):
        raise TypeError(
            f"seed must be an integer, a string, or a list of them, got {seed!r}"
        )
    names: list[int | str] = []
    for index, name in enumerate(seed):
        if isinstance(name, str):
            names.append(utf8(f"seed[{index}]", name))
        elif isinstance(name, Integral) and not isinstance(name, bool):
            names.append(int(name))
        else:
            raise TypeError(
                "seed must be an integer, a string, or a list of them, got "
                f"{name!r} at place {index}"
            )
    return names
