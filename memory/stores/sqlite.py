"""A journal in a SQLite file, shared by the processes of one machine.

The file is in write-ahead mode: readers never wait, writers take turns, and what was
acknowledged survives the death of any process. SQLite keeps its locks per process and
file, so a process holds one connection, its threads take turns, and a fork closes it
first: a connection that two processes hold can destroy the file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from memory.stores import sqlite_file
from memory.stores.dump import Dump, Snapshot, require_empty, require_whole
from memory.stores.journal import (
    Appended,
    Entry,
    JournalRewound,
    PopulationSize,
    require_bounds,
    require_name,
    require_place,
    require_reader,
    require_snapshot,
    require_there,
)
from memory.stores.mark import Mark, State, head_after, link

_STATE = "SELECT id, identity, trimmed, last, head FROM populations WHERE name = ?"
_BEGIN_POPULATION = (
    "INSERT INTO populations (name, identity, trimmed, last, head) "
    "VALUES (?, ?, 0, 0, ?)"
)
_IS_USED = "SELECT 1 FROM keys WHERE population = ? AND key = ?"
_ADD_BODY = "INSERT INTO bodies (body) VALUES (?)"
_ADD_KEY = "INSERT INTO keys (population, key, body) VALUES (?, ?, ?)"
_ADD_ROW = "INSERT INTO rows (population, seq, row) VALUES (?, ?, ?)"
_ADVANCE = "UPDATE populations SET last = ?, head = ? WHERE id = ?"
_READ = (
    "SELECT seq, row FROM rows WHERE population = ? AND seq > ? ORDER BY seq LIMIT ?"
)
_FETCH = (
    "SELECT bodies.body FROM keys JOIN bodies ON bodies.id = keys.body "
    "WHERE population = ? AND key = ?"
)
_SAVE_SNAPSHOT = (
    "INSERT INTO snapshots (population, reader, seq, blob) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (population, reader) "
    "DO UPDATE SET seq = excluded.seq, blob = excluded.blob "
    "WHERE excluded.seq > seq OR (excluded.seq = seq AND length(blob) = 0)"
)
_LOAD_SNAPSHOT = (
    "SELECT seq, blob FROM snapshots "
    "WHERE population = ? AND reader = ? AND length(blob) > 0"
)
_DROP_READER = "DELETE FROM snapshots WHERE population = ? AND reader = ?"
_COVERED = "SELECT coalesce(min(seq), 0) FROM snapshots WHERE population = ?"
_TRIM = "DELETE FROM rows WHERE population = ? AND seq <= ?"
_TRIMMED = "UPDATE populations SET trimmed = max(trimmed, ?) WHERE id = ?"
_FIND_BODY = "SELECT body FROM keys WHERE population = ? AND key = ?"
_DISCARD_BODY = "DELETE FROM bodies WHERE id = ?"
_DISCARD_KEY = "DELETE FROM keys WHERE population = ? AND key = ?"
_DUMP_ROWS = "SELECT row FROM rows WHERE population = ? ORDER BY seq"
_DUMP_BODIES = (
    "SELECT key, bodies.body FROM keys JOIN bodies ON bodies.id = keys.body "
    "WHERE population = ? ORDER BY key"
)
_DUMP_SNAPSHOTS = (
    "SELECT reader, seq, blob FROM snapshots WHERE population = ? ORDER BY reader"
)
_LAST_BODY = "SELECT coalesce(max(id), 0) FROM bodies"
_RESTORE_POPULATION = (
    "UPDATE populations SET identity = ?, trimmed = ?, last = ?, head = ? WHERE id = ?"
)
_RESTORE_BODY = "INSERT INTO bodies (id, body) VALUES (?, ?)"
_SIZES = """
SELECT name, last,
    (SELECT count(*) FROM rows WHERE population = populations.id),
    (SELECT count(*) FROM keys WHERE population = populations.id),
    (SELECT count(*) FROM snapshots WHERE population = populations.id),
    coalesce((SELECT sum(length(row)) FROM rows WHERE population = populations.id), 0)
    + coalesce((SELECT sum(length(key) + length(bodies.body))
                FROM keys JOIN bodies ON bodies.id = keys.body
                WHERE population = populations.id), 0)
    + coalesce((SELECT sum(length(blob)) FROM snapshots
                WHERE population = populations.id), 0)
