"""Many processes share one population, and some of them die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memory
from memory import codec
from memory.stores.urls import open_journal
from tests import servers
from tests.contracts.conftest import killable
from tests.integration.population_worker import attached, settings

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("population_worker.py")


class Worker:
    """A process that adds ``n_adds`` solutions to the population at ``url``."""

    def __init__(self, url: str, index: int, n_adds: int, folder: Path) -> None:
        self._file = folder / f"{index}.acknowledged"
        arguments = (url, "shared", str(index), str(n_adds), str(self._file))
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(WORKER), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def acknowledged(self) -> list[str]:
        """Returns the ids of what ``remember`` has returned; a torn last one is none."""
        if not self._file.exists():
            return []
        return [line for line in self._file.read_text().split() if len(line) == 32]

    def wait_for(self, n_adds: int) -> None:
        deadline = time.monotonic() + 60.0
        while len(self.acknowledged()) < n_adds:
            assert self._process.poll() is None, "the worker has ended"
            assert time.monotonic() < deadline, "the worker is stuck"
            time.sleep(0.005)

    def kill(self) -> None:
        self.end()
        assert self._process.returncode == -9

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def done(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "done\n"

    def account(self) -> dict[str, object]:
        """Lets the worker read on to the end, and returns what it has got."""
        out, _ = self._process.communicate("end\n", timeout=60)
        assert self._process.returncode == 0
        found: dict[str, object] = json.loads(out)
        return found


Hire = Callable[[str, int, int], Worker]


@pytest.fixture
def hire(tmp_path: Path) -> Iterator[Hire]:
    """Starts workers, none of which outlives its test."""
    crew: list[Worker] = []

    def hired(url: str, index: int, n_adds: int) -> Worker:
        crew.append(Worker(url, index, n_adds, tmp_path))
        return crew[-1]

    yield hired
    for worker in crew:
        if worker.is_alive():
            worker.end()


def remembered(url: str) -> list[str]:
    """Returns the ids in the journal, in order, having checked that it has no gap."""
    with open_journal(url, "shared") as journal:
        entries = journal.read(0)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    events = [codec.event(entry.row) for entry in entries]
    assert isinstance(events[0], codec.Configured)
    ids = []
    for event in events[1:]:
        assert isinstance(event, codec.Remembered)
        ids.append(event.id)
    assert len(set(ids)) == len(ids)
    return ids


@pytest.fixture
def durable() -> Iterator[servers.Server]:
    yield from killable(servers.DURABLE)


@pytest.fixture
def server() -> Iterator[servers.Server]:
    yield from killable(servers.VOLATILE)


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'population.db'}"
    server: servers.Server = request.getfixturevalue("server")
    return server.url


def test_eight_workers_of_which_four_are_killed_share_one_population(
    url: str, hire: Hire
) -> None:
    rng = memory.KeyedRandom("kills").generator("initial", 0)
    # The victims would go on for longer than they live.
    victims = [hire(url, index, 10**6) for index in range(4)]
    survivors = [hire(url, index, 500) for index in range(4, 8)]
    workers = [*victims, *survivors]
    moments = sorted((20 + int(400 * rng.random()), k) for k in range(len(victims)))
    for moment, k in moments:
        victims[k].wait_for(moment)
        victims[k].kill()
    for worker in survivors:
        worker.done()
    accounts = [worker.account() for worker in survivors]

    ids = remembered(url)
    acknowledged = {id_ for worker in workers for id_ in worker.acknowledged()}
    assert acknowledged <= set(ids)
    # A victim may have died between its append and its hearing of it.
    assert 0 <= len(ids) - len(acknowledged) <= len(victims)
    for worker in survivors:
        assert len(worker.acknowledged()) == 500
    assert all(len(worker.acknowledged()) >= 20 for worker in victims)

    # All have died by now.
    reader = attached(url, "shared", "reader")
    expected = {"seq": len(ids) + 1, "digest": reader.digest()}
    assert accounts == [expected] * len(survivors)
    assert all(reader.get(id_).text for id_ in ids)


def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(
    durable: servers.Server, hire: Hire
) -> None:
    server = durable
    workers = [hire(server.url, index, 120) for index in range(4)]
    for moment in (30, 80):
        workers[0].wait_for(moment)
        server.kill()
        time.sleep(0.1)
        server.start()
    for worker in workers:
        worker.done()
    accounts = [worker.account() for worker in workers]
    server.kill()
    server.start()
    ids = remembered(server.url)
    assert sorted(ids) == sorted(
        id_ for worker in workers for id_ in worker.acknowledged()
    )
    assert len(ids) == 4 * 120
    reader = attached(server.url, "shared", "reader")
    assert accounts == [{"seq": 481, "digest": reader.digest()}] * 4


def test_a_worker_with_other_settings_or_another_seed_is_refused(url: str) -> None:
    first = attached(url, "shared", "first")
    first.remember("a", 1.0)
    with pytest.raises(memory.ConfigurationMismatch, match="capacity"):
        memory.EvolutionaryMemory(
            settings(capacity=51), open_journal(url, "shared"), seed=7, stream="second"
        )
    with pytest.raises(memory.ConfigurationMismatch, match="seed"):
        memory.EvolutionaryMemory(
            settings(), open_journal(url, "shared"), seed=8, stream="second"
        )
    assert attached(url, "shared", "second").digest() == first.digest()
    assert attached(url, "other", "second").digest() != first.digest()


def test_the_same_calls_on_every_store_make_the_same_population(url: str) -> None:
    made = []
    for place in ("memory:", url):
        population = attached(place, "shared", "only")
        for k in range(60):
            parent = population.select() if k else None
            population.remember(f"text {k % 7} {k}", k % 13 / 3.0, parent=parent)
        made.append((population.digest(), population.ids, population.select().id))
    assert made[0] == made[1]
