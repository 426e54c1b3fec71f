"""Stores by address: ``memory:``, ``sqlite:///file``, ``redis://server``.

What is shared by whom follows from the address; nothing else of the library depends on
it. An address may carry a password, so no message quotes one.
"""

from __future__ import annotations

from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Journal, PopulationSize, require_name

_FORMS = "memory:, sqlite:///file, redis://, rediss:// or unix://"
_REDIS = ("redis", "rediss", "unix")


def open_journal(url: str, name: str = "main") -> Journal:
    """Returns the journal of the population ``name`` in the store at ``url``.

    Args:
        url: ``memory:`` (a new one, of this process alone), ``sqlite:///relative.db``,
            ``sqlite:////absolute.db`` (``?synchronous=FULL`` behind it survives a loss of
            power: see ``SqliteJournal``), ``redis://host:6379/0``, ``rediss://`` (TLS) or
            ``unix:///path/of/socket``.
        name: Name of the population; workers that give the same name share it.

    Raises:
        JournalUnavailable: The store cannot be opened.
        JournalUnreadable: The file is damaged, or is not ours.
        ModuleNotFoundError: A server is asked for and redis-py is not installed.
        TypeError: An argument is not a string.
        ValueError: ``url`` has another form, or ``name`` is empty.
    """
    kind, place = _parsed(url)
    if kind == "memory":
        require_name(name)
        return InMemoryJournal()
    # Each store is imported by those who use it.
    if kind == "sqlite":
        from memory.stores.sqlite import SqliteJournal

        path, _, query = place.partition("?")
        key, _, value = query.partition("=")
        if query and key != "synchronous":
            raise ValueError("url must have no option but synchronous, got another one")
        return SqliteJournal(path, name, value or "NORMAL")
    from memory.stores.redis import RedisJournal

    return RedisJournal(place, name)


def list_populations(url: str) -> list[PopulationSize]:
    """Returns what each population of the store at ``url`` takes up, by name.

    Raises:
        FileNotFoundError: There is no file at ``url``.
        JournalUnavailable: The store cannot be opened.
        JournalUnreadable: The file is damaged, or is not ours.
        ValueError: ``url`` names no store that outlives a process.
    """
    kind, place = _lasting(url)
    if kind == "sqlite":
        from memory.stores import sqlite

        return sqlite.sizes(place.partition("?")[0])
    from memory.stores import redis

    return redis.sizes(place)


def purge(url: str, name: str) -> PopulationSize:
    """Removes a population whole, without asking, and returns what it took up.

    Its other workers get ``JournalRewound`` at their next call.

    Raises:
        FileNotFoundError: There is no file at ``url``.
        JournalUnavailable: The store cannot be opened.
        JournalUnreadable: The file is damaged, or is not ours.
        LookupError: The store holds no population called ``name``.
        ValueError: ``url`` names no store that outlives a process.
    """
    kind, place = _lasting(url)
    if kind == "sqlite":
        from memory.stores import sqlite

        return sqlite.purge(place.partition("?")[0], name)
    from memory.stores import redis

    return redis.purge(place, name)


def _parsed(url: object) -> tuple[str, str]:
    """Returns the kind of store, and the address or path that it is opened with."""
    if not isinstance(url, str):
        raise TypeError(f"url must be a string, got a {type(url).__name__}")
    scheme, colon, rest = url.partition(":")
    if not colon:
        raise ValueError(f"url must be {_FORMS}, got one without a scheme")
    if scheme == "memory" and not rest:
        return "memory", ""
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
        return "sqlite", rest.removeprefix("///")
    if scheme in _REDIS and rest.startswith("//"):
        return "redis", url
    raise ValueError(f"url must be {_FORMS}, got another one")


def _lasting(url: object) -> tuple[str, str]:
    kind, place = _parsed(url)
    if kind == "memory":
        raise ValueError("url must name a store that outlives a process, got 'memory:'")
    return kind, place
