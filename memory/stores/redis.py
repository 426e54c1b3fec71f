"""A journal on a Redis or Valkey server, shared by the workers of many machines.

Rows live in a list, bodies in a hash, and scripts, which a server runs one at a time,
change both together in one round trip. A stream would order the rows as well, but
redis-py parses its nested replies ten times slower than those of a list (47 against 4.6
microseconds a row).

The server decides what survives its own death: ``appendonly yes`` with
``appendfsync always`` keeps all that was acknowledged, ``everysec`` may lose a second,
and that is then noticed as ``JournalRewound``. It must not evict keys.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from memory.stores import redis_client, redis_scripts
from memory.stores.dump import Dump, Snapshot, require_empty, require_whole
from memory.stores.journal import (
    Appended,
    Entry,
    JournalUnavailable,
    JournalUnreadable,
    PopulationSize,
    require_bounds,
    require_name,
    require_place,
    require_reader,
    require_snapshot,
    require_there,
)
from memory.stores.mark import Mark, State, head_after

if TYPE_CHECKING:
    from redis.commands.core import Script

# Keys of one call, so that no script grows beyond what Lua can unpack or others wait for.
_CHUNK = 1_000
# Bytes of one call of a restore, and how long its parts wait for each other.
_CHUNK_BYTES = 4_000_000
_WAIT_SECONDS = 3_600


class RedisJournal:
    """The journal called ``name`` on the server at ``url``.

    Args:
        url: Address of the server: ``redis://``, ``rediss://`` (TLS) or ``unix://``, with
            redis-py's options; a password in it is never shown.
        name: Name of the population; workers that give the same name share it.
        timeout_seconds: How long to wait for a connection and for a reply.
        retries: How often a call is sent again while the server cannot be reached, after
            0.02 seconds, then twice as long each time, up to one second.

    Raises:
        ModuleNotFoundError: redis-py is not installed.
        TypeError: ``url`` or ``name`` is not a string.
        ValueError: ``url`` is no address of a server, or an argument is out of range.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        name: str = "main",
        timeout_seconds: float = 10.0,
        retries: int = 12,
    ) -> None:
        if not 0.0 < timeout_seconds < math.inf:
            raise ValueError(
                f"timeout_seconds must be positive and finite, got {timeout_seconds!r}"
            )
        if retries < 0:
            raise ValueError(f"retries must not be negative, got {retries!r}")
        self.name = require_name(name)
        self._client = redis_client.RedisClient(url, timeout_seconds, retries)
        self._keys = _keys(name)
        self._mark = Mark()
        self._lock = threading.Lock()
        script = self._client.script
        self._append = script(redis_scripts.APPEND)
        self._read = script(redis_scripts.READ)
        self._fetch = script(redis_scripts.FETCH)
        self._save_snapshot = script(redis_scripts.SAVE_SNAPSHOT)
        self._load_snapshot = script(redis_scripts.LOAD_SNAPSHOT)
        self._drop_reader = script(redis_scripts.DROP_READER)
        self._trim = script(redis_scripts.TRIM)
        self._discard = script(redis_scripts.DISCARD)
        self._standing = script(redis_scripts.STANDING)
        self._stage = script(redis_scripts.STAGE)
        self._restore = script(redis_scripts.RESTORE)

    def __repr__(self) -> str:
        return f"RedisJournal({self._client.address!r}, {self.name!r})"

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """See ``Journal``."""
        identity = os.urandom(16).hex()
        _, (new, _) = self._seeing(self._append, identity, 0, 0, key, row, body)
        return bool(new)

    def append_and_read(
        self, key: str, row: bytes, body: bytes, after: int, limit: int = 10_000
    ) -> Appended:
        """See ``Journal``."""
        require_bounds(after, limit)
        identity = os.urandom(16).hex()
        mark = self._mark
        state, result = self._reply(
            mark, self._append, identity, after, limit, key, row, body
        )
        require_place(after, state.trimmed, state.last)
        new, rows = result
        return Appended(bool(new), self._entries(mark, state, after, rows))

    def read(self, after: int, limit: int = 10_000) -> list[Entry]:
        """See ``Journal``."""
        require_bounds(after, limit)
        mark = self._mark
        state, rows = self._reply(mark, self._read, after, limit)
        require_place(after, state.trimmed, state.last)
        return self._entries(mark, state, after, rows)

    def fetch(self, keys: Sequence[str]) -> list[bytes | None]:
        """See ``Journal``."""
        found: list[bytes | None] = []
        for chunk in _chunks(keys):
            found += self._seeing(self._fetch, *chunk)[1]
        return found

    def save_snapshot(self, seq: int, blob: bytes, reader: str = "") -> None:
        """See ``Journal``."""
        require_snapshot(seq, blob, reader)
        identity = os.urandom(16).hex()
        state, _ = self._seeing(self._save_snapshot, identity, seq, blob, reader)
        require_there(seq, state.last)

    def load_snapshot(self, reader: str = "") -> tuple[int, bytes] | None:
        """See ``Journal``."""
        _, (seq, blob) = self._seeing(self._load_snapshot, require_reader(reader))
        return (int(seq), blob) if blob else None

    def drop_reader(self, reader: str) -> bool:
        """See ``Journal``."""
        return bool(self._seeing(self._drop_reader, require_reader(reader))[1])

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        return int(self._seeing(self._trim, seq)[1])

    def discard(self, keys: Sequence[str]) -> int:
        """See ``Journal``."""
        return sum(self._seeing(self._discard, *chunk)[1] for chunk in _chunks(keys))

    def dump(self) -> Dump:
        """See ``Journal``."""
        mark = self._mark
        _, rows, bodies, snapshots = self._keys
        # No script: to hand a million entries to Lua takes a server three times as long.
        reply, kept, found, saved = self._client.together(
            self._standing,
            self._keys,
            mark,
            ("LRANGE", rows, "0", "-1"),
            ("HGETALL", bodies),
            ("HGETALL", snapshots),
        )
        state, _ = self._checked(mark, reply)
        self._keep(mark.seeing(state))
        fields = {field.decode(): value for field, value in saved.items()}
        readers = sorted(field[4:] for field in fields if field.startswith("seq:"))
        return Dump(
            state.trimmed,
            tuple(kept),
            tuple(sorted((key.decode(), body) for key, body in found.items())),
            tuple(
                Snapshot(name, int(fields[f"seq:{name}"]), fields[f"blob:{name}"])
                for name in readers
            ),
        )

    def restore(self, dump: Dump) -> None:
        """See ``Journal``."""
        require_whole(dump)
        identity = os.urandom(16).hex()
        waiting = [f"{key}:{identity}" for key in self._keys[1:3]]
        try:
            for offset, rows, bodies in _parts(dump):
                counts = (offset, _WAIT_SECONDS, len(rows))
                self._filling(
                    waiting, self._stage, identity, *counts, *rows, *_flat(bodies)
                )
            counts = (dump.trimmed, len(dump.rows), len(dump.bodies))
            top = head_after(identity, dump.rows)
            saved = _flat(dump.snapshots)
            self._filling(waiting, self._restore, identity, *counts, top, *saved)
        finally:
            # Where the server is away, they go by themselves.
            with suppress(JournalUnavailable):
                self._client.call("UNLINK", *waiting)
        with self._lock:
            self._mark = Mark(identity, dump.last)

    def close(self) -> None:
        """See ``Journal``."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _seeing(
        self, script: Script, *arguments: str | bytes | int
    ) -> tuple[State, Any]:
        """Runs a script that brings no rows."""
        mark = self._mark
        state, result = self._reply(mark, script, *arguments)
        self._keep(mark.seeing(state))
        return state, result

    def _filling(
        self, waiting: list[str], script: Script, *arguments: str | bytes | int
    ) -> None:
        """Runs a step of a restore, unless the journal is in use."""
        _, (last, n_readers) = self._reply(
            self._mark, script, *arguments, waiting=waiting
        )
        if last < 0:
            raise JournalUnavailable(
                f"{self._client.address}: what was to be restored is gone from the "
                "server before it was whole"
            )
        require_empty(last, n_readers)

    def _reply(
        self,
        mark: Mark,
        script: Script,
        *arguments: str | bytes | int,
        waiting: Sequence[str] = (),
    ) -> tuple[State, Any]:
        """Returns where the journal stands and the script's result, both checked."""
        keys = [*self._keys, *waiting]
        reply = self._client.run(script, keys, [*mark, *arguments])
        return self._checked(mark, reply)

    def _checked(self, mark: Mark, reply: list[Any]) -> tuple[State, Any]:
        """Returns what a reply says, if it is of the journal that was seen.

        The script and this compare with the same mark, taken before the call: other
        threads may move the store's own on while the call is under way.
        """
        format_, identity, trimmed, last, head, n_keys, n_discarded, result = reply
        if format_ not in (b"", redis_scripts.FORMAT):
            raise JournalUnreadable(
                f"the journal {self.name!r} has format {format_!r}, this release reads "
                f"{redis_scripts.FORMAT!r}"
            )
        state = State(identity.decode(), trimmed, last, head.decode())
        mark.require(state)
        if n_keys + n_discarded != last:
            raise JournalUnreadable(
                f"the journal {self.name!r} has {last} entries, {n_discarded} discarded, "
                f"and {n_keys} keys of bodies: the server evicts, or keys were removed"
            )
        return state, result

    def _entries(
        self, mark: Mark, state: State, after: int, rows: list[bytes]
    ) -> list[Entry]:
        self._keep(mark.reading(state, after, rows))
        return [Entry(seq, row) for seq, row in enumerate(rows, start=after + 1)]

    def _keep(self, mark: Mark) -> None:
        """Moves the store's mark on, unless another thread has moved it further."""
        with self._lock:
            kept = self._mark
            read = mark if mark.seq >= kept.seq else kept
            self._mark = Mark(
                mark.identity or kept.identity,
                max(mark.seen, kept.seen),
                read.seq,
                read.head,
            )