FROM populations ORDER BY name
"""
_PURGE = (
    "DELETE FROM bodies WHERE id IN (SELECT body FROM keys WHERE population = ?)",
    "DELETE FROM keys WHERE population = ?",
    "DELETE FROM rows WHERE population = ?",
    "DELETE FROM snapshots WHERE population = ?",
    "DELETE FROM populations WHERE id = ?",
)
# Nothing was appended yet: no population has this id.
_NOBODY = 0
# Pages that one trim gives back, so that nobody waits long for a turn.
_PAGES = 1_000


class SqliteJournal:
    """The journal called ``name`` in the SQLite file at ``path``.

    Args:
        path: File, made if missing, in a folder that exists, on a local disk.
        name: Name of the population; workers that give the same name share it.
        synchronous: ``"NORMAL"``: what was acknowledged survives the death of any
            process (SIGKILL), a power loss may take the last moments, and that is then
            noticed as ``JournalRewound``. ``"FULL"``: it survives a power loss too, and
            every append waits for the disk.
        timeout_seconds: How long to wait for one's turn to write.

    Raises:
        JournalUnavailable: The file cannot be opened.
        JournalUnreadable: The file is damaged, or is not ours.
        TypeError: ``path`` or ``name`` has the wrong type.
        ValueError: ``path`` is no path of a file, or another argument is out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str = "main",
        synchronous: str = "NORMAL",
        timeout_seconds: float = 30.0,
    ) -> None:
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._mark = Mark()
        self.name = require_name(name)
        self._file = sqlite_file.SqliteFile(path, synchronous, timeout_seconds)
        self._inode = (0, 0)
        _OPEN.add(self)
        with self._lock:
            self._connected()

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self._file.path)!r}, {self.name!r})"

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """See ``Journal``."""
        with self._lock:
            with self._transaction("IMMEDIATE") as connection:
                id_, state = self._writable(connection)
                new, state = self._added(connection, id_, state, key, row, body)
            # Only the commit makes it true.
            self._mark = self._mark.seeing(state)
        return new

    def append_and_read(
        self, key: str, row: bytes, body: bytes, after: int, limit: int = 10_000
    ) -> Appended:
        """See ``Journal``."""
        require_bounds(after, limit)
        with self._lock:
            with self._transaction("IMMEDIATE") as connection:
                id_, state = self._writable(connection)
                require_place(after, state.trimmed, state.last)
                new, state = self._added(connection, id_, state, key, row, body)
                entries = self._entries(connection, id_, after, limit)
                mark = self._mark.reading(state, after, [row for _, row in entries])
            self._mark = mark
        return Appended(new, entries)

    def read(self, after: int, limit: int = 10_000) -> list[Entry]:
        """See ``Journal``."""
        require_bounds(after, limit)
        with self._transaction("DEFERRED") as connection:
            id_, state = self._standing(connection)
            self._mark.require(state)
            require_place(after, state.trimmed, state.last)
            entries = self._entries(connection, id_, after, limit)
            self._mark = self._mark.reading(state, after, [row for _, row in entries])
        return entries

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """See ``Journal``."""
        with self._transaction("DEFERRED") as connection:
            id_ = self._seen(connection)
            found = [connection.execute(_FETCH, (id_, key)).fetchone() for key in keys]
        return [None if row is None else row[0] for row in found]

    def save_snapshot(self, seq: int, blob: bytes, reader: str = "") -> None:
        """See ``Journal``."""
        require_snapshot(seq, blob, reader)
        with self._lock:
            with self._transaction("IMMEDIATE") as connection:
                id_, state = self._writable(connection)
                require_there(seq, state.last)
                connection.execute(_SAVE_SNAPSHOT, (id_, reader, seq, blob))
            self._mark = self._mark.seeing(state)

    def load_snapshot(self, reader: str = "") -> tuple[int, bytes] | None:
        """See ``Journal``."""
        require_reader(reader)
        with self._transaction("DEFERRED") as connection:
            id_ = self._seen(connection)
            found: tuple[int, bytes] | None = connection.execute(
                _LOAD_SNAPSHOT, (id_, reader)
            ).fetchone()
        return found

    def drop_reader(self, reader: str) -> bool:
        """See ``Journal``."""
        require_reader(reader)
        with self._transaction("IMMEDIATE") as connection:
            id_ = self._seen(connection)
            return connection.execute(_DROP_READER, (id_, reader)).rowcount == 1

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        with self._lock:
            with self._transaction("IMMEDIATE") as connection:
                id_ = self._seen(connection)
                (covered,) = connection.execute(_COVERED, (id_,)).fetchone()
                end = min(seq, covered)
                dropped = connection.execute(_TRIM, (id_, end)).rowcount
                connection.execute(_TRIMMED, (end, id_))
            self._give_back()
        return dropped

    def discard(self, keys: Sequence[str]) -> int:
        """See ``Journal``."""
        with self._transaction("IMMEDIATE") as connection:
            id_ = self._seen(connection)
            discarded = 0
            for key in keys:
                found = connection.execute(_FIND_BODY, (id_, key)).fetchone()
                if found is not None:
                    connection.execute(_DISCARD_BODY, found)
                    connection.execute(_DISCARD_KEY, (id_, key))
                    discarded += 1
        return discarded

    def dump(self) -> Dump:
        """See ``Journal``."""
        with self._transaction("DEFERRED") as connection:
            id_, state = self._standing(connection)
            self._mark = self._mark.seeing(state)
            return Dump(
                state.trimmed,
                tuple(row for (row,) in connection.execute(_DUMP_ROWS, (id_,))),
                tuple(connection.execute(_DUMP_BODIES, (id_,))),
                tuple(
                    Snapshot(*s) for s in connection.execute(_DUMP_SNAPSHOTS, (id_,))
                ),
            )

    def restore(self, dump: Dump) -> None:
        """See ``Journal``."""
        require_whole(dump)
        identity = os.urandom(16).hex()
        state = State(
            identity, dump.trimmed, dump.last, head_after(identity, dump.rows)
        )
        with self._lock:
            with self._transaction("IMMEDIATE") as connection:
                id_, found = self._writable(connection)
                readers = connection.execute(_DUMP_SNAPSHOTS, (id_,)).fetchall()
                require_empty(found.last, len(readers))
                connection.execute(_RESTORE_POPULATION, (*state, id_))
                self._refill(connection, id_, dump)
            self._mark = Mark(identity, dump.last)

    def close(self) -> None:
        """See ``Journal``."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _standing(self, connection: sqlite3.Connection) -> tuple[int, State]:
        """Returns the population's id and where its journal stands."""
        found = connection.execute(_STATE, (self.name,)).fetchone()
        return (_NOBODY, State()) if found is None else (found[0], State(*found[1:]))

    def _seen(self, connection: sqlite3.Connection) -> int:
        """Returns the population's id, having checked that it is the one seen before."""
        id_, state = self._standing(connection)
        self._mark = self._mark.seeing(state)
        return id_

    def _writable(self, connection: sqlite3.Connection) -> tuple[int, State]:
        """Returns the same of a population that is begun if there is none."""
        id_, state = self._standing(connection)
        self._mark.require(state)
        if id_ == _NOBODY:
            identity = os.urandom(16).hex()
            names = (self.name, identity, identity)
            id_ = connection.execute(_BEGIN_POPULATION, names).lastrowid or _NOBODY
            state = State(identity, head=identity)
        return id_, state

    @staticmethod
    def _added(
        connection: sqlite3.Connection,
        id_: int,
        state: State,
        key: str,
        row: bytes,
        body: bytes,
    ) -> tuple[bool, State]:
        """Returns whether the entry is new, and where the journal stands with it."""
        if connection.execute(_IS_USED, (id_, key)).fetchone():
            return False, state
        place = connection.execute(_ADD_BODY, (body,)).lastrowid
        connection.execute(_ADD_KEY, (id_, key, place))
        state = state._replace(last=state.last + 1, head=link(state.head, row))
        connection.execute(_ADD_ROW, (id_, state.last, row))
        connection.execute(_ADVANCE, (state.last, state.head, id_))
        return True, state

    @staticmethod
    def _entries(
        connection: sqlite3.Connection, id_: int, after: int, limit: int
    ) -> list[Entry]:
        return [Entry(*row) for row in connection.execute(_READ, (id_, after, limit))]

    @staticmethod
    def _refill(connection: sqlite3.Connection, id_: int, dump: Dump) -> None:
        """Writes what ``dump`` holds into a population that has nothing."""
        connection.executemany(
            _ADD_ROW,
            ((id_, seq, row) for seq, row in enumerate(dump.rows, dump.trimmed + 1)),
        )
        (before,) = connection.execute(_LAST_BODY).fetchone()
        places = range(before + 1, before + 1 + len(dump.bodies))
        placed = zip(places, dump.bodies, strict=True)
        connection.executemany(_RESTORE_BODY, ((at, body) for at, (_, body) in placed))
        placed = zip(places, dump.bodies, strict=True)
        connection.executemany(_ADD_KEY, ((id_, key, at) for at, (key, _) in placed))
        connection.executemany(_SAVE_SNAPSHOT, ((id_, *s) for s in dump.snapshots))

    def _give_back(self) -> None:
        """Makes the file shorter where most of it is free; the rest is used again."""
        with self._file.errors():
            connection = self._connected()
            (free,) = connection.execute("PRAGMA freelist_count").fetchone()
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if 2 * free > pages:
                # ``execute`` would make one step of it, which gives back one page.
                connection.executescript(f"PRAGMA incremental_vacuum({_PAGES})")

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._file.errors():
            connection = self._connected()
            try:
                connection.execute(f"BEGIN {kind}")
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def _connected(self) -> sqlite3.Connection:
        """Returns the connection, a new one if the file is not the one it was opened on."""
        inode = self._file.inode()
        if self._connection is None or inode != self._inode:
            self.close()
            if inode is None and self._mark.identity:
                raise JournalRewound(
                    f"the journal's file {self._file.path} is gone: {self._mark.seen} "
                    "entries had been seen"
                )
            self._connection = self._file.connection()
            self._inode = self._file.inode() or (0, 0)
        return self._connection


