"""Scopes share a journal and nothing else: no text, id, draw, correction or forgetting."""

from __future__ import annotations

import math
from typing import Any

import pytest

from memory import (
    ConfigurationMismatch,
    EvolutionaryMemory,
    InMemoryJournal,
    JournalRewound,
    Settings,
    Solution,
    configurations,
    purge_scope,
)
from memory.retention.keep_living import KeepLiving
from tests.contracts.conftest import Place
from tests.memory.builds import document, grow

NAMES = ["", "a", "a:", "b", "1:a", "a:b", "record", "configured:", "ä 雪"]


def test_no_call_of_a_scope_returns_anything_of_another() -> None:
    journal = InMemoryJournal()
    scopes = {name: EvolutionaryMemory(journal=journal, scope=name) for name in NAMES}
    for k in range(3):
        for name, memory in scopes.items():
            memory.remember(f"{name} {k}", float(k), id=f"s{k}")
    for memory in scopes.values():
        memory.sync()
    for name, memory in scopes.items():
        assert memory.ids == ("s0", "s1", "s2")
        own = [f"{name} {k}" for k in range(3)]
        assert [one.text for one in memory.history()] == own
        assert {memory.select().text for _ in range(30)} <= set(own)
        assert {one.scope for one in memory.living()} == {name}
        assert memory.get("s1").text == own[1]
        assert list(memory.lineage()) == ["s0", "s1", "s2"]


def test_a_correction_stays_in_its_scope() -> None:
    journal = InMemoryJournal()
    mine = EvolutionaryMemory(journal=journal, scope="mine")
    theirs = EvolutionaryMemory(journal=journal, scope="theirs")
    for memory in (mine, theirs):
        memory.remember("x", 0.5, id="x")
    mine.retract("x", "it cheats")
    theirs.sync()
    assert (mine.ids, theirs.ids) == ((), ("x",))
    assert theirs.amendments("x") == ()
    with pytest.raises(ValueError, match="got 'x', which is retracted"):
        mine.repeat("x", 0.5)
    assert theirs.repeat("x", 0.7).n == 2


def test_a_solution_of_another_scope_is_no_record_and_no_parent() -> None:
    journal = InMemoryJournal()
    mine = EvolutionaryMemory(journal=journal, scope="mine")
    theirs = EvolutionaryMemory(journal=journal, scope="theirs")
    foreign = theirs.remember("x", 0.5, id="x")
    with pytest.raises(ValueError, match="scope must be 'mine', this memory's own"):
        mine.record(foreign)
    with pytest.raises(
        ValueError, match=r"parent must be of scope .mine., this memory"
    ):
        mine.remember("y", 0.5, parent=foreign)
    with pytest.raises(KeyError, match="id must name a solution, got 'x'"):
        mine.get("x")


def test_scopes_may_differ_in_all_their_settings() -> None:
    journal = InMemoryJournal()
    mine = EvolutionaryMemory(Settings(capacity=2), journal, scope="mine", seed=1)
    theirs = EvolutionaryMemory(
        Settings(islands=3, migration_interval=2), journal, scope="theirs", seed=2
    )
    for k in range(10):
        mine.remember(f"{k}", float(k))
        theirs.remember(f"{k}", float(k))
    assert (len(mine), theirs.n_migrations) == (2, 5)


def test_the_entries_of_others_change_no_draw_but_its_place() -> None:
    alone = EvolutionaryMemory(scope="mine", seed=5)
    grow(alone, 40)
    journal = InMemoryJournal()
    beside = EvolutionaryMemory(journal=journal, scope="mine", seed=5)
    other = EvolutionaryMemory(journal=journal, scope="other", seed=5)
    drawn: list[list[float]] = []
    for memory in (alone, beside):
        if memory is beside:
            for k in range(40):
                grow(beside, 1, start=k)
                other.remember(f"{k}", math.sin(k))
        drawn.append([memory.select(decision=k).step.u for k in range(20)])
    assert drawn[0] == drawn[1]


def test_what_one_scope_forgets_the_other_keeps(place: Place) -> None:
    journal = place.open()
    forgetful = EvolutionaryMemory(
        Settings(capacity=3, retention=KeepLiving()), journal, scope="forgetful"
    )
    faithful = EvolutionaryMemory(Settings(capacity=3), journal, scope="faithful")
    for k in range(1_200):
        forgetful.remember(f"{k}", float(k % 50), id=f"s{k}")
        if k < 40:
            faithful.remember(f"{k}", float(k), id=f"s{k}")
    faithful.sync()
    for memory in (forgetful, faithful, forgetful):
        memory.compact()
    assert len(faithful.history()) == 40
    assert faithful.get("s0").text == "0"
    assert len(forgetful.history()) < 30
    with pytest.raises(KeyError, match="which KeepLiving forgot"):
        forgetful.get("s0")
    again = EvolutionaryMemory(
        Settings(capacity=3), place.open(), scope="faithful", stream="again"
    )
    again.sync()
    assert [one.id for one in again.history()] == [f"s{k}" for k in range(40)]
    assert again.past(5).seq == 5
    faithful.sync()
    assert document(again) == document(faithful)


