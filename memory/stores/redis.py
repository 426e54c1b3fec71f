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
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

from memory.stores import redis_client
from memory.stores.journal import (
    Appended,
    Entry,
    JournalUnreadable,
    PopulationSize,
    require_bounds,
    require_covered,
    require_name,
    require_place,
    require_snapshot,
)
from memory.stores.mark import Mark, State

if TYPE_CHECKING:
    from redis.commands.core import Script

FORMAT = b"1"
# Keys of one call, so that no script grows beyond what Lua can unpack or others wait for.
_CHUNK = 1_000

# Every script begins with this. It replies where the journal stands, and goes on only if
# that continues what the caller has seen: identity, number of entries, and the head if
# there are no more of them. One key of the bodies belongs to every entry, for ever.
_PRELUDE = """
local meta = redis.call('HMGET', KEYS[1], 'format', 'identity', 'trimmed', 'head')
local format, identity, head = meta[1] or '', meta[2] or '', meta[4] or ''
local trimmed = tonumber(meta[3] or '0')
local last = trimmed + redis.call('LLEN', KEYS[2])
local keys = redis.call('HLEN', KEYS[3])
local seen, seq = tonumber(ARGV[2]), tonumber(ARGV[3])
local sound = (format == '' or format == '1') and keys == last
    and (ARGV[1] == '' or (ARGV[1] == identity and last >= seen))
    and (ARGV[4] == '' or last ~= seq or ARGV[4] == head)
local function reply(result)
    return {format, identity, trimmed, last, head, keys, result}
end
if not sound then return reply(false) end
"""

_BEGIN = """
if identity == '' then
    identity, head = ARGV[5], ARGV[5]
    redis.call('HSET', KEYS[1], 'format', '1', 'identity', identity, 'trimmed', 0,
        'head', head)
end
"""

# After: identity, after, limit (zero: read nothing), key, row, body.
_APPEND = f"""{_PRELUDE}
local after, limit = tonumber(ARGV[6]), tonumber(ARGV[7])
if limit > 0 and (after > last or after < trimmed) then return reply(false) end
{_BEGIN}
local new = redis.call('HSETNX', KEYS[3], ARGV[8], ARGV[10])
if new == 1 then
    last, keys = redis.call('RPUSH', KEYS[2], ARGV[9]) + trimmed, keys + 1
    head = redis.sha1hex(head .. ARGV[9])
    redis.call('HSET', KEYS[1], 'head', head)
end
local rows = {{}}
if limit > 0 then
    local start = after - trimmed
    rows = redis.call('LRANGE', KEYS[2], start, start + limit - 1)
end
return reply({{new, rows}})
"""

_READ = f"""{_PRELUDE}
local start = tonumber(ARGV[5]) - trimmed
if start < 0 or start > last - trimmed then return reply(false) end
return reply(redis.call('LRANGE', KEYS[2], start, start + ARGV[6] - 1))
"""

_FETCH = f"""{_PRELUDE}
return reply(redis.call('HMGET', KEYS[3], unpack(ARGV, 5)))
"""

_SAVE_SNAPSHOT = f"""{_PRELUDE}
local seq = tonumber(ARGV[6])
if seq > last then return reply(false) end
{_BEGIN}
if seq > tonumber(redis.call('HGET', KEYS[4], 'seq') or '-1') then
    redis.call('HSET', KEYS[4], 'seq', seq, 'blob', ARGV[7])
end
return reply(1)
"""

_LOAD_SNAPSHOT = f"""{_PRELUDE}
return reply(redis.call('HMGET', KEYS[4], 'seq', 'blob'))
"""

_TRIM = f"""{_PRELUDE}
local seq = tonumber(ARGV[5])
local covered = tonumber(redis.call('HGET', KEYS[4], 'seq') or '0')
local dropped = 0
if seq <= covered and seq > trimmed then
    dropped = seq - trimmed
    redis.call('LTRIM', KEYS[2], dropped, -1)
    redis.call('HSET', KEYS[1], 'trimmed', seq)
end
return reply({{covered, dropped}})
"""