def sizes(path: str | os.PathLike[str]) -> list[PopulationSize]:
    """Returns what each population in the file takes up, by name.

    Raises:
        FileNotFoundError: There is no file at ``path``.
        JournalUnreadable: The file is damaged, or is not ours.
    """
    with _existing(path) as connection:
        return [PopulationSize(*row) for row in connection.execute(_SIZES)]


def purge(path: str | os.PathLike[str], name: str) -> PopulationSize:
    """Removes a population whole and returns what it took up.

    Raises:
        FileNotFoundError: There is no file at ``path``.
        JournalUnreadable: The file is damaged, or is not ours.
        LookupError: The file holds no population called ``name``.
    """
    with _existing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        found = {row[0]: PopulationSize(*row) for row in connection.execute(_SIZES)}
        if name not in found:
            connection.rollback()
            raise LookupError(f"name must name a population, got {name!r}")
        (id_,) = connection.execute(
            "SELECT id FROM populations WHERE name = ?", (name,)
        ).fetchone()
        for statement in _PURGE:
            connection.execute(statement, (id_,))
        connection.commit()
        # ``execute`` makes one step of it, which gives back one page.
        connection.executescript("PRAGMA incremental_vacuum")
        return found[name]


@contextmanager
def _existing(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    file = sqlite_file.SqliteFile(path)
    if file.inode() is None:
        raise FileNotFoundError(f"path must name a file that exists, got {path}")
    with file.errors():
        connection = file.connection()
        try:
            yield connection
        finally:
            connection.close()


_OPEN: weakref.WeakSet[SqliteJournal] = weakref.WeakSet()
_FORKING = threading.Lock()
_PAUSED: list[SqliteJournal] = []


def _pause() -> None:
    """Before a fork: waits for calls under way and closes every connection."""
    _FORKING.acquire()
    _PAUSED.extend(_OPEN)
    for journal in _PAUSED:
        journal._lock.acquire()
        journal.close()


def _resume() -> None:
    """After a fork, in both processes: each opens its own at its next call."""
    for journal in _PAUSED:
        journal._lock.release()
    _PAUSED.clear()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_pause, after_in_parent=_resume, after_in_child=_resume)
