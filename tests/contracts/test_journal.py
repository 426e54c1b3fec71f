"""The contract of every store, run over every store."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from memory.stores.dump import Dump
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Entry, Journal, JournalRewound, JournalTrimmed
from tests.contracts.conftest import Place


def filled(journal: Journal, n: int) -> Journal:
    for k in range(1, n + 1):
        assert journal.append(f"k{k}", b"row %d" % k, b"body %d" % k)
    return journal


def forgetting(journal: Journal, n: int) -> Iterator[int]:
    """Appends ``n`` entries and forgets all but the last 100 of them again and again.

    Yields:
        How many have been appended, after each time of forgetting.
    """
    for k in range(1, n + 1):
        journal.append(f"{k:032x}", b"%10d" % k * 10, b"%10d" % k * 100)
        if k % 100 == 0:
            journal.save_snapshot(k, b"s" * 1_000)
            journal.trim(k)
            journal.discard([f"{j:032x}" for j in range(k - 199, k - 99)])
            yield k


def test_entries_come_back_in_order_counted_from_one(journal: Journal) -> None:
    filled(journal, 5)
    assert journal.read(0) == [Entry(k, b"row %d" % k) for k in range(1, 6)]
    assert journal.read(3) == [Entry(4, b"row 4"), Entry(5, b"row 5")]
    assert journal.read(1, limit=2) == [Entry(2, b"row 2"), Entry(3, b"row 3")]
    assert journal.read(5) == []


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
    if blob:
        journal.save_snapshot(1, blob, key)
        assert journal.load_snapshot(key) == (1, blob)


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
    with pytest.raises(JournalTrimmed, match="entry 3 has been trimmed") as caught:
        journal.read(2)
    assert caught.value.first == 4
    assert journal.read(3) == [Entry(k, b"row %d" % k) for k in (4, 5, 6)]
    assert journal.trim(2) == 0
    assert journal.append("k7", b"row 7", b"")
    assert journal.read(6) == [Entry(7, b"row 7")]
    assert journal.fetch(["k1"]) == [b"body 1"]


def test_rows_that_no_snapshot_covers_are_not_trimmed(journal: Journal) -> None:
    filled(journal, 3)
    assert journal.trim(3) == 0
    journal.save_snapshot(2, b"two")
    assert journal.trim(3) == 2
    assert journal.trim(3) == 0
    assert journal.read(2) == [Entry(3, b"row 3")]


def test_each_reader_has_a_snapshot_of_its_own(journal: Journal) -> None:
    filled(journal, 5)
    journal.save_snapshot(4, b"four")
    journal.save_snapshot(3, b"its three", "a")
    journal.save_snapshot(5, b"its five", "seq:a")
    journal.save_snapshot(2, b"too late", "a")
    assert journal.load_snapshot() == (4, b"four")
    assert journal.load_snapshot("a") == (3, b"its three")
    assert journal.load_snapshot("seq:a") == (5, b"its five")
    assert journal.load_snapshot("b") is None


def test_a_reader_that_lags_keeps_its_rows(journal: Journal) -> None:
    filled(journal, 6)
    journal.save_snapshot(5, b"five", "fast")
    journal.save_snapshot(2, b"two", "slow")
    assert journal.trim(5) == 2
    assert journal.read(2)[0] == Entry(3, b"row 3")
    journal.save_snapshot(4, b"four", "slow")
    assert journal.trim(3) == 1
    assert journal.trim(6) == 1
    assert journal.read(4) == [Entry(5, b"row 5"), Entry(6, b"row 6")]


def test_nothing_is_trimmed_before_an_enrolled_reader_has_a_snapshot(
    journal: Journal,
) -> None:
    journal.save_snapshot(0, b"", "new")
    filled(journal, 4)
    journal.save_snapshot(4, b"four")
    assert journal.load_snapshot("new") is None
    assert journal.trim(4) == 0
    journal.save_snapshot(3, b"three", "new")
    journal.save_snapshot(0, b"", "new")
    assert journal.load_snapshot("new") == (3, b"three")
    assert journal.trim(4) == 3


def test_the_first_snapshot_takes_the_place_of_an_enrolment(journal: Journal) -> None:
    journal.save_snapshot(0, b"", "new")
    journal.save_snapshot(0, b"zero", "new")
    journal.save_snapshot(0, b"again", "new")
    journal.save_snapshot(0, b"", "new")
    assert journal.load_snapshot("new") == (0, b"zero")


def test_who_enrols_in_a_trimmed_journal_keeps_what_is_left(journal: Journal) -> None:
    filled(journal, 4)
    journal.save_snapshot(4, b"four")
    assert journal.trim(2) == 2
    journal.save_snapshot(0, b"", "new")
    assert journal.trim(4) == 0
    assert journal.read(2) == [Entry(3, b"row 3"), Entry(4, b"row 4")]


def test_a_reader_that_is_dropped_holds_nothing_back(journal: Journal) -> None:
    assert not journal.drop_reader("gone")
    filled(journal, 3)
    journal.save_snapshot(3, b"three")
    journal.save_snapshot(1, b"one", "gone")
    assert journal.drop_reader("gone")
    assert not journal.drop_reader("gone")
    assert journal.load_snapshot("gone") is None
    assert journal.load_snapshot() == (3, b"three")
    assert journal.trim(3) == 3
    journal.save_snapshot(3, b"back", "gone")
    assert journal.load_snapshot("gone") == (3, b"back")


@pytest.mark.parametrize("call", ["save_snapshot", "load_snapshot", "drop_reader"])
def test_a_reader_must_be_named_by_text(journal: Journal, call: str) -> None:
    given = (0, b"") if call == "save_snapshot" else ()
    with pytest.raises(TypeError, match="reader must be a string, got None"):
        getattr(journal, call)(*given, None)
    with pytest.raises(ValueError, match="reader must be encodable as UTF-8"):
        getattr(journal, call)(*given, "\ud800")
    assert journal.dump() == Dump(0, (), (), ())


def test_a_discarded_key_is_new_again(journal: Journal) -> None:
    filled(journal, 2)
    assert journal.discard(["k1", "none", "k1"]) == 1
    assert journal.discard(["k1"]) == 0
    assert journal.fetch(["k1", "k2"]) == [None, b"body 2"]
    assert not journal.append("k2", b"again", b"again")
    assert journal.append("k1", b"row 3", b"again")
    assert journal.fetch(["k1"]) == [b"again"]
    assert journal.read(1) == [Entry(2, b"row 2"), Entry(3, b"row 3")]


def test_the_memory_of_a_journal_is_that_of_what_it_keeps() -> None:
    sizes = []
    tracemalloc.start()
    try:
        for n_appended in forgetting(InMemoryJournal(), 20_000):
            if n_appended % 2_000 == 0:
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(sizes) < 1.1 * sizes[0]
    assert sizes[0] < 300_000


def test_discarding_from_an_empty_journal_leaves_it_so(journal: Journal) -> None:
    assert journal.discard(["a", "b"]) == 0
    assert journal.trim(5) == 0
    assert journal.append_and_read("a", b"r", b"", after=0) == (True, [Entry(1, b"r")])


@pytest.mark.parametrize(("after", "limit"), [(-1, 1), (0, 0), (0, -5)])
def test_bad_bounds_are_refused(journal: Journal, after: int, limit: int) -> None:
    with pytest.raises(ValueError, match=r"(after|limit) must"):
        journal.read(after, limit)


def test_many_threads_append_each_key_once(journal: Journal) -> None:
    new: list[bool] = []

    def work(worker: int) -> None:
        for k in range(100):
            new.append(journal.append(f"k{k}", b"%d %d" % (worker, k), b""))

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = journal.read(0)
    assert sum(new) == 100
    assert [entry.seq for entry in entries] == list(range(1, 101))
    keys = {entry.row.split()[1] for entry in entries}
    assert len(keys) == 100


def test_appending_and_reading_are_one_step(journal: Journal) -> None:
    filled(journal, 3)
    new, entries = journal.append_and_read("k4", b"row 4", b"body 4", after=2)
    assert new
    assert entries == [Entry(3, b"row 3"), Entry(4, b"row 4")]
    new, entries = journal.append_and_read("k4", b"other", b"other", after=3)
    assert not new
    assert entries == [Entry(4, b"row 4")]
    new, entries = journal.append_and_read("k5", b"row 5", b"", after=0, limit=2)
    assert new
    assert entries == [Entry(1, b"row 1"), Entry(2, b"row 2")]
    assert journal.fetch(["k4", "k5"]) == [b"body 4", b""]
    assert journal.read(3) == [Entry(4, b"row 4"), Entry(5, b"row 5")]


def test_a_journal_may_begin_with_appending_and_reading(journal: Journal) -> None:
    assert journal.append_and_read("a", b"r", b"", after=0) == (True, [Entry(1, b"r")])


def test_nothing_is_appended_where_the_reading_is_refused(journal: Journal) -> None:
    filled(journal, 4)
    journal.save_snapshot(2, b"two")
    journal.trim(2)
    with pytest.raises(JournalTrimmed, match="entry 2 has been trimmed"):
        journal.append_and_read("k5", b"row 5", b"", after=1)
    with pytest.raises(JournalRewound, match="holds 4 entries where 9 had been read"):
        journal.append_and_read("k5", b"row 5", b"", after=9)
    assert journal.read(4) == []
    assert journal.append("k5", b"row 5", b"")


def test_a_place_beyond_the_end_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalRewound, match="holds 0 entries where 1 had been read"):
        journal.read(1)
    filled(journal, 2)
    assert journal.read(2) == []
    with pytest.raises(JournalRewound, match="holds 2 entries where 3 had been read"):
        journal.read(3)
    with pytest.raises(JournalRewound, match="holds 2 entries where a snapshot covers"):
        journal.save_snapshot(3, b"three")
    assert journal.load_snapshot() is None


def test_the_snapshot_of_nothing_is_one(journal: Journal) -> None:
    journal.save_snapshot(0, b"zero")
    assert journal.load_snapshot() == (0, b"zero")
    filled(journal, 1)
    assert journal.read(0) == [Entry(1, b"row 1")]
    with pytest.raises(ValueError, match="seq must not be negative, got -1"):
        journal.save_snapshot(-1, b"minus")
    with pytest.raises(ValueError, match="blob must not be empty where seq is pos"):
        journal.save_snapshot(1, b"")


def test_a_journal_can_be_trimmed_to_nothing_and_goes_on(journal: Journal) -> None:
    filled(journal, 3)
    journal.save_snapshot(3, b"three")
    assert journal.trim(3) == 3
    assert journal.read(3) == []
    assert journal.append("k4", b"row 4", b"")
    assert journal.read(3) == [Entry(4, b"row 4")]
    with pytest.raises(JournalTrimmed):
        journal.read(0)


def test_a_discarded_empty_body_differs_from_an_empty_one(journal: Journal) -> None:
    journal.append("a", b"", b"")
    journal.append("b", b"", b"-")
    assert journal.fetch(["a", "b"]) == [b"", b"-"]
    assert journal.discard(["a", "b"]) == 2
    assert journal.fetch(["a", "b"]) == [None, None]


def test_thousands_of_bodies_are_fetched_and_discarded(journal: Journal) -> None:
    filled(journal, 5)
    keys = [f"k{k}" for k in range(12_000)]
    found = journal.fetch(keys)
    assert [body for body in found if body is not None] == [
        b"body %d" % k for k in range(1, 6)
    ]
    assert journal.discard(keys) == 5


def test_a_journal_that_was_closed_opens_again(place: Place) -> None:
    with place.open() as journal:
        filled(journal, 2)
    assert len(journal.read(0)) == 2
    journal.close()
    journal.close()
    assert journal.append("k3", b"row 3", b"")


def test_two_store_objects_share_one_journal(place: Place) -> None:
    first, second = place.open(), place.open()
    filled(first, 2)
    assert not second.append("k2", b"other", b"")
    assert second.append("k3", b"row 3", b"body 3")
    assert first.read(2) == [Entry(3, b"row 3")]
    assert first.fetch(["k3"]) == [b"body 3"]
    second.save_snapshot(3, b"three")
    assert first.load_snapshot() == (3, b"three")
    assert first.trim(1) == 1
    assert second.discard(["k1"]) == 1
    with pytest.raises(JournalTrimmed):
        second.read(0)


def test_threads_that_append_and_read_agree_on_the_order(place: Place) -> None:
    journal = place.open()
    read: list[list[Entry]] = [[] for _ in range(4)]

    def work(worker: int) -> None:
        for k in range(50):
            after = len(read[worker])
            new, entries = journal.append_and_read(
                f"{worker} {k}", b"%d" % k, b"", after
            )
            assert new
            read[worker] += entries

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = journal.read(0)
    assert [entry.seq for entry in whole] == list(range(1, 201))
    for entries in read:
        assert entries == whole[: len(entries)]


def test_populations_of_one_store_do_not_meet(lasting: Place) -> None:
    first, second = lasting.open(), lasting.open(f"{lasting.name} 2")
    filled(first, 3)
    first.save_snapshot(2, b"two")
    assert second.read(0) == []
    assert second.fetch(["k1"]) == [None]
    assert second.load_snapshot() is None
    assert second.append("k1", b"its own", b"")
    assert second.discard(["k1"]) == 1
    assert first.fetch(["k1"]) == [b"body 1"]
    assert len(first.read(0)) == 3


def test_a_journal_outlives_its_store_object(lasting: Place) -> None:
    filled(lasting.open(), 3)
    lasting.open().save_snapshot(2, b"two")
    again = lasting.open()
    assert again.load_snapshot() == (2, b"two")
    assert again.read(2) == [Entry(3, b"row 3")]


CALLS: dict[str, Callable[[Journal], object]] = {
    "append": lambda journal: journal.append("new", b"", b""),
    "append_and_read": lambda journal: journal.append_and_read("new", b"", b"", 3),
    "read": lambda journal: journal.read(0),
    "fetch": lambda journal: journal.fetch(["k1"]),
    "save_snapshot": lambda journal: journal.save_snapshot(1, b"one"),
    "load_snapshot": lambda journal: journal.load_snapshot(),
    "drop_reader": lambda journal: journal.drop_reader(""),
    "trim": lambda journal: journal.trim(0),
    "discard": lambda journal: journal.discard(["k1"]),
    "dump": lambda journal: journal.dump(),
    "restore": lambda journal: journal.restore(Dump(0, (b"row",), (), ())),
}


def rewound(lasting: Place, kept: int, read: int, regrown: int) -> Journal:
    """Returns a store object that read on, before its journal went back and grew again."""
    journal = filled(lasting.open(), kept)
    saved = lasting.saved()
    for k in range(kept + 1, read + 1):
        journal.append(f"k{k}", b"row %d" % k, b"")
    assert len(journal.read(0)) == read
    lasting.put_back(saved)
    other = lasting.open()
    for k in range(kept + 1, regrown + 1):
        other.append(f"k{k}", b"another row %d" % k, b"")
    assert len(other.read(0)) == max(kept, regrown)
    return journal


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_journal_that_lost_entries_is_refused(
    lasting: Place, call: Callable[[Journal], object]
) -> None:
    journal = rewound(lasting, kept=3, read=5, regrown=0)
    with pytest.raises(JournalRewound, match="holds 3 entries where 5 had been seen"):
        call(journal)
    assert len(lasting.open().read(0)) == 3


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_journal_that_grew_to_the_same_length_again_is_refused(
    lasting: Place, call: Callable[[Journal], object]
) -> None:
    journal = rewound(lasting, kept=3, read=5, regrown=5)
    with pytest.raises(JournalRewound, match="its 5 entries do not continue the 5"):
        call(journal)
    assert len(lasting.open().read(0)) == 5


def test_a_journal_that_grew_beyond_the_place_again_is_refused(lasting: Place) -> None:
    journal = rewound(lasting, kept=3, read=5, regrown=8)
    with pytest.raises(JournalRewound, match="its 8 entries do not continue the 5"):
        journal.read(5)
    with pytest.raises(JournalRewound, match="its 8 entries do not continue the 5"):
        journal.read(1)


def test_appending_and_reading_notices_a_journal_that_grew_again(
    lasting: Place,
) -> None:
    journal = rewound(lasting, kept=3, read=5, regrown=8)
    with pytest.raises(JournalRewound, match="do not continue the 5"):
        journal.append_and_read("new", b"", b"", after=5)


def test_a_page_that_stops_short_of_the_end_is_checked_by_the_last_one(
    lasting: Place,
) -> None:
    journal = rewound(lasting, kept=3, read=5, regrown=9)
    assert len(journal.read(5, limit=2)) == 2
    with pytest.raises(JournalRewound, match="its 9 entries do not continue the 7"):
        journal.read(7, limit=2)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_another_journal_in_its_place_is_refused(
    lasting: Place, call: Callable[[Journal], object]
) -> None:
    journal = lasting.open()
    saved = lasting.saved()
    filled(journal, 3)
    assert len(journal.read(0)) == 3
    lasting.put_back(saved)
    filled(lasting.open(), 7)
    with pytest.raises(JournalRewound, match=r"3 entries had been seen, .* 7 entries"):
        call(journal)
    assert len(lasting.open().read(0)) == 7


def test_who_only_appends_notices_that_entries_are_lost(lasting: Place) -> None:
    journal = filled(lasting.open(), 2)
    saved = lasting.saved()
    journal.append("k3", b"row 3", b"")
    lasting.put_back(saved)
    with pytest.raises(JournalRewound, match="holds 2 entries where 3 had been seen"):
        journal.append("k4", b"row 4", b"")


def test_a_journal_that_is_put_back_whole_goes_on(lasting: Place) -> None:
    journal = filled(lasting.open(), 3)
    assert len(journal.read(0)) == 3
    lasting.put_back(lasting.saved())
    assert journal.read(3) == []
    assert journal.append("k4", b"row 4", b"")
    assert journal.read(3) == [Entry(4, b"row 4")]


def test_a_row_that_was_changed_is_noticed_by_a_fresh_reader(lasting: Place) -> None:
    filled(lasting.open(), 3)
    lasting.spoil()
    with pytest.raises(JournalRewound, match="its 3 entries do not continue"):
        lasting.open().read(0)


def test_who_starts_from_a_snapshot_is_guarded_from_there(lasting: Place) -> None:
    writer = filled(lasting.open(), 4)
    writer.save_snapshot(4, b"four")
    writer.trim(4)
    reader = lasting.open()
    assert reader.load_snapshot() == (4, b"four")
    assert reader.read(4) == []
    saved = lasting.saved()
    writer.append("k5", b"row 5", b"")
    assert reader.read(4) == [Entry(5, b"row 5")]
    lasting.put_back(saved)
    other = lasting.open()
    other.append("k5", b"another row", b"")
    other.append("k6", b"row 6", b"")
    with pytest.raises(JournalRewound, match="its 6 entries do not continue the 5"):
        reader.read(5)


def test_readers_at_two_places_of_one_store_object_do_not_disturb_each_other(
    lasting: Place,
) -> None:
    journal, writer = lasting.open(), lasting.open()
    filled(writer, 3)
    assert len(journal.read(0, limit=1)) == 1
    assert len(journal.read(0)) == 3
    writer.append("k4", b"row 4", b"")
    assert len(journal.read(1)) == 3
    assert len(journal.read(3)) == 1
    assert len(journal.read(0, limit=2)) == 2
    writer.append("k5", b"row 5", b"")
    assert len(journal.read(2)) == 3
