"""A journal moves from any store to any other, whole and at one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memory.stores.dump import Dump, Snapshot
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Entry, Journal, JournalRewound, JournalTrimmed
from tests.contracts.conftest import Place, placed
from tests.contracts.test_journal import filled


def lived(journal: Journal) -> Journal:
    """Returns a journal that has had readers, was trimmed, and has forgotten bodies."""
    filled(journal, 6)
    journal.save_snapshot(4, b"\x00four\xff")
    journal.save_snapshot(2, b"two", "läggard")
    journal.trim(4)
    journal.save_snapshot(0, b"", "new")
    journal.discard(["k2", "k5"])
    journal.append("käy\n", b"\xff\n", b"")
    return journal


LIVED = Dump(
    2,
    (b"row 3", b"row 4", b"row 5", b"row 6", b"\xff\n"),
    (
        ("k1", b"body 1"),
        ("k3", b"body 3"),
        ("k4", b"body 4"),
        ("k6", b"body 6"),
        ("käy\n", b""),
    ),
    (
        Snapshot("", 4, b"\x00four\xff"),
        Snapshot("läggard", 2, b"two"),
        Snapshot("new", 0, b""),
    ),
)
EMPTY = Dump(0, (), (), ())


@pytest.fixture(params=["in_memory", "sqlite", "redis", "valkey"])
def other(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A second place, at which another kind of store may be."""
    found = placed(request.param, request, "other.db")
    yield found
    found.close()


def test_equal_journals_give_equal_dumps_in_every_store(journal: Journal) -> None:
    assert journal.dump() == EMPTY
    assert lived(journal).dump() == LIVED
    assert journal.dump().last == 7


def test_a_restored_journal_goes_on_as_the_original(place: Place, other: Place) -> None:
    lived(place.open())
    journal, reader = other.open(), other.open()
    journal.restore(place.open().dump())
    assert journal.dump() == reader.dump() == other.open().dump() == LIVED
    for one in (place.open(), journal):
        with pytest.raises(JournalTrimmed, match="entry 2 has been trimmed"):
            one.read(1)
        assert one.read(5) == [Entry(6, b"row 6"), Entry(7, b"\xff\n")]
        assert one.fetch(["k1", "k2", "käy\n"]) == [b"body 1", None, b""]
        assert not one.append("k1", b"other", b"")
        assert one.append("k2", b"row 8", b"new again")
        assert one.load_snapshot("läggard") == (2, b"two")
        assert one.load_snapshot("new") is None
        assert one.trim(4) == 0
        assert one.drop_reader("new")
        one.save_snapshot(3, b"three", "läggard")
        assert one.trim(8) == 1
        assert one.discard(["k2", "k3"]) == 2
    assert place.open().dump() == journal.dump()
    assert len(reader.read(3)) == 5
    assert len(other.open().read(3)) == 5


def test_an_empty_journal_can_be_restored(place: Place) -> None:
    journal = place.open()
    journal.restore(EMPTY)
    assert journal.dump() == EMPTY
    assert journal.append_and_read("a", b"r", b"", 0) == (True, [Entry(1, b"r")])


def test_only_an_empty_journal_takes_a_dump(journal: Journal) -> None:
    journal.save_snapshot(0, b"", "a")
    with pytest.raises(
        ValueError, match=r"empty .* got one of 0 entries and 1 readers"
    ):
        journal.restore(LIVED)
    filled(journal, 3)
    before = journal.dump()
    with pytest.raises(ValueError, match="got one of 3 entries and 1 readers"):
        journal.restore(LIVED)
    assert journal.dump() == before
    journal.discard(["k1", "k2", "k3"])
    journal.save_snapshot(3, b"three", "a")
    journal.trim(3)
    journal.drop_reader("a")
    with pytest.raises(ValueError, match="got one of 3 entries and 0 readers"):
        journal.restore(LIVED)


def test_a_journal_that_was_left_takes_a_dump_as_another_one(lasting: Place) -> None:
    journal, other = lasting.open(), lasting.open()
    for one in (journal, other):
        one.save_snapshot(0, b"", "a")
    assert journal.drop_reader("a")
    journal.restore(LIVED)
    assert journal.read(6) == [Entry(7, b"\xff\n")]
    with pytest.raises(JournalRewound, match="in its place is another one"):
        other.read(0)


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        (LIVED._replace(trimmed=-1), "trimmed must not be negative, got -1"),
        (LIVED._replace(rows=()), "bodies must be at most one per entry, got 5 of 2"),
        (
            LIVED._replace(bodies=(("a", b""), ("a", b""))),
            "bodies must have different keys",
        ),
        (LIVED._replace(snapshots=LIVED.snapshots[:1] * 2), "different readers"),
        (
            LIVED._replace(snapshots=(Snapshot("a", 8, b"s"),)),
            r"snapshots must lie in \[0, 7\], got 8 of reader 'a'",
        ),
    ],
)
def test_what_no_journal_can_have_given_is_refused(
    journal: Journal, dump: Dump, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        journal.restore(dump)
    assert journal.dump() == EMPTY


def test_thousands_of_entries_are_restored(place: Place) -> None:
    rows = tuple(b"row %d" % k for k in range(2_500))
    bodies = {f"k{k}": b"%d" % k for k in range(2_400)} | {"long": b"x" * 5_000_000}
    dump = Dump(
        7, rows, tuple(sorted(bodies.items())), (Snapshot("", 7, b"s" * 5_000_000),)
    )
    place.open().restore(dump)
    journal = place.open()
    assert journal.dump() == dump
    assert journal.append_and_read("new", b"row", b"", 2_507) == (
        True,
        [Entry(2_508, b"row")],
    )


def test_of_many_that_restore_at_once_one_does(lasting: Place) -> None:
    dumps = [
        InMemoryJournal(),
        filled(InMemoryJournal(), 3),
        filled(InMemoryJournal(), 1_500),
        lived(InMemoryJournal()),
    ]
    done: list[Dump] = []
    refused: list[str] = []

    def work(dump: Dump) -> None:
        journal = lasting.open()
        try:
            journal.restore(dump)
        except ValueError as error:
            refused.append(str(error))
        else:
            done.append(dump)

    threads = [
        threading.Thread(target=work, args=(one.dump(),)) for one in dumps[1:] * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert len(refused) == 5
    assert lasting.open().dump() == done[0]
    assert len(lasting.open().read(done[0].trimmed)) == len(done[0].rows)


def test_a_dump_is_of_one_moment(place: Place) -> None:
    writer, reader = place.open(), place.open()
    enough = threading.Event()

    def work() -> None:
        k = 0
        while not enough.is_set():
            k += 1
            writer.append(f"k{k}", b"row %d" % k, b"body %d" % k)
            if k % 10 == 0:
                writer.save_snapshot(k, b"%d" % k)
                writer.discard([f"k{k - 9}"])
                writer.trim(k - 5)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(30):
            require_consistent(reader.dump())
    finally:
        enough.set()
        thread.join()
    require_consistent(writer.dump())


def require_consistent(dump: Dump) -> None:
    InMemoryJournal().restore(dump)
    places = range(dump.trimmed + 1, dump.last + 1)
    assert dump.rows == tuple(b"row %d" % k for k in places)
    # Snapshot, discard and trim are three steps, so one of each may be on its way.
    saved = dump.snapshots[0].seq if dump.snapshots else 0
    assert dump.trimmed in (max(0, saved - 5), max(0, saved - 15))
    assert dump.last - len(dump.bodies) in (saved // 10, max(0, saved // 10 - 1))
