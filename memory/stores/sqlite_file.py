"""The file of ``SqliteJournal``: its schema, how it is opened and what is refused."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from memory.stores.journal import JournalUnavailable, JournalUnreadable

VERSION = 1
# "bolt" in ASCII: what tells our files from other people's.
_APPLICATION = 0x626F6C74
# Bodies have a table of their own, in order of arrival, so that those which are discarded
# together leave whole pages free.
_SCHEMA = (
    "CREATE TABLE schema_version (version INTEGER NOT NULL)",
    "CREATE TABLE populations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "identity TEXT NOT NULL, trimmed INTEGER NOT NULL, last INTEGER NOT NULL, "
    "head TEXT NOT NULL)",
    "CREATE TABLE rows (population INTEGER NOT NULL, seq INTEGER NOT NULL, "
    "row BLOB NOT NULL, PRIMARY KEY (population, seq)) WITHOUT ROWID",
    "CREATE TABLE keys (population INTEGER NOT NULL, key TEXT NOT NULL, "
    "body INTEGER NOT NULL, PRIMARY KEY (population, key)) WITHOUT ROWID",
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE snapshots (population INTEGER NOT NULL, reader TEXT NOT NULL, "
    "seq INTEGER NOT NULL, blob BLOB NOT NULL, PRIMARY KEY (population, reader))",
    f"INSERT INTO schema_version VALUES ({VERSION})",
    f"PRAGMA application_id = {_APPLICATION}",
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteFile:
    """A SQLite file that holds journals.

    Args:
        path: File, made if missing, in a folder that exists.
        synchronous: ``"NORMAL"`` or ``"FULL"``.
        timeout_seconds: How long to wait for one's turn to write.

    Raises:
        TypeError: ``path`` is no path.
        ValueError: ``path`` is empty, names a folder or lies in none, or another
            argument is out of range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        synchronous: str = "NORMAL",
        timeout_seconds: float = 30.0,
    ) -> None:
        if synchronous not in ("NORMAL", "FULL"):
            raise ValueError(f"synchronous must be NORMAL or FULL, got {synchronous!r}")
        if not 0.0 < timeout_seconds < math.inf:
            raise ValueError(
                f"timeout_seconds must be positive and finite, got {timeout_seconds!r}"
            )
        self.path = _checked(path)
        self.synchronous = synchronous
        self.timeout_seconds = timeout_seconds

    def inode(self) -> tuple[int, int] | None:
        """Returns what tells this file from another under its name; ``None`` if gone."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def connection(self) -> sqlite3.Connection:
        """Returns a new connection to the file, made ready for journals.

        Raises:
            JournalUnavailable: The file cannot be opened or written.
            JournalUnreadable: The file is damaged, or is not ours.
        """
        with self.errors():
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}",
                uri=True,
                timeout=self.timeout_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Says the file with what SQLite complains of, in the words of the contract."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # The low byte is the kind, the rest its details.
            kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if kind in _DAMAGED:
                raise JournalUnreadable(
                    f"{self.path} is damaged or no SQLite file: {error}"
                ) from error
            raise JournalUnavailable(f"{self.path}: {error}") from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # A foreign file is refused before anything is written into it.
        fresh = self._is_fresh(connection)
        if fresh:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {self.synchronous}")
        if fresh:
            self._create(connection)
        (version,) = connection.execute("SELECT version FROM schema_version").fetchone()
        if version != VERSION:
            raise JournalUnreadable(
                f"{self.path} holds journals of version {version}, this release reads "
                f"version {VERSION}"
            )

    def _is_fresh(self, connection: sqlite3.Connection) -> bool:
        # In this order: another process may make the file ours between the two.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application == _APPLICATION:
            return False
        if application or tables:
            raise JournalUnreadable(
                f"{self.path} is a SQLite file of another program: it has {tables} "
                f"tables and indices, and application_id {application}"
            )
        return True

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have been faster.
        if self._is_fresh(connection):
            for statement in _SCHEMA:
                connection.execute(statement)
        connection.commit()

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self.timeout_seconds
        while True:
            try:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                # Where two processes make a file, SQLite does not wait by itself.
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        if mode != "wal":
            raise JournalUnavailable(
                f"{self.path} cannot be written ahead (mode {mode!r}): put it on a "
                "local disk"
            )


def _checked(path: object) -> Path:
    """Returns ``path``, absolute, so that it means the same after a change of folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a path of a file, got {path!r}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"path must be a path of text, got {path!r}")
    if not text or text == ":memory:" or "\0" in text:
        raise ValueError(f"path must name a file, got {text!r}")
    absolute = Path(text).absolute()
    if absolute.is_dir():
        raise ValueError(f"path must name a file, got the folder {text!r}")
    if not absolute.parent.is_dir():
        raise ValueError(f"path must lie in a folder that exists, got {text!r}")
    return absolute
