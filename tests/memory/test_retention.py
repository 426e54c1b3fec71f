"""What is forgotten is what the rule says, everywhere, with a ledger, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import (
    EvolutionaryMemory,
    InMemoryJournal,
    Journal,
    JournalTrimmed,
    JournalUnavailable,
    JournalUnreadable,
    Settings,
    codec,
    list_populations,
)
from memory.retention.keep_all import KeepAll
from memory.retention.keep_living import KeepLiving
from memory.retention.max_age import MaxAge
from memory.retention.max_bytes import MaxBytes
from tests.contracts.conftest import Place
from tests.memory.builds import document, grow

RULES = [
    KeepAll(),
    KeepLiving(),
    KeepLiving(grace=5),
    MaxAge(age=9.0),
    MaxAge(age=9.0, unit="time"),
    MaxBytes(n_bytes=2_000),
]


@pytest.fixture
def at_once() -> Iterator[None]:
    """Compaction lets go of all that is forgotten, and the ledger names few."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memory.following.GRACE_ENTRIES", 0)
        patched.setattr("memory.archive.LEDGER_NAMES", 100)
        yield


def opened(
    journal: Journal, rule: Any = None, stream: str = "main", **options: Any
) -> EvolutionaryMemory:
    interval = options.pop("compact_interval", None)
    configuration = Settings(
        capacity=options.pop("capacity", 5), retention=rule or KeepLiving(), **options
    )
    return EvolutionaryMemory(
        configuration, journal, stream=stream, compact_interval=interval
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_each_rule_forgets_what_it_says_on_each_store(place: Place, rule: Any) -> None:
    memory = opened(place.open(), rule)
    made = []
    for k in range(60):
        if k % 9 == 8:
            made.append(memory.remember_failure("broken", f"{k}", time=float(k)))
        else:
            made.append(memory.remember(f"text {k}", float(k % 13), time=float(k)))
        kept = {one.id for one in memory.history()}
        assert set(memory.ids) <= kept
        dead = [one for one in made if one.id in kept and one.id not in memory.ids]
        if rule == KeepAll():
            assert len(kept) == len(made)
        elif rule == KeepLiving():
            assert dead == []
        elif rule == MaxAge(age=9.0, unit="time"):
            # In the order of death: who died later waits for those before.
            waiting = memory._population.archive.kept
            assert not waiting or k - memory.get(waiting[0]).time <= 9.0
        elif rule == MaxBytes(n_bytes=2_000):
            assert memory.kept_bytes <= 2_000
        else:
            assert len(dead) <= 10
    kept = {one.id for one in memory.history()}
    forgotten = [one for one in made if one.id not in kept]
    total = memory.ledger.get(type(rule).__name__, None)
    if total is None:
        assert (rule, memory.ledger, forgotten) == (KeepAll(), {}, [])
        return
    assert total.records == len(forgotten) > 20
    assert total.n_bytes == sum(len(codec.body(one)) for one in forgotten)
    assert memory.kept_bytes == sum(len(codec.body(one)) for one in memory.history())
    for one in forgotten:
        line = memory.forgotten(one.id)
        assert line is not None
        assert (line.reason, line.n_bytes) == (
            type(rule).__name__,
            len(codec.body(one)),
        )
        with pytest.raises(KeyError, match=f"which {type(rule).__name__} forgot"):
            memory.get(one.id)


def sizes(place: Place, journal: Any) -> tuple[int, int, int]:
    """Returns rows, bodies and bytes."""
    if isinstance(journal, InMemoryJournal):
        dump = journal.dump()
        n_bytes = sum(map(len, dump.rows)) + sum(len(body) for _, body in dump.bodies)
        return len(dump.rows), len(dump.bodies), n_bytes
    found = next(p for p in list_populations(place.url) if p.name == place.name)
    return found.rows, found.bodies, found.bytes


@pytest.mark.usefixtures("at_once")
def test_a_hundred_living_take_the_same_room_after_any_number_of_adds(
    place: Place,
) -> None:
    journal = place.open()
    memory = opened(journal, capacity=100, compact_interval=400)
    found = []
    for k in range(4_800):
        solution = memory.remember(f"{k:06d}" * 20, float(k * 7919 % 4_801))
        if k % 10 == 0:
            memory.repeat(solution.id, float(k), "once more")
        if k % 1_600 == 1_599:
            memory.compact()
            found.append(sizes(place, journal))
    (rows, bodies, n_bytes), last = found[0], found[-1]
    assert rows <= 410
    assert 101 <= bodies <= 100 + 410
    assert last[0] <= rows + 10
    assert last[1] <= bodies + 10
    assert last[2] <= 1.2 * n_bytes
    assert memory.ledger["KeepLiving"].records == 4_700
    assert len(memory.living()) == 100


def test_a_reader_behind_what_was_trimmed_goes_on_with_the_same_population(
    place: Place,
) -> None:
    writer = opened(place.open(), stream="writer")
    grow(writer, 30)
    reader = opened(place.open(), stream="reader")
    lagging = opened(place.open(), stream="lagging")
    grow(writer, 1_300, start=30)
    assert writer.compact() > 200
    with pytest.raises(JournalTrimmed):
        place.open().read(reader.seq)
    reader.sync()
    lagging.remember("one more", 0.3)
    for memory in (writer, reader):
        memory.sync()
        assert document(memory) == document(lagging)
    assert reader.history() == writer.history() == lagging.history()
    fresh = opened(place.open(), stream="fresh")
    assert fresh.digest() == writer.digest()


@pytest.mark.usefixtures("at_once")
def test_workers_that_compact_all_the_time_lose_nobody(place: Place) -> None:
    workers = [
        opened(place.open(), stream=f"{k}", compact_interval=7 + k, capacity=8)
        for k in range(3)
    ]
    for k in range(240):
        worker = workers[k * k % 3]
        if k % 50 == 49 and len(worker):
            worker.retract(worker.living()[0].id, "it cheats")
        parent = worker.select() if len(worker) else None
        worker.remember(f"{k}", float(k % 19), parent=parent)
        assert len(worker.living()) == len(worker)
    for worker in workers:
        worker.sync()
        assert document(worker) == document(workers[0])
    assert workers[0].ledger["KeepLiving"].records > 200


@given(
    st.sampled_from(RULES[1:]),
    st.lists(st.integers(0, 9), min_size=1, max_size=60),
    st.integers(1, 4),
    st.booleans(),
)
@settings(deadline=None, max_examples=80)
@pytest.mark.usefixtures("at_once")
def test_the_living_can_be_read_after_any_compaction(
    rule: Any, made: list[int], capacity: int, islands: bool
) -> None:
    journal = InMemoryJournal()
    apart = {"islands": 2, "migration_interval": 2} if islands else {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memory.following.GRACE_ENTRIES", 0)
        memory = opened(journal, rule, capacity=capacity + 1, **apart)
        for k, number in enumerate(made):
            memory.remember(f"{k}", float(number), time=float(k), id=f"s{k}")
            if number == 3:
                memory.compact()
            if number == 5:
                memory.repeat(memory.ids[0], 1.0)
        memory.compact()
        fresh = opened(journal, rule, "fresh", capacity=capacity + 1, **apart)
        living = dict.fromkeys(fresh.ids)
        assert [fresh.get(id_).id for id_ in living] == list(living)
        assert {one.id for one in fresh.history()} >= set(living)
        memory.sync()
        assert document(fresh) == document(memory)
        held = {
            key.removeprefix("record:0::")
            for key, _ in journal.dump().bodies
            if key.startswith("record")
        }
        kept = {one.id for one in memory.history()}
        assert held >= kept
        # The entry that records a compaction may be the one that has others forgotten.
        lines = [memory.forgotten(id_) for id_ in held - kept]
        compacted = memory._population.archive.compacted
        assert all(line is not None and line.seq >= compacted for line in lines)


def test_a_scope_begun_after_the_trimming_is_whole(place: Place) -> None:
    journal = place.open()
    old = opened(journal, stream="old")
    grow(old, 1_200)
    assert old.compact() > 0
    late = EvolutionaryMemory(
        Settings(capacity=4), place.open(), scope="late", compact_interval=None
    )
    start = late.seq
    parents = []
    for k in range(12):
        parents.append(late.select() if len(late) else None)
        late.remember(f"{k}", float(k * 5 % 12), parent=parents[-1], id=f"s{k}")
    assert [one.id for one in late.history()] == [f"s{k}" for k in range(12)]
    assert late.past(start + 3).ids() == ("s0", "s1", "s2")
    drawn = parents[5]
    assert drawn is not None
    assert late.redraw(drawn.draw).id == drawn.id
    with pytest.raises(JournalTrimmed, match="has been trimmed"):
        late.past(100)
    again = EvolutionaryMemory(
        Settings(capacity=4), place.open(), scope="late", stream="again"
    )
    assert document(again) == document(late)
    late.compact()
    assert late.past(start + 3).ids() == ("s0", "s1", "s2")


def test_a_scope_that_has_lost_its_beginning_is_refused_not_begun_anew() -> None:
    journal = InMemoryJournal()
    memory = opened(journal)
    grow(memory, 30)
    assert journal.drop_reader("0::")
    other = EvolutionaryMemory(
        Settings(retention=KeepLiving()), journal, scope="other", compact_interval=None
    )
    grow(other, 1_100)
    assert other.compact() > 0
    with pytest.raises(
        JournalUnreadable, match="the first rows of scope '' have been t"
    ):
        opened(journal, stream="fresh")


def test_the_past_reaches_back_to_what_was_trimmed_and_no_further() -> None:
    journal = InMemoryJournal()
    memory = opened(journal, capacity=30)
    grow(memory, 1_200)
    early = memory.select()
    memory.compact()
    grow(memory, 10, start=1_200)
    late = memory.select()
    grow(memory, 3, start=1_210)
    again = memory.redraw(late.draw)
    assert (again.id, again.step.u) == (late.id, late.step.u)
    with pytest.raises(JournalTrimmed, match="entry 1 has been trimmed"):
        memory.past(100)
    with pytest.raises(JournalTrimmed, match="entry 1 has been trimmed"):
        memory.redraw(early.draw)
    assert memory.past(memory.seq).digest() == memory.digest()


def test_a_draw_of_a_parent_that_was_forgotten_says_which_rule_forgot_it() -> None:
    memory = opened(InMemoryJournal(), capacity=1)
    memory.remember("a", 0.5, id="a")
    parent = memory.select()
    memory.remember("b", 0.9, parent=parent)
    with pytest.raises(KeyError, match="got 'a', which KeepLiving forgot"):
        memory.redraw(parent.draw)


def test_the_best_that_is_forgotten_makes_room_for_the_best_of_the_living() -> None:
    memory = opened(InMemoryJournal(), KeepLiving(grace=3), capacity=2)
    for k in range(3):
        memory.remember(f"{k}", float(k), id=f"s{k}")
    memory.rescore("s0", 99.0, "the unit was wrong")
    best = memory.best()
    assert best is not None
    assert best.id == "s0"
    for k in range(4):
        memory.remember_failure("broken", f"{k}")
    assert memory.forgotten("s0") is not None
    best = memory.best()
    assert best is not None
    assert best.id == "s2"


def test_a_late_word_on_what_is_forgotten_changes_nothing() -> None:
    journal = InMemoryJournal()
    first = opened(journal, KeepLiving(), "first", capacity=1)
    first.remember("a", 0.5, id="a")
    second = opened(journal, KeepLiving(), "second", capacity=1)
    first.remember("b", 0.9, id="b")
    # The second one has not heard that a is dead and forgotten.
    second.rescore("a", 5.0, "the unit was wrong")
    with pytest.raises(KeyError, match="which KeepLiving forgot"):
        second.rescore("a", 6.0, "the unit was wrong")
    first.sync()
    assert first.best() == second.best() == first.get("b")
    assert document(first) == document(second)


@pytest.mark.usefixtures("at_once")
def test_amendments_go_with_what_they_amend() -> None:
    journal = InMemoryJournal()
    memory = opened(journal, capacity=1)
    memory.remember("a", 0.5, id="a")
    for k in range(20):
        memory.repeat("a", k / 10)
    assert len(memory.amendments("a")) == 20
    memory.remember("b", 5.0, id="b")
    memory.compact()
    left = [key.split(":")[0] for key, _ in journal.dump().bodies]
    assert sorted(left) == ["compacted", "configured", "record"]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("died", [False, True])
def test_an_id_that_a_worker_behind_uses_again_is_alive_for_all(died: bool) -> None:
    journal = InMemoryJournal()
    first = opened(journal, stream="first", capacity=1)
    first.remember("first", 0.1, id="a")
    behind = opened(journal, stream="behind", capacity=1)
    first.remember("better", 0.5)
    if died:
        # The compaction died after it had discarded, before it could say so.
        journal.discard(["record:0::a"])
    else:
        first.compact()
    behind.remember("second", 9.0, id="a")
    first.sync()
    for memory in (first, behind):
        assert memory.ids == ("a",)
        assert memory.forgotten("a") is None
        memory.compact()
    first.sync()
    fresh = opened(journal, stream="fresh", capacity=1)
    assert fresh.get("a").text == "second"
    assert fresh.forgotten("a") is None
    assert document(fresh) == document(first)


@pytest.mark.usefixtures("at_once")
def test_an_id_in_use_again_beyond_the_ledger_keeps_its_new_body() -> None:
    journal = InMemoryJournal()
    memory = opened(journal, capacity=1)
    memory.remember("first", 0.1, id="a")
    for k in range(120):
        memory.remember(f"{k}", 1.0 + k)
    memory.compact()
    assert memory.forgotten("a") is None
    memory.remember("second", 900.0, id="a")
    memory.remember_failure("broken", "no")
    memory.compact()
    fresh = opened(journal, stream="fresh", capacity=1)
    assert fresh.get("a").text == "second"


def test_what_is_sent_again_soon_after_it_was_forgotten_is_the_same() -> None:
    memory = opened(InMemoryJournal(), capacity=1)
    solution = memory.remember("a", 0.5, id="a")
    memory.remember("b", 0.9, id="b")
    memory.compact()
    seq = memory.seq
    assert memory.record(solution) == solution
    assert (memory.seq, memory.ids) == (seq, ("b",))


class Refusing(InMemoryJournal):
    """A journal that cannot take a snapshot of anything for now."""

    refuses = False

    def save_snapshot(self, seq: int, blob: bytes, reader: str = "") -> None:
        if self.refuses and seq:
            raise JournalUnavailable("the server is busy")
        super().save_snapshot(seq, blob, reader)


def test_an_add_succeeds_where_the_compaction_after_it_does_not() -> None:
    journal = Refusing()
    memory = opened(journal, compact_interval=10)
    journal.refuses = True
    grow(memory, 30)
    assert memory.seq == 31
    with pytest.raises(JournalUnavailable):
        memory.compact()
    journal.refuses = False
    grow(memory, 1, start=30)
    assert journal.load_snapshot("0::") is not None


@pytest.mark.parametrize("interval", [0, -1, 1.5, "often"])
def test_an_interval_of_compaction_is_a_number_of_entries(interval: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="compact_interval must be"):
        opened(InMemoryJournal(), compact_interval=interval)


def test_a_population_that_keeps_all_takes_snapshots_and_trims_nothing() -> None:
    journal = InMemoryJournal()
    memory = opened(journal, KeepAll(), compact_interval=100)
    grow(memory, 1_500)
    assert len(journal.dump().rows) == memory.seq == 1_501
    found = journal.load_snapshot("0::")
    assert found is not None
    assert found[0] > 1_400
    assert len(memory.history()) == 1_500
