"""Lineage reads both ways, across islands, evictions, tombstones and forgetting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, Lineage, Settings, Solution
from memory.retention.keep_living import KeepLiving


def family(**options: Any) -> EvolutionaryMemory:
    """Returns two roots, two children of the first, and a grandchild of both roots."""
    memory = EvolutionaryMemory(Settings(**options), compact_interval=None)
    n = memory.settings.islands
    root = memory.remember("root", 0.9, id="root", island=0)
    other = memory.remember("other", 0.8, id="other", island=n - 1)
    first = memory.remember("first", 0.0, parent=root, id="first", island=n // 2)
    memory.remember_failure("second", "broken", parent=root, id="second")
    memory.remember(
        "grandchild", 0.1, parent=first, other_parents=[other], id="grandchild"
    )
    return memory


@pytest.mark.parametrize(
    "options", [{}, {"islands": 3}, {"capacity": 1}, {"capacity": 3, "islands": 3}]
)
def test_it_is_whole_whatever_the_islands_and_whoever_has_left(
    options: dict[str, Any],
) -> None:
    lineage = family(**options).lineage()
    assert list(lineage) == ["root", "other", "first", "second", "grandchild"]
    assert lineage.parents("grandchild") == ("first", "other")
    assert lineage.children("root") == ("first", "second")
    assert lineage.ancestors("grandchild") == ("first", "other", "root")
    assert lineage.descendants("root") == ("first", "second", "grandchild")
    assert lineage.siblings("first") == ("second",)
    assert lineage.siblings("grandchild") == lineage.siblings("root") == ()
    assert lineage.edges() == [
        ("root", "first"),
        ("root", "second"),
        ("first", "grandchild"),
        ("other", "grandchild"),
    ]


def test_generations_are_counted_from_the_nearest() -> None:
    memory = EvolutionaryMemory()
    parent = None
    for k in range(6):
        parent = memory.remember(f"{k}", 0.5, parent=parent, id=f"g{k}")
    lineage = memory.lineage()
    assert lineage.ancestors("g5", 4) == ("g4", "g3", "g2", "g1")
    assert lineage.ancestors("g5", 0) == ()
    assert lineage.ancestors("g2", 99) == lineage.ancestors("g2") == ("g1", "g0")
    assert lineage.descendants("g0", 2) == ("g1", "g2")
    with pytest.raises(ValueError, match="generations must not be negative, got -1"):
        lineage.ancestors("g5", -1)
    with pytest.raises(KeyError, match="id must name a solution of the lineage"):
        lineage.descendants("x")


def test_a_tombstone_keeps_its_place() -> None:
    memory = family()
    memory.retract("first", "it cheats")
    memory.supersede("other", "root", "worse")
    assert memory.lineage().ancestors("grandchild") == ("first", "other", "root")
    assert len(memory.lineage()) == 5


def test_parents_that_were_forgotten_are_named_still() -> None:
    journal = InMemoryJournal()
    configuration = Settings(capacity=1, retention=KeepLiving())
    memory = EvolutionaryMemory(configuration, journal)
    parent = None
    for k in range(4):
        parent = memory.remember(f"{k}", float(k), parent=parent, id=f"g{k}")
        memory.lineage()
    for k in range(1_001):
        memory.remember_failure("broken", f"{k}")
    assert memory.compact() > 0
    fresh = EvolutionaryMemory(configuration, journal, stream="fresh").lineage()
    assert list(fresh) == ["g3"]
    assert fresh.ancestors("g3") == fresh.parents("g3") == ("g2",)
    assert fresh.children("g2") == ("g3",)
    # Who has read along remembers more.
    assert memory.lineage().ancestors("g3") == ("g2", "g1", "g0")


def test_a_child_may_name_a_parent_that_was_forgotten() -> None:
    memory = EvolutionaryMemory(Settings(capacity=1, retention=KeepLiving()))
    parent = memory.remember("a", 0.5, id="a")
    memory.remember("b", 0.9, id="b")
    for k in range(1_001):
        memory.remember_failure("broken", f"{k}")
    memory.compact()
    assert memory.forgotten("a") is not None
    memory.remember("c", 1.0, parent=parent, id="c")
    assert memory.lineage().parents("c") == ("a",)
    assert memory.lineage().children("a") == ("c",)


@pytest.mark.parametrize("options", [{}, {"retention": KeepLiving()}])
def test_a_parent_that_nobody_knows_is_refused(options: dict[str, Any]) -> None:
    memory = EvolutionaryMemory(Settings(**options))
    stranger = Solution(id="stranger", text="x", score=0.5)
    with pytest.raises(ValueError, match="parent_ids must name solutions that are rem"):
        memory.remember("child", 0.5, parent=stranger)
    scoped = EvolutionaryMemory(journal=InMemoryJournal(), scope="other")
    scoped.record(Solution(id="stranger", text="x", score=0.5, scope="other"))
    with pytest.raises(ValueError, match="got 'stranger'"):
        memory.remember("child", 0.5, other_parents=[stranger])
    assert len(memory) == 0


@pytest.mark.parametrize("options", [{}, {"retention": KeepLiving(), "capacity": 1}])
def test_nobody_descends_from_itself(options: dict[str, Any]) -> None:
    memory = EvolutionaryMemory(Settings(**options))
    with pytest.raises(ValueError, match="must not name the solution itself"):
        memory.remember("a", 0.5, parent=Solution(id="a", text="a", score=1.0), id="a")
    first = memory.remember("a", 0.5, id="a")
    second = memory.remember("b", 0.9, parent=first, id="b")
    with pytest.raises(ValueError, match="id must be new"):
        memory.remember("a", 0.5, parent=second, id="a")


def test_nor_once_its_first_life_is_forgotten_and_gone_from_the_journal() -> None:
    memory = EvolutionaryMemory(Settings(capacity=1, retention=KeepLiving()))
    first = memory.remember("a", 0.5, id="a")
    second = memory.remember("b", 0.9, parent=first, id="b")
    for k in range(1_001):
        memory.remember_failure("broken", f"{k}")
    memory.compact()
    with pytest.raises(
        ValueError, match="id must be new, got 'a', which KeepLiving fo"
    ):
        memory.remember("a", 2.0, parent=second, id="a")


def test_the_graph_refuses_a_cycle_and_changes_nothing() -> None:
    lineage = Lineage()
    lineage.add("b", ["a"])
    lineage.add("c", ["b"])
    for parents in (["c"], ["x", "b"], ["a"]):
        with pytest.raises(ValueError, match="must name nobody who descends from 'a'"):
            lineage.add("a", parents)
    assert lineage.edges() == [("a", "b"), ("b", "c")]
    lineage.add("a", ["root"])
    assert lineage.ancestors("c") == ("b", "a", "root")


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), max_size=30))
def test_ancestors_and_descendants_are_each_others_mirror(
    made: list[list[int]],
) -> None:
    lineage = Lineage()
    for k, parents in enumerate(made):
        known = dict.fromkeys(p % k for p in parents) if k else {}
        lineage.add(f"{k}", [f"{p}" for p in known])
        lineage.add(f"{k}", ["again"])
    for one in lineage:
        assert len(set(lineage.ancestors(one))) == len(lineage.ancestors(one))
        for other in lineage.ancestors(one):
            assert one in lineage.descendants(other)
        for other in lineage.siblings(one):
            assert one in lineage.siblings(other)
        for parent in lineage.parents(one):
            assert one in lineage.children(parent)


def test_it_grows_with_what_others_write() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    second = EvolutionaryMemory(journal=journal, stream="second")
    root = first.remember("root", 0.5, id="root")
    assert len(second.lineage()) == 0
    second.sync()
    second.remember("child", 0.5, parent=root, id="child")
    assert list(first.lineage()) == ["root"]
    first.sync()
    assert list(first.lineage()) == list(second.lineage()) == ["root", "child"]
