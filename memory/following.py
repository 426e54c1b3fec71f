"""Following one scope of a journal: what both memories do with their store.

A memory is a fold over the entries of its scope. This is the part that reads, writes,
configures, snapshots and compacts, whatever is folded. Every entry is folded in whole or
not at all: where a fold raises, it is thrown away and made again up to the entry before.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Generic, Protocol, TypeVar

from memory import codec
from memory.archive import GRACE_ENTRIES, Archive, Discard
from memory.records import count, utf8
from memory.settings import differences, fingerprint
from memory.stores.dump import Dump
from memory.stores.journal import (
    LIMIT,
    Entry,
    Journal,
    JournalRewound,
    JournalTrimmed,
    JournalUnavailable,
    JournalUnreadable,
)

#: Entries after which a worker that appends takes a snapshot, unless told otherwise.
COMPACT_INTERVAL_ENTRIES = 10_000

_PURGED = b'["purged/1",'
_BREAKS = (_PURGED, b'["configured/1",')
_MAGIC = b"boltzmem snapshot 1\n"
_CHECKSUM_BYTES = 16


class ConfigurationMismatch(ValueError):
    """The journal belongs to a population of another configuration."""


class Fold(Protocol):
    """The state of one scope, as a function of the entries before."""

    #: Number of entries folded in, those of other scopes counted.
    seq: int
    #: Whether the scope was purged, and has not begun again.
    purged: bool
    archive: Archive

    def apply(self, seq: int, row: bytes) -> None:
        """Folds entry ``seq`` in; one of another scope only counts.

        Raises:
            CorruptEntry: It is no row of ours.
            UnknownEvent: Its kind or version is not known.
            ValueError: ``seq`` is not the next one.
        """

    def document(self) -> dict[str, Any]:
        """Returns the state as plain data, exact to the last bit, ``seq`` included."""


F = TypeVar("F", bound=Fold)


class Following(Generic[F]):
    """A fold that keeps up with its scope of a journal. Not locked: the owner locks.

    Args:
        journal: Where the entries live.
        scope: Key of the fold's own entries within the journal.
        described: The configuration as plain data; all who follow a scope share it.
        new: Returns an empty fold for ``None``, else the fold of a ``document``.
        compact_interval: Entries after which a writer takes a snapshot and discards
            what is forgotten; never by itself if ``None``.
        when_purged: Called where the scope turns out to have been purged; every later
            append and sync raises ``JournalRewound``.

    Raises:
        ConfigurationMismatch: The journal holds this scope under another configuration;
            the message names what differs.
        TypeError: ``journal`` is none.
    """

    def __init__(
        self,
        journal: Journal,
        scope: str,
        described: Mapping[str, Any],
        new: Callable[[dict[str, Any] | None], F],
        *,
        compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
        when_purged: Callable[[], None] = lambda: None,
    ) -> None:
        if not callable(getattr(journal, "append_and_read", None)):
            raise TypeError(f"journal must be a Journal or None, got {journal!r}")
        if compact_interval is not None:
            count("compact_interval", compact_interval, minimum=1)
        self.journal = journal
        self.scope = scope
        self._new = new
        self._interval = compact_interval
        self._when_purged = when_purged
        # The length makes the prefix of a scope no prefix of another one's keys.
        self._prefix = prefix_of(scope)
        self._fingerprint = fingerprint(described)
        self._configure(described)
        self._snapshot_seq = 0
        self._purged = 0
        self.fold = self._attached()
        self.sync(opening=True)

    def key(self, kind: str, name: str) -> str:
        """Returns the journal's key of something of this scope."""
        return f"{kind}:{self._prefix}{name}"

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """Appends an entry and folds in all up to it; returns whether it is new.

        One round trip: the answer holds all that others wrote in between.
        """
        new = self._append(key, row, body)
        if self._interval is not None:
            since = max(self._snapshot_seq, self.fold.archive.compacted)
            if self.fold.seq - since >= self._interval:
                # The entry is in the journal, whatever becomes of this; the next append
                # tries again.
                with suppress(JournalUnavailable):
                    self.compact()
        return new

    def put(self, key: str, row: bytes, body: bytes) -> bool:
        """Appends an entry; returns false where another one has its key.

        Where a reply was lost and the store sent the append again, the entry that is
        there already is this very one. So ``body`` must tell it from others.
        """
        return self.append(key, row, body) or self.journal.fetch([key])[0] == body

    def sync(self, *, opening: bool = False) -> int:
        """Folds in what the journal holds beyond ``seq``; returns how many entries.

        Args:
            opening: Whether a purge that is met is long past.

        Raises:
            JournalRewound: The scope was purged since the last call.
        """
        start = self.fold.seq
        while True:
            try:
                self._fold(self.journal.read(self.fold.seq))
                break
            except JournalTrimmed:
                self.fold = self._attached()
        if opening:
            self._purged = 0
        self._require_unpurged()
        return self.fold.seq - start

    def compact(self) -> int:
        """Takes a snapshot, and lets the journal go of what the retention rule forgot.

        Safe while others read and write: who is behind goes on from the snapshot. What
        was forgotten less than ``GRACE_ENTRIES`` ago stays for now.

        Returns:
            How many rows were trimmed.
        """
        self.sync()
        archive = self.fold.archive
        upto = max(0, self.fold.seq - GRACE_ENTRIES)
        if archive.accounts:
            keys = [self._key_of(discard) for discard in archive.discards(upto)]
            if keys:
                self.journal.discard(keys)
                key = self.key("compacted", str(self.fold.seq))
                self._append(
                    key, codec.row(codec.Compacted(self.scope, upto, key)), b""
                )
        self.journal.save_snapshot(self.fold.seq, self._snapshot(), self._prefix)
        self._snapshot_seq = self.fold.seq
        return self.journal.trim(upto) if archive.accounts else 0

    def past(self, seq: int) -> F:
        """Returns the fold of the first ``seq`` entries, to look at.

        Folded from the first entry on, or from the snapshot where that has been trimmed.

        Raises:
            JournalTrimmed: What came before ``seq`` has been trimmed.
            TypeError: ``seq`` is not an integer.
            ValueError: It lies beyond what has been folded in.
        """
        if not 1 <= count("seq", seq) <= self.fold.seq:
            raise ValueError(
                f"seq must lie in [1, {self.fold.seq}], what this memory has folded in, "
                f"got {seq}"
            )
        try:
            return self._refolded(self._from_rows(), seq)
        except JournalTrimmed:
            past = self._from_snapshot()
            if past is None or past.seq > seq:
                raise
            return self._refolded(past, seq)

    def _append(self, key: str, row: bytes, body: bytes) -> bool:
        self._require_unpurged()
        while True:
            try:
                appended = self.journal.append_and_read(key, row, body, self.fold.seq)
                break
            except JournalTrimmed:
                # Others have gone on, and what lies between is in their snapshot.
                self.fold = self._attached()
                self.sync()
        self._fold(appended.entries)
        self._require_unpurged()
        return appended.new

    def _require_unpurged(self) -> None:
        if self._purged:
            raise JournalRewound(
                f"scope {self.scope!r} was purged at entry {self._purged}: open it anew"
            )

    def _applied(self, fold: F, seq: int, row: bytes) -> F:
        """Returns the fold after one more entry: an empty one after a purge."""
        if row.startswith(_BREAKS) and codec.fields(row, seq)[1] == self.scope:
            purged = row.startswith(_PURGED)
            fold = self._new(None)
            fold.seq = seq
            fold.purged = purged
            return fold
        if fold.purged:
            # Until a new beginning what is written is of nobody's configuration.
            fold.seq = seq
        else:
            fold.apply(seq, row)
        return fold

    def _refolded(self, fold: F, seq: int) -> F:
        if fold.seq > seq:
            raise JournalTrimmed(
                f"entry {seq} has been trimmed, and scope {self.scope!r} begins later",
                fold.seq + 1,
            )
        while fold.seq < seq:
            for number, row in self.journal.read(fold.seq, min(LIMIT, seq - fold.seq)):
                fold = self._applied(fold, number, row)
        return fold

    def _fold(self, entries: list[Entry]) -> None:
        """Folds ``entries`` in, and what is left behind them where they were many."""
        while entries:
            for seq, row in entries:
                try:
                    fold = self._applied(self.fold, seq, row)
                except BaseException:
                    self._recover(seq - 1)
                    raise
                if fold is not self.fold:
                    self.fold = fold
                    if row.startswith(_PURGED):
                        self._purged = seq
                        self._when_purged()
            if len(entries) < LIMIT:
                break
            entries = self.journal.read(self.fold.seq)

    def _recover(self, seq: int) -> None:
        """Makes the fold what it was after entry ``seq``, or later if that is gone."""
        # Should this fail too, what is there is whole, and the next call reads on.
        self.fold = self._new(None)
        try:
            fold = self._from_snapshot()
            if fold is None or fold.seq > seq:
                fold = self._from_rows()
            self.fold = self._refolded(fold, seq)
        except JournalTrimmed:
            self.fold = self._attached()

    def _attached(self) -> F:
        """Returns where to begin: the snapshot, or before the first row of the scope."""
        fold = self._from_snapshot()
        if fold is not None:
            self._snapshot_seq = fold.seq
            return fold
        try:
            return self._from_rows()
        except JournalTrimmed as error:
            raise JournalUnreadable(
                f"the first rows of scope {self.scope!r} have been trimmed, and it has no "
                "snapshot"
            ) from error

    def _from_rows(self) -> F:
        """Returns an empty fold that stands before the first row of the scope.

        Raises:
            JournalTrimmed: That row has been trimmed.
        """
        fold = self._new(None)
        try:
            self.journal.read(0, 1)
        except JournalTrimmed as error:
            # A scope may have begun after the trimming.
            if not self._begins_behind(error.first - 1):
                raise
            fold.seq = error.first - 1
        return fold

    def _begins_behind(self, seq: int) -> bool:
        """Returns whether the first row of the scope behind ``seq`` is its very first."""
        while entries := self.journal.read(seq):
            for seq, row in entries:
                kind, scope = codec.fields(row, seq)[:2]
                if scope == self.scope:
                    return kind in ("configured/1", "purged/1")
        return False

    def _from_snapshot(self) -> F | None:
        found = self.journal.load_snapshot(self._prefix)
        if found is None:
            return None
        seq, blob = found
        start = len(_MAGIC) + _CHECKSUM_BYTES
        checksum, packed = blob[len(_MAGIC) : start], blob[start:]
        if not blob.startswith(_MAGIC) or checksum != _checksum(packed):
            raise JournalUnreadable(
                f"the snapshot of scope {self.scope!r} at entry {seq} is damaged, or of "
                "another release"
            )
        document = json.loads(zlib.decompress(packed))
        if document["fingerprint"] != self._fingerprint:
            raise ConfigurationMismatch(
                f"the snapshot of scope {self.scope!r} belongs to another configuration"
            )
        return self._new(document["fold"])

    def _snapshot(self) -> bytes:
        document = {"fingerprint": self._fingerprint, "fold": self.fold.document()}
        packed = zlib.compress(
            json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 1
        )
        return _MAGIC + _checksum(packed) + packed

    def _key_of(self, discard: Discard) -> str:
        """Returns the journal's key of what the archive lets go of."""
        name = discard.name
        return self.key("record", name) if discard.is_record else name

    def _configure(self, described: Mapping[str, Any]) -> None:
        key = f"configured:{self._prefix}"
        # Who is refused changes nothing.
        self._require_same(key, described)
        # First a place among those whose snapshots hold up trimming, then the entry.
        self.journal.save_snapshot(0, b"", self._prefix)
        if not self._new(None).archive.accounts:
            # A scope that keeps all keeps its rows, whatever others in the journal trim:
            # they are its list of the dead. This reader never moves on.
            self.journal.save_snapshot(0, b"", f"rows:{self._prefix}")
        row = codec.row(codec.Configured(self.scope, self._fingerprint))
        if not self.journal.append(key, row, codec.document(described)):
            self._require_same(key, described)

    def _require_same(self, key: str, described: Mapping[str, Any]) -> None:
        body = self.journal.fetch([key])[0]
        if body is None:
            return
        theirs = codec.mapping(body)
        if fingerprint(theirs) != self._fingerprint:
            raise ConfigurationMismatch(
                f"scope {self.scope!r} of the journal has another configuration: "
                + "; ".join(differences(described, theirs))
            )