def sizes(url: str) -> list[PopulationSize]:
    """Returns what each population on the server takes up, by name.

    Raises:
        JournalUnavailable: The server does not answer.
    """
    client = redis_client.RedisClient(url)
    try:
        names = sorted(map(_name, client.keys(_keys("*")[0])))
        return [_size(client, name) for name in names]
    finally:
        client.close()


def purge(url: str, name: str) -> PopulationSize:
    """Removes a population whole and returns what it took up.

    Raises:
        JournalUnavailable: The server does not answer.
        LookupError: The server holds no population called ``name``.
    """
    client = redis_client.RedisClient(url)
    try:
        size = _size(client, require_name(name))
        # One command: no worker sees a part of it gone.
        if not client.call("UNLINK", *_keys(name)):
            raise LookupError(f"name must name a population, got {name!r}")
        return size
    finally:
        client.close()


def _size(client: redis_client.RedisClient, name: str) -> PopulationSize:
    meta, rows, bodies, snapshots = keys = _keys(name)
    n_rows = cast(int, client.call("LLEN", rows))
    return PopulationSize(
        name,
        entries=int(client.call("HGET", meta, "trimmed") or 0) + n_rows,
        rows=n_rows,
        bodies=client.call("HLEN", bodies),
        readers=client.call("HLEN", snapshots) // 2,
        bytes=sum(client.call("MEMORY USAGE", key) or 0 for key in keys),
    )


