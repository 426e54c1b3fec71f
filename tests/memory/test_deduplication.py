"""A text that is alive already is recorded and not let in, where that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, Settings, normalised
from memory.retention.keep_living import KeepLiving
from memory.stores.sqlite import SqliteJournal
from memory.texts import text_key
from tests.memory.builds import document, document_of, refolded


def strict(journal: Any = None, **options: Any) -> EvolutionaryMemory:
    return EvolutionaryMemory(Settings(deduplicate=True, **options), journal)


def test_three_hundred_equal_texts_live_once() -> None:
    memory = strict()
    for k in range(300):
        memory.remember("the same", 0.5, id=f"s{k}")
    assert memory.ids == ("s0",)
    assert memory.view().elites.sum() == 1
    assert (memory.n_duplicates, memory.n_remembered) == (299, 1)
    assert memory.duplicates[-1] == ("s299", "s0")


def test_a_duplicate_is_recorded_with_its_score_and_its_parents() -> None:
    memory = strict()
    first = memory.remember("same", 0.5, id="a")
    again = memory.remember("same", 0.9, parent=first, id="b")
    assert memory.get("b") == again
    assert [one.id for one in memory.history()] == ["a", "b"]
    assert memory.lineage().children("a") == ("b",)
    best = memory.best()
    assert best == first
    assert memory.duplicates == (("b", "a"),)


def test_without_the_option_every_text_is_let_in() -> None:
    memory = EvolutionaryMemory()
    for _ in range(3):
        memory.remember("same", 0.5)
    assert len(memory) == 3
    assert (memory.n_duplicates, memory.duplicates) == (0, ())


@pytest.mark.parametrize(
    "text", ["x = 1\n", "x = 1  ", "\n\nx = 1", "x = 1\r\n", "x = 1\t\r", " \nx = 1"]
)
def test_what_nobody_sees_makes_no_other_text(text: str) -> None:
    memory = strict()
    memory.remember("x = 1", 0.5)
    memory.remember(text, 0.5)
    assert len(memory) == 1


@pytest.mark.parametrize("text", ["x = 2", " x = 1", "x =  1", "X = 1", "", "x = 1\ny"])
def test_what_one_can_see_does(text: str) -> None:
    memory = strict()
    memory.remember("x = 1", 0.5)
    memory.remember(text, 0.5)
    assert len(memory) == 2


def test_composed_and_decomposed_characters_are_one_text() -> None:
    assert normalised("e\u0301") == normalised("\u00e9") == "\u00e9"
    assert text_key("e\u0301") == text_key("\u00e9") != text_key("e")


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_to_normalise_twice_is_to_do_it_once(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_the_dead_keep_nobody_out() -> None:
    memory = strict(capacity=2)
    for k, text in enumerate(["a", "b", "c", "a", "c"]):
        memory.remember(text, float(k), id=f"s{k}")
    # The first a has left for c, so the second is no duplicate; the second c is one.
    assert memory.duplicates == (("s4", "s2"),)
    memory.retract("s3", "it cheats")
    memory.remember("a", 0.5, id="s5")
    assert "s5" in memory.ids


def test_a_twin_on_another_island_counts_and_so_does_a_copy() -> None:
    memory = strict(islands=2, migration_interval=2)
    memory.remember("a", 0.9, island=0, id="a")
    memory.remember("a", 0.5, island=1, id="twin")
    assert memory.duplicates == (("twin", "a"),)
    memory.remember("b", 0.1, island=0, id="b")
    assert memory.n_migrations == 1
    # The original leaves, its copy stays.
    for k in range(80):
        memory.remember(f"{k}", 1.0 + k, island=0)
    if "a" in memory.ids:
        memory.remember("a", 2.0, island=0, id="late")
        assert memory.duplicates[-1] == ("late", "a")


def test_duplicates_are_forgotten_like_the_dead() -> None:
    memory = strict(retention=KeepLiving(grace=2))
    memory.remember("a", 0.5, id="a")
    memory.remember("a", 0.5, id="b")
    assert memory.forgotten("b") is None
    memory.remember("c", 0.5)
    memory.remember("d", 0.5)
    assert memory.forgotten("b") is not None
    assert memory.ledger["KeepLiving"].records == 1


@given(
    st.lists(st.sampled_from(["a", "a ", "b", "c\n", "c", "d"]), max_size=40),
    st.integers(1, 4),
    st.integers(1, 3),
)
@settings(deadline=None)
def test_no_two_of_the_living_share_a_text_at_any_time(
    texts: list[str], capacity: int, islands: int
) -> None:
    journal = InMemoryJournal()
    memory = strict(
        journal, capacity=capacity + 2, islands=islands, migration_interval=4
    )
    for k, text in enumerate(texts):
        memory.remember(text, float(k * 7 % 5), island=k % islands)
        living = memory.living()
        assert len({normalised(one.text) for one in living}) == len(living)
        assert memory.n_remembered + memory.n_duplicates == k + 1
    assert document_of(refolded(memory, journal)) == document(memory)


def test_all_duplicates_are_counted_and_the_last_thousand_named(tmp_path: Any) -> None:
    with SqliteJournal(tmp_path / "a.db") as journal:
        memory = strict(journal)
        for _ in range(1_101):
            memory.remember("same", 0.5)
        assert memory.n_duplicates == 1_100
        assert len(memory.duplicates) == 1_000
        memory.compact()
        again = strict(journal)
        assert json.loads(document(again)) == json.loads(document(memory))
