"""Islands isolate; migration goes on for ever, keeps to the cap, and names its copies."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, Settings, Solution
from memory.assignment.emptiest import Emptiest
from memory.assignment.round_robin import RoundRobin
from memory.records import Draw, Provenance
from memory.retention.keep_living import KeepLiving
from memory.selection.boltzmann import Boltzmann
from memory.selection.loongflow import LoongFlow
from memory.selection.top_k import TopK
from memory.stores.sqlite import SqliteJournal
from memory.survival.oldest import Oldest
from memory.temperature.annealed import Annealed
from memory.topology.complete import Complete
from memory.topology.ring import Ring
from memory.topology.star import Star
from tests.contracts.conftest import Place
from tests.memory.builds import document, document_of, grow, refolded, strong_and_weak


def islands_of(memory: EvolutionaryMemory) -> list[set[str]]:
    n = memory.settings.islands
    return [set(memory._population.ids(island)) for island in range(n)]


def copies(memory: EvolutionaryMemory) -> list[tuple[int, str]]:
    """Returns island and id of every copy."""
    return [
        (island, id_)
        for island, deme in enumerate(memory._population._demes)
        for id_, copy in zip(deme.ids, deme.array("copies"), strict=True)
        if copy
    ]


@pytest.mark.parametrize("selection", [Boltzmann(exploration=0.5), LoongFlow()])
def test_a_draw_from_an_island_returns_its_own_members_alone(selection: Any) -> None:
    memory = strong_and_weak(selection=selection)
    assert {memory.select(island=1).id for _ in range(300)} == {"weak"}
    strong = {memory.select(island=0).id for _ in range(300)}
    assert len(strong) > 1
    assert all(id_.startswith("strong") for id_ in strong)
    assert memory.law(island=1)[0] == ("weak",)


def test_the_elites_of_an_island_are_its_own() -> None:
    memory = strong_and_weak(elite_size=2, selection=TopK(k=1))
    assert memory.view(0).elites.sum() == memory.view(1).elites.sum() == 1
    assert memory.select(island=1).id == "weak"


def test_island_zero_can_be_asked_for() -> None:
    memory = EvolutionaryMemory(Settings(islands=3))
    parent = memory.remember("a", 0.5, island=2)
    child = memory.remember("b", 0.5, parent=parent, island=0)
    assert memory.home(child.id) == 0
    assert memory.select(island=0).id == child.id


def test_a_child_has_its_generation_on_whatever_island_it_is_put() -> None:
    memory = EvolutionaryMemory(Settings(islands=3))
    parent = memory.remember("a", 0.5, island=0)
    for island in range(3):
        child = memory.remember(f"{island}", 0.5, parent=parent, island=island)
        assert child.generation == 1
        assert memory.get(child.id).generation == 1


def test_a_child_lives_where_its_parent_does_and_roots_take_turns() -> None:
    memory = EvolutionaryMemory(Settings(islands=3))
    roots = [memory.remember(f"root {k}", 0.5) for k in range(6)]
    assert [memory.home(root.id) for root in roots] == [0, 1, 2, 0, 1, 2]
    for root in roots:
        child = memory.remember(f"child of {root.id}", 0.5, parent=root)
        assert memory.home(child.id) == memory.home(root.id)


def test_a_child_of_a_drawn_parent_stays_on_the_island_of_the_draw() -> None:
    memory = strong_and_weak()
    parent = memory.select(island=1)
    memory.retract("weak", "gone while the model was at work")
    child = memory.remember("child", 0.5, parent=parent)
    assert memory.home(child.id) == 1


def test_a_child_of_a_dead_parent_goes_where_the_parent_lived() -> None:
    memory = EvolutionaryMemory(Settings(islands=3, capacity=6))
    parent = memory.remember("old", 0.1, island=2)
    for k in range(9):
        memory.remember(f"{k}", 0.5, island=2)
    assert memory.home(parent.id) is None
    child = memory.remember("child", 0.7, parent=parent)
    assert memory.home(child.id) == 2


def test_other_rules_of_assignment_place_as_they_say() -> None:
    memory = EvolutionaryMemory(Settings(islands=3, assignment=RoundRobin()))
    parent = memory.remember("a", 0.5)
    homes = [memory.home(memory.remember(f"{k}", 0, parent=parent).id) for k in "bcde"]
    assert homes == [1, 2, 0, 1]
    memory = EvolutionaryMemory(Settings(islands=3, assignment=Emptiest()))
    for k in range(4):
        memory.remember(f"on one {k}", 0.5, island=1)
    assert [memory.home(memory.remember(f"{k}", 0).id) for k in range(4)] == [
        0,
        2,
        0,
        2,
    ]


def test_an_empty_island_takes_nobody_elses_children() -> None:
    memory = EvolutionaryMemory(Settings(islands=4))
    parent = memory.remember("a", 0.5, island=3)
    for k in range(5):
        memory.remember(f"{k}", 0.5, parent=parent)
    assert memory.sizes == [0, 0, 0, 6]


def test_a_weak_niche_survives_two_thousand_adds_under_its_quota() -> None:
    memory = EvolutionaryMemory(Settings(islands=3, capacity=30))
    for k in range(2_000):
        memory.remember(f"{k}", (0.9, 0.5, 0.1)[k % 3] + k / 1e6, island=k % 3)
    assert memory.sizes == [10, 10, 10]
    kept = [memory._population.scores(island).round(1) for island in range(3)]
    assert [set(scores) for scores in kept] == [{0.9}, {0.5}, {0.1}]
    # Without one the weak starve: what the quota is for.
    memory = EvolutionaryMemory(Settings(islands=3, capacity=30, quota=False))
    for k in range(2_000):
        memory.remember(f"{k}", (0.9, 0.5, 0.1)[k % 3] + k / 1e6, island=k % 3)
    assert memory.sizes[0] >= 28


@given(
    islands=st.integers(1, 4),
    room=st.integers(0, 9),
    quota=st.booleans(),
    interval=st.integers(0, 5),
    rate=st.sampled_from([0.1, 0.5, 1.0]),
    topology=st.sampled_from([Ring(), Ring(both_ways=True), Complete(), Star()]),
    unit=st.sampled_from(["adds", "generations", "largest_island"]),
    relays=st.booleans(),
    scores=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), max_size=40),
    where=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=40, max_size=40),
)
@settings(deadline=None, max_examples=150)
def test_the_cap_is_never_exceeded_after_any_add(
    islands: int,
    room: int,
    quota: bool,
    interval: int,
    rate: float,
    topology: Any,
    unit: str,
    relays: bool,
    scores: list[float],
    where: list[int | None],
) -> None:
    journal = InMemoryJournal()
    configuration = Settings(
        capacity=islands + room,
        islands=islands,
        quota=quota,
        migration_interval=interval,
        migration_rate=rate,
        migration_unit=unit,
        # LoongFlow's relays overflow where there is no quota, which is told.
        migration_relays=relays and quota,
        topology=topology,
    )
    memory = EvolutionaryMemory(configuration, journal)
    for k, score in enumerate(scores):
        parent = memory.select() if len(memory) else None
        island = where[k]
        island = None if island is None else island % islands
        memory.remember(f"{k % 25}", score, parent=parent, island=island)
        assert len(memory) <= configuration.capacity
        assert sum(memory.sizes) == len(memory.ids) == len(memory)
        if quota:
            most = -(-configuration.capacity // islands)
            assert max(memory.sizes) <= most
        for living in range(islands):
            ids = memory._population.ids(living)
            assert len(set(ids)) == len(ids)
    assert document_of(refolded(memory, journal)) == document(memory)


def test_relays_without_a_quota_exceed_the_cap_until_the_next_arrival() -> None:
    configuration = Settings(
        islands=2,
        capacity=20,
        quota=False,
        migration_interval=10,
        migration_relays=True,
    )
    memory = EvolutionaryMemory(configuration)
    largest = 0
    for k in range(30):
        memory.remember(f"{k}", k / 30, island=k % 2)
        largest = max(largest, len(memory))
        if memory.n_migrations == 0:
            assert len(memory) <= 20
    assert largest > 20


def test_migration_goes_on_at_add_ten_thousand_with_a_full_population() -> None:
    configuration = Settings(islands=3, capacity=30, migration_interval=100)
    memory = EvolutionaryMemory(configuration)
    for k in range(9_999):
        memory.remember(f"{k}", float(k * 7919 % 1009), island=k % 3)
    assert (memory.n_migrations, len(memory)) == (99, 30)
    before = copies(memory)
    memory.remember("the ten thousandth", 5_000.0, island=1)
    assert (memory.n_migrations, len(memory)) == (100, 30)
    best = memory.best()
    assert best is not None
    assert (2, best.id) in set(copies(memory)) - set(before)


def test_migration_by_generations_follows_the_deepest_lineage() -> None:
    configuration = Settings(
        islands=2, migration_interval=3, migration_unit="generations"
    )
    memory = EvolutionaryMemory(configuration)
    parent = memory.remember("0", 0.0, island=0)
    migrated = []
    for k in range(1, 13):
        for sibling in range(3):
            memory.remember(f"{k} {sibling}", 0.0, parent=parent, island=0)
        parent = memory.remember(f"{k}", float(k), parent=parent, island=0)
        migrated.append(memory.n_migrations)
    assert migrated == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]


def test_a_copy_is_never_copied() -> None:
    configuration = Settings(
        islands=4, capacity=1_000, migration_interval=1, migration_rate=1.0
    )
    memory = EvolutionaryMemory(configuration)
    memory.remember("the best of all", 9.0, island=0, id="best")
    for k in range(60):
        memory.remember(f"{k}", k / 60, island=1 + k % 3)
    assert [island for island, id_ in copies(memory) if id_ == "best"] == [1]
    # Nor do copies take the places of natives among those who leave.
    assert memory.n_migrations == 61
    for island, id_ in copies(memory):
        assert (memory.home(id_), island) in {(0, 1), (1, 2), (2, 3), (3, 0)}


def test_a_text_that_the_target_has_does_not_migrate_there() -> None:
    configuration = Settings(islands=2, migration_interval=3, migration_rate=1.0)
    memory = EvolutionaryMemory(configuration)
    memory.remember("same  \n", 0.9, island=0)
    memory.remember("same", 0.1, island=1)
    memory.remember("other", 0.5, island=0, id="other")
    assert memory.n_migrations == 1
    assert copies(memory) == [(1, "other")]


def test_of_two_islands_the_other_is_one_target() -> None:
    configuration = Settings(
        islands=2, migration_interval=1, topology=Ring(both_ways=True)
    )
    memory = EvolutionaryMemory(configuration)
    memory.remember("a", 0.9, island=0, id="a")
    assert copies(memory) == [(1, "a")]


def test_a_copy_is_its_original_and_counts_for_nothing_else() -> None:
    configuration = Settings(islands=3, migration_interval=3, topology=Complete())
    memory = EvolutionaryMemory(configuration)
    original = memory.remember(
        "a", 0.9, island=0, time=7.0, weight=2.0, metadata={"plan": "b"}, id="a"
    )
    memory.remember("b", 0.1, island=1)
    memory.remember("c", 0.2, island=2)
    drawn = memory.select(island=1, decision=3, part=1)
    while drawn.id != "a":
        drawn = memory.select(island=1)
    assert drawn.solution == original
    assert (memory.n_remembered, len(memory)) == (3, 9)
    assert memory.view("all").recent == (0.9, 0.1, 0.2)
    # Named once, however often it lives.
    assert [one.id for one in memory.living()][:1] == ["a"]
    assert len(memory.living()) == len(memory.history()) == 3


def test_copies_stand_for_election_where_they_are() -> None:
    configuration = Settings(islands=2, migration_interval=2, elite_size=4)
    memory = EvolutionaryMemory(configuration)
    memory.remember("a", 0.9, island=0, id="a")
    memory.remember("b", 0.1, island=1, id="b")
    for island in range(2):
        assert memory.view(island).elites.all()
    memory.rescore("b", 0.2, "measured again")
    for island in range(2):
        assert memory.view(island).elites.all()


def test_under_loongflows_rule_copies_are_no_elites_even_after_a_correction() -> None:
    configuration = Settings(
        islands=2, migration_interval=4, elite_size=4, migration_relays=True
    )
    memory = EvolutionaryMemory(configuration)
    for k in range(4):
        memory.remember(f"{k}", k / 4, island=k % 2, id=f"{k}")
    assert copies(memory)
    for _ in range(2):
        for deme in memory._population._demes:
            assert not (deme.array("elites") & deme.array("copies")).any()
        memory.rescore("0", 0.8, "measured again")


def test_the_draw_of_a_copy_says_so() -> None:
    memory = strong_and_weak(
        migration_interval=8,
        migration_rate=0.1,
        selection=Boltzmann(exploration=0.5),
    )
    drawn = [memory.select(island=1) for _ in range(200)]
    assert {(one.id, one.migrated) for one in drawn} == {
        ("weak", False),
        ("strong 6", True),
    }
    assert {memory.select(island=0).migrated for _ in range(50)} == {False, True}
    again = memory.redraw(next(one.draw for one in drawn if one.migrated))
    assert again.migrated


def test_by_default_the_islands_take_turns_and_empty_ones_are_passed_over() -> None:
    memory = EvolutionaryMemory(Settings(islands=4))
    for island in (0, 2, 3):
        memory.remember(f"{island}", 0.5, island=island)
    drawn = [memory.select().draw.island for _ in range(8)]
    assert drawn == [0, 2, 2, 3, 0, 2, 2, 3]
    assert memory.select(decision=3).draw.island == 3


def test_all_islands_can_be_drawn_from_as_one() -> None:
    memory = strong_and_weak(selection=Boltzmann(exploration=0.5))
    drawn = [memory.select(island="all") for _ in range(300)]
    assert {one.draw.island for one in drawn} == {-1}
    assert {one.id for one in drawn} == set(memory.ids)
    ids, law = memory.law(island="all")
    assert set(ids) == set(memory.ids)
    assert law.sum() == pytest.approx(1.0)
    assert memory.redraw(drawn[0].draw).id == drawn[0].id
    child = memory.remember("child", 0.2, parent=drawn[0])
    assert memory.home(child.id) == memory.home(drawn[0].id)


@pytest.mark.parametrize("island", [2, -1, 7, "both", 1.0, True])
def test_an_island_that_there_is_not_is_refused_and_leaves_nothing(island: Any) -> None:
    memory = strong_and_weak()
    before = memory.digest()
    for call in (
        lambda: memory.select(island=island),
        lambda: memory.living(island),
        lambda: memory.remember("x", 0.5, island=island),
    ):
        with pytest.raises((TypeError, ValueError), match="island must"):
            call()
    memory.sync()
    assert memory.digest() == before


def test_a_draw_from_an_island_of_another_population_spoils_nothing() -> None:
    memory = strong_and_weak()
    foreign = Draw("elsewhere", 3, 40, 0, 17)
    memory.record(
        Solution(id="x", text="x", score=0.5, provenance=Provenance(draw=foreign))
    )
    assert memory.home("x") in (0, 1)
    with pytest.raises(ValueError, match=r"draw.island must lie in \[0, 2\), got 17"):
        memory.redraw(foreign._replace(seq=3))


def test_who_is_crowded_out_while_migrating_lives_on_where_the_copy_is() -> None:
    configuration = Settings(
        islands=3,
        capacity=3,
        migration_interval=3,
        migration_rate=1.0,
        survival=Oldest(),
        retention=KeepLiving(),
    )
    memory = EvolutionaryMemory(configuration)
    # Each one gives way to the better one before it, and the ring is closed.
    for island, score in ((0, 0.9), (1, 0.5), (2, 0.1)):
        memory.remember(f"{island}", score, island=island, id=f"{island}")
    assert islands_of(memory) == [{"0"}, {"0"}, {"1"}]
    assert memory.get("1").score == 0.5
    assert memory.forgotten("1") is None
    assert memory.forgotten("2") is not None
    assert memory.select(island=2).id == "1"


def test_eight_workers_and_a_fresh_reader_derive_the_same_migrations(
    place: Place,
) -> None:
    configuration = Settings(
        islands=3, capacity=12, migration_interval=5, topology=Complete()
    )
    workers = [
        EvolutionaryMemory(configuration, place.open(), seed=4, stream=f"worker {k}")
        for k in range(8)
    ]
    for k in range(200):
        worker = workers[k * k % 8]
        parent = worker.select() if len(worker) else None
        worker.remember(f"{k}", float(k * 37 % 101), parent=parent)
    fresh = EvolutionaryMemory(configuration, place.open(), seed=4, stream="fresh")
    assert fresh.n_migrations == 40
    for worker in workers:
        worker.sync()
        assert worker.digest() == fresh.digest()
        assert document(worker) == document(fresh)


def test_an_island_costs_a_share_and_the_first_ones_get_the_rest() -> None:
    memory = EvolutionaryMemory(Settings(islands=3, capacity=11, elite_size=4))
    for k in range(60):
        memory.remember(f"{k}", float(k), island=k % 3)
    assert memory.sizes == [4, 4, 3]
    assert [int(memory.view(i).elites.sum()) for i in range(3)] == [2, 1, 1]


def test_islands_measure_and_heat_by_themselves(tmp_path: Any) -> None:
    with SqliteJournal(tmp_path / "a.db") as journal:
        memory = EvolutionaryMemory(Settings(islands=2), journal)
        for k in range(6):
            memory.remember("same", 0.5, island=0)
            memory.remember("x" * (1 + 9 * k), 0.5, island=1)
        assert memory.diversity(0) == 0.0
        assert memory.diversity(1) > 0.2
        whole = memory.diversity("all")
        assert whole > 0.0
        texts = [memory.get(id_).text for id_ in memory.ids]
        random = np.random.default_rng(0)
        measured = memory.settings.diversity.measure(texts, random)
        assert whole == pytest.approx(measured, rel=1e-12)


def test_each_island_has_a_controller_of_its_own() -> None:
    controller = Annealed(start=1.0, rate=0.5, minimum=1e-6)
    memory = EvolutionaryMemory(Settings(islands=2, temperature=controller))
    for k in range(5):
        memory.remember(f"{k}", 0.5, island=0)
    memory.remember("x", 0.5, island=1)
    warm = [memory.select(island=island).step.temperature for island in range(2)]
    assert warm[0] == warm[1] / 16
    memory.remember("y", 0.5, island=1)
    again = [memory.select(island=island).step.temperature for island in range(2)]
    assert again == [warm[0], warm[1] / 2]


def test_failures_and_duplicates_bring_no_migration_nearer() -> None:
    configuration = Settings(islands=2, migration_interval=4, deduplicate=True)
    memory = EvolutionaryMemory(configuration)
    for _ in range(9):
        memory.remember("same", 0.5, island=0)
        memory.remember_failure("broken", "no")
    assert memory.n_migrations == 0
    for k in range(3):
        memory.remember(f"{k}", 0.5, island=0)
    assert memory.n_migrations == 1
    assert Counter(island for island, _ in copies(memory)) == {1: 1}


def test_the_whole_story_folds_again_to_the_same_population() -> None:
    journal = InMemoryJournal()
    configuration = Settings(
        islands=4, capacity=22, elite_size=9, migration_interval=3, topology=Star()
    )
    memory = EvolutionaryMemory(configuration, journal)
    grow(memory, 150)
    assert document_of(refolded(memory, journal)) == document(memory)


def test_the_draw_of_a_copy_names_the_migration_for_ever() -> None:
    memory = EvolutionaryMemory(
        Settings(capacity=8, islands=2, migration_interval=4, migration_rate=1.0)
    )
    for k in range(12):
        memory.remember(f"text {k}", float(k), island=k % 2)
    drawn = [memory.select(island=0) for _ in range(60)]
    assert {parent.draw.migrated for parent in drawn} == {False, True}
    for parent in drawn:
        assert parent.draw.migrated == parent.migrated == (memory.home(parent.id) != 0)
        assert memory.redraw(parent.draw).draw == parent.draw
    child = memory.remember("child", 0.5, parent=next(p for p in drawn if p.migrated))
    assert memory.get(child.id).provenance.draw.migrated