def _keys(name: str) -> list[str]:
    """Returns the keys of a population; the braces keep them on one node of a cluster."""
    return [
        f"boltzmem:{{{name}}}:{part}" for part in ("meta", "rows", "bodies", "snapshot")
    ]


def _name(key: bytes) -> str:
    """Returns the name in the key of a population's facts."""
    return key.decode().removeprefix("boltzmem:{").removesuffix("}:meta")


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _CHUNK):
        yield keys[start : start + _CHUNK]


_Value = TypeVar("_Value")


def _flat(records: Iterable[Iterable[str | bytes | int]]) -> list[str | bytes | int]:
    return [value for record in records for value in record]


class _Part(NamedTuple):
    """What one call of a restore sends; ``offset`` rows were sent before."""

    offset: int
    rows: list[bytes]
    bodies: list[tuple[str, bytes]]


def _parts(dump: Dump) -> Iterator[_Part]:
    """Yields the rows of ``dump``, then its bodies, in parts that a server can take."""
    offset = 0
    for rows in _sized(dump.rows, len):
        yield _Part(offset, rows, [])
        offset += len(rows)
    for bodies in _sized(dump.bodies, lambda one: len(one[1])):
        yield _Part(offset, [], bodies)


def _sized(
    values: Iterable[_Value], size: Callable[[_Value], int]
) -> Iterator[list[_Value]]:
    """Yields ``values`` in lists of bounded length and, but for the last one, size."""
    part: list[_Value] = []
    n_bytes = 0
    for value in values:
        part.append(value)
        n_bytes += size(value)
        if len(part) == _CHUNK or n_bytes >= _CHUNK_BYTES:
            yield part
            part, n_bytes = [], 0
    if part:
        yield part
