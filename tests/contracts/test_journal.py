"""The contract of every store, run over every store."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from memory import Entry, InMemoryJournal, Journal, JournalTrimmed

STORES: dict[str, Callable[[], Journal]] = {"in_memory": InMemoryJournal}


@pytest.fixture(params=sorted(STORES))
def journal(request: pytest.FixtureRequest) -> Journal:
    return STORES[request.param]()


def filled(journal: Journal, n: int) -> Journal:
    for k in range(1, n + 1):
        assert journal.append(f"k{k}", b"row %d" % k, b"body %d" % k)
    return journal


def test_entries_come_back_in_order_counted_from_one(journal: Journal) -> None:
    filled(journal, 5)
    assert journal.read(0) == [Entry(k, b"row %d" % k) for k in range(1, 6)]
    assert journal.read(3) == [Entry(4, b"row 4"), Entry(5, b"row 5")]
    assert journal.read(1, limit=2) == [Entry(2, b"row 2"), Entry(3, b"row 3")]
    assert journal.read(5) == []
    assert journal.read(99) == []


def test_an_empty_journal_has_nothing(journal: Journal) -> None:
    assert journal.read(0) == []
    assert journal.fetch(["a"]) == [None]
    assert journal.load_snapshot() is None


def test_a_repeated_key_changes_nothing(journal: Journal) -> None:
    filled(journal, 2)
    assert not journal.append("k1", b"other", b"other")
    assert journal.read(0) == [Entry(1, b"row 1"), Entry(2, b"row 2")]
    assert journal.fetch(["k1"]) == [b"body 1"]


def test_bodies_are_fetched_by_key_in_the_order_asked(journal: Journal) -> None:
    filled(journal, 3)
    assert journal.fetch(["k3", "none", "k1", "k3"]) == [
        b"body 3",
        None,
        b"body 1",
        b"body 3",
    ]
    assert journal.fetch([]) == []


@pytest.mark.parametrize("blob", [b"", b"\x00\xff\n", "snö 雪".encode(), b"x" * 10**6])
def test_any_bytes_survive(journal: Journal, blob: bytes) -> None:
    key = "käy:\n 雪"
    assert journal.append(key, blob, blob)
    assert journal.read(0) == [Entry(1, blob)]
    assert journal.fetch([key]) == [blob]
    journal.save_snapshot(1, blob)
    assert journal.load_snapshot() == (1, blob)


def test_only_a_later_snapshot_replaces_one(journal: Journal) -> None:
    filled(journal, 9)
    journal.save_snapshot(5, b"five")
    journal.save_snapshot(4, b"four")
    journal.save_snapshot(5, b"again")
    assert journal.load_snapshot() == (5, b"five")
    journal.save_snapshot(6, b"six")
    assert journal.load_snapshot() == (6, b"six")


def test_trimmed_rows_are_refused_and_never_renumbered(journal: Journal) -> None:
    filled(journal, 6)
    journal.save_snapshot(4, b"four")
    assert journal.trim(3) == 3
    with pytest.raises(JournalTrimmed, match="entry 3 has been trimmed"):
        journal.read(2)
    assert journal.read(3) == [Entry(k, b"row %d" % k) for k in (4, 5, 6)]
    assert journal.trim(2) == 0
    assert journal.append("k7", b"row 7", b"")
    assert journal.read(6) == [Entry(7, b"row 7")]
    assert journal.fetch(["k1"]) == [b"body 1"]


def test_rows_that_no_snapshot_covers_are_not_trimmed(journal: Journal) -> None:
    filled(journal, 3)
    with pytest.raises(
        ValueError, match="seq must be covered by a snapshot, got 3 > 0"
    ):
        journal.trim(3)
    journal.save_snapshot(2, b"two")
    with pytest.raises(ValueError, match="got 3 > 2"):
        journal.trim(3)
    assert len(journal.read(0)) == 3


def test_a_discarded_body_is_gone_and_its_key_stays_used(journal: Journal) -> None:
    filled(journal, 2)
    assert journal.discard(["k1", "none", "k1"]) == 1
    assert journal.discard(["k1"]) == 0
    assert journal.fetch(["k1", "k2"]) == [None, b"body 2"]
    assert not journal.append("k1", b"again", b"again")
    assert len(journal.read(0)) == 2


@pytest.mark.parametrize(("after", "limit"), [(-1, 1), (0, 0), (0, -5)])
def test_bad_bounds_are_refused(journal: Journal, after: int, limit: int) -> None:
    with pytest.raises(ValueError, match=r"(after|limit) must"):
        journal.read(after, limit)


def test_many_threads_append_each_key_once(journal: Journal) -> None:
    new: list[bool] = []

    def work(worker: int) -> None:
        for k in range(200):
            new.append(journal.append(f"k{k}", b"%d %d" % (worker, k), b""))

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = journal.read(0)
    assert sum(new) == 200
    assert [entry.seq for entry in entries] == list(range(1, 201))
    keys = {entry.row.split()[1] for entry in entries}
    assert len(keys) == 200