# A body is stored behind a plus; a minus keeps the key of one that was discarded.
_DISCARD = f"""{_PRELUDE}
local discarded = 0
for i = 5, #ARGV do
    local body = redis.call('HGET', KEYS[3], ARGV[i])
    if body and body ~= '-' then
        redis.call('HSET', KEYS[3], ARGV[i], '-')
        discarded = discarded + 1
    end
end
redis.call('HINCRBY', KEYS[1], 'discarded', discarded)
return reply(discarded)
"""


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
        self._append = script(_APPEND)
        self._read = script(_READ)
        self._fetch = script(_FETCH)
        self._save_snapshot = script(_SAVE_SNAPSHOT)
        self._load_snapshot = script(_LOAD_SNAPSHOT)
        self._trim = script(_TRIM)
        self._discard = script(_DISCARD)

    def __repr__(self) -> str:
        return f"RedisJournal({self._client.address!r}, {self.name!r})"

    def append(self, key: str, row: bytes, body: bytes) -> bool:
        """See ``Journal``."""
        identity = os.urandom(16).hex()
        _, (new, _) = self._seeing(self._append, identity, 0, 0, key, row, b"+" + body)
        return bool(new)

    def append_and_read(
        self, key: str, row: bytes, body: bytes, after: int, limit: int = 10_000
    ) -> Appended:
        """See ``Journal``."""
        require_bounds(after, limit)
        identity = os.urandom(16).hex()
        mark = self._mark
        state, result = self._reply(
            mark, self._append, identity, after, limit, key, row, b"+" + body
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
        return [body[1:] if body and body != b"-" else None for body in found]

    def save_snapshot(self, seq: int, blob: bytes) -> None:
        """See ``Journal``."""
        require_snapshot(seq, seq)
        identity = os.urandom(16).hex()
        state, _ = self._seeing(self._save_snapshot, identity, seq, blob)
        require_snapshot(seq, state.last)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """See ``Journal``."""
        _, (seq, blob) = self._seeing(self._load_snapshot)
        return None if seq is None else (int(seq), blob)

    def trim(self, seq: int) -> int:
        """See ``Journal``."""
        _, (covered, dropped) = self._seeing(self._trim, seq)
        require_covered(seq, covered)
        return int(dropped)

    def discard(self, keys: Sequence[str]) -> int:
        """See ``Journal``."""
        return sum(self._seeing(self._discard, *chunk)[1] for chunk in _chunks(keys))

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

    def _reply(
        self, mark: Mark, script: Script, *arguments: str | bytes | int
    ) -> tuple[State, Any]:
        """Returns where the journal stands and the script's result, both checked.

        The script and this compare with the same mark, taken before the call: other
        threads may move the store's own on while the call is under way.
        """
        reply = self._client.run(script, self._keys, [*mark, *arguments])
        format_, identity, trimmed, last, head, n_keys, result = reply
        if format_ not in (b"", FORMAT):
            raise JournalUnreadable(
                f"the journal {self.name!r} has format {format_!r}, this release reads "
                f"{FORMAT!r}"
            )
        state = State(identity.decode(), trimmed, last, head.decode())
        mark.require(state)
        if n_keys != last:
            raise JournalUnreadable(
                f"the journal {self.name!r} has {last} entries and {n_keys} keys of "
                "bodies: the server evicts, or keys were removed"
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
    meta, rows, bodies, _ = keys = _keys(name)
    trimmed, discarded = client.call("HMGET", meta, "trimmed", "discarded")
    n_rows = cast(int, client.call("LLEN", rows))
    n_bodies = cast(int, client.call("HLEN", bodies))
    return PopulationSize(
        name,
        entries=int(trimmed or 0) + n_rows,
        rows=n_rows,
        bodies=n_bodies - int(discarded or 0),
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