def _checksum(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_CHECKSUM_BYTES).digest()


def prefix_of(scope: str) -> str:
    """Returns what begins the names of a scope's keys, and names its reader."""
    # The length makes the prefix of a scope no prefix of another one's.
    return f"{len(scope)}:{scope}:"


def is_begun(journal: Journal, scope: str) -> bool:
    """Returns whether the journal holds a scope of this name."""
    key = f"configured:{prefix_of(utf8('scope', scope))}"
    return journal.fetch([key])[0] is not None


def purge_scope(journal: Journal, scope: str) -> int:
    """Removes a scope from a journal, and leaves the others in it as they are.

    Its records, their texts and its snapshots are gone at once; what is left of it are
    rows of ids and numbers, until the journal is trimmed. Who follows it gets
    ``JournalRewound`` at the next call; who opens it begins anew. To be called while
    nobody writes to the scope: what is written in the same moment may be lost.

    Args:
        journal: Where the scope lives.
        scope: Its name.

    Returns:
        How many records and other keys it had.

    Raises:
        LookupError: The journal holds no such scope; the message names those it holds.
        TypeError: ``scope`` is not a string.
    """
    prefix, dump = prefix_of(utf8("scope", scope)), journal.dump()
    keys = [key for key, _ in dump.bodies if key.partition(":")[2].startswith(prefix)]
    if f"configured:{prefix}" not in keys:
        known = ", ".join(map(repr, configurations(dump))) or "none"
        raise LookupError(f"scope must be one of the journal's, {known}, got {scope!r}")
    # First the word, so that nobody goes on with half of it.
    row = codec.encoded(["purged/1", scope])
    journal.append(f"purged:{prefix}{dump.last}", row, b"")
    journal.discard(keys)
    for reader in (prefix, f"rows:{prefix}"):
        journal.drop_reader(reader)
    return len(keys)


def configurations(dump: Dump) -> dict[str, dict[str, Any]]:
    """Returns the configuration of each scope in a dump, as plain data, by its name."""
    return {
        key.split(":", 2)[2][:-1]: codec.mapping(body)
        for key, body in dump.bodies
        if key.startswith("configured:")
    }