@pytest.mark.parametrize("id_", ["@x", "@record:5:other:x", "record:5:other:x"])
def test_no_id_reaches_into_another_scope_when_it_is_forgotten(id_: str) -> None:
    journal = InMemoryJournal()
    other = EvolutionaryMemory(journal=journal, scope="other")
    other.remember("treasure", 1.0, id="x")
    thief = EvolutionaryMemory(
        Settings(capacity=1, retention=KeepLiving()), journal, scope="thief"
    )
    thief.remember("bait", 0.0, id=id_)
    thief.remember("better", 1.0)
    for k in range(1_001):
        thief.remember_failure("broken", f"{k}")
    thief.compact()
    assert journal.fetch([f"record:5:thief:{id_}"]) == [None]
    fresh = EvolutionaryMemory(journal=journal, scope="other", stream="fresh")
    assert fresh.get("x").text == "treasure"


@pytest.mark.parametrize("scope", [None, 3, "\ud800"])
def test_a_scope_is_a_text(scope: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="scope must be"):
        EvolutionaryMemory(scope=scope)
    with pytest.raises((TypeError, ValueError), match="scope must be"):
        Solution(id="a", text="a", score=0.5, scope=scope)


def test_a_purged_scope_is_gone_and_the_others_go_on(place: Place) -> None:
    journal = place.open()
    mine = EvolutionaryMemory(Settings(capacity=7), journal, scope="mine")
    theirs = EvolutionaryMemory(journal=journal, scope="theirs")
    for k in range(20):
        mine.remember(f"mine {k}", float(k), id=f"m{k}")
        theirs.remember(f"theirs {k}", float(k), id=f"t{k}")
    mine.compact()
    assert purge_scope(journal, "mine") == 21
    assert not any("mine " in body.decode() for _, body in journal.dump().bodies)
    for call in (mine.sync, lambda: mine.remember("lost", 1.0), mine.sync):
        with pytest.raises(JournalRewound, match="scope 'mine' was purged at entry"):
            call()
    with pytest.raises(KeyError, match="id must name a solution, got 'm3'"):
        mine.get("m3")
    before = [one.id for one in theirs.living()]
    theirs.sync()
    assert [one.id for one in theirs.living()] == before
    # Under the same name something else may begin, and go on.
    again = EvolutionaryMemory(Settings(capacity=3), journal, scope="mine")
    assert len(again) == 0
    again.remember("new", 1.0, id="m0")
    reopened = EvolutionaryMemory(Settings(capacity=3), journal, scope="mine")
    assert reopened.ids == ("m0",)
    assert reopened.digest() == again.digest()
    assert reopened.past(reopened.seq).ids() == ("m0",)


def test_a_scope_that_is_not_there_cannot_be_purged() -> None:
    journal = InMemoryJournal()
    EvolutionaryMemory(journal=journal, scope="a:b")
    with pytest.raises(LookupError, match="one of the journal's, 'a:b', got 'a'"):
        purge_scope(journal, "a")
    assert configurations(journal.dump())["a:b"]["seed"] == [0]


def test_a_join_that_is_refused_holds_nothing_up() -> None:
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(
        Settings(capacity=5, retention=KeepLiving()), journal, compact_interval=100
    )
    readers = [snapshot.reader for snapshot in journal.dump().snapshots]
    with pytest.raises(ConfigurationMismatch, match=r"settings\.capacity: 100 here, 5"):
        EvolutionaryMemory(None, journal)
    assert [snapshot.reader for snapshot in journal.dump().snapshots] == readers
    for k in range(2_500):
        memory.remember(f"{k}", float(k))
    assert len(journal.dump().rows) < 1_200


def test_two_scopes_of_one_journal_make_no_two_records_of_one_id() -> None:
    journal = InMemoryJournal()
    one, two = (EvolutionaryMemory(journal=journal, scope=name) for name in "ab")
    ids = [memory.remember("x", 1.0).id for memory in (one, two) for _ in range(5)]
    assert len(set(ids)) == 10


def test_what_a_stale_writer_leaves_in_a_purged_scope_is_nobodys() -> None:
    journal = InMemoryJournal()
    old = EvolutionaryMemory(Settings(islands=4), journal)
    old.remember("first", 1.0, island=0)
    purge_scope(journal, "")
    with pytest.raises(JournalRewound):
        old.remember("late", 1.0, island=3)
    new = EvolutionaryMemory(Settings(islands=1), journal)
    assert len(new) == 0
    new.remember("new", 1.0)
    assert len(EvolutionaryMemory(Settings(islands=1), journal)) == 1
