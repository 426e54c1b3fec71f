"""What LoongFlow's memories do wrong is done right behind the same names."""

from __future__ import annotations

import asyncio
import copy
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory import ConfigurationMismatch, InMemoryJournal, KeyedRandom, Settings
from memory.interop.loongflow import (
    InMemory,
    MemoryFactory,
    RedisMemory,
    Solution,
    StoredMemory,
)
from memory.interop.loongflow_memory import JournalMemory
from memory.interop.notes import Notes
from memory.retention.keep_living import KeepLiving
from memory.stores.urls import purge
from memory.temperature.fixed import Fixed


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000_000))
    monkeypatch.setattr(Solution, "clock", staticmethod(lambda: float(next(ticks))))


def add(memory: JournalMemory | MemoryFactory, **fields: Any) -> str:
    return asyncio.run(memory.add_solution(Solution(**fields)))


def update(memory: JournalMemory | MemoryFactory, id: str, **fields: Any) -> str:
    return asyncio.run(memory.update_solution(id, **fields))


def filled(n: int = 9, **options: Any) -> InMemory:
    memory = InMemory(**options)
    for k in range(n):
        add(memory, solution=f"text {k}", solution_id=f"s{k}", score=(k + 1) / n)
    return memory


def get(memory: JournalMemory | MemoryFactory, id: str) -> Solution:
    (found,) = memory.get_solutions([id])
    return found


def test_an_agents_loop_runs_as_it_stands() -> None:
    memory = InMemory(seed=1)
    assert memory.sample() is None
    for iteration in range(60):
        island = iteration % 3
        parent = memory.sample(island_id=island, exploration_rate=0.4)
        add(
            memory,
            solution=f"{parent.solution if parent else ''}x",
            parent_id=parent.solution_id if parent else "",
            island_id=island,
            iteration=iteration,
            score=iteration / 60,
        )
    status = memory.memory_status(0)
    assert status["global_status"]["current_iteration"] == 59
    assert status["island_status"]["island_id"] == 0
    (best,) = memory.get_best_solutions()
    assert best.score == 59 / 60
    assert len(memory.list_solutions()) == 60


def test_a_score_of_zero_is_a_score_and_none_is_a_failure() -> None:
    memory = InMemory()
    add(memory, solution="zero", solution_id="z", score=0.0)
    add(memory, solution="none", solution_id="n", score=None)
    found = memory.sample()
    assert found is not None
    assert found.solution_id == "z"
    assert get(memory, "n").score is None
    assert memory.memory_status()["global_status"]["best_score"] == 0.0


def test_zero_is_a_failure_where_one_says_so() -> None:
    for memory in (InMemory(zero_score_is_failure=True), InMemory(profile="upstream")):
        add(memory, solution="zero", solution_id="z", score=0.0)
        assert memory.sample() is None
        assert get(memory, "z").score == 0.0


def test_minus_five_is_worse_than_zero() -> None:
    memory = InMemory(num_islands=1)
    add(memory, solution="a", solution_id="a", score=0.0)
    add(memory, solution="b", solution_id="b", score=-5.0)
    assert [one.solution_id for one in memory.get_best_solutions(top_k=2)] == ["a", "b"]


def test_island_zero_and_iteration_zero_can_be_asked_for() -> None:
    memory = InMemory()
    add(memory, solution="a", solution_id="a", island_id=2, score=1.0)
    add(
        memory,
        solution="b",
        solution_id="b",
        parent_id="a",
        island_id=0,
        iteration=0,
        score=1.0,
    )
    child = get(memory, "b")
    assert (child.island_id, child.iteration, child.generation) == (0, 0, 1)


def test_as_upstream_zero_stands_for_nothing() -> None:
    memory = InMemory(profile="upstream")
    for k in range(3):
        add(memory, solution=f"{k}", solution_id=f"s{k}", score=1.0)
    add(memory, solution="b", solution_id="b", parent_id="s2", island_id=0, score=1.0)
    child = get(memory, "b")
    assert (child.island_id, child.iteration, child.generation) == (2, 4, 1)


def test_a_child_that_names_no_island_lives_where_its_parent_was_drawn() -> None:
    memory = filled(3)
    parent = memory.sample(island_id=2)
    assert parent is not None
    child = get(
        memory, add(memory, solution="c", parent_id=parent.solution_id, score=1.0)
    )
    assert child.island_id == 2
    assert child.generation == 1


def test_a_draw_from_an_island_never_leaves_it() -> None:
    memory = filled(30, migration_interval=0, seed=4)
    drawn = [memory.sample(island_id=1) for _ in range(200)]
    assert {one.island_id for one in drawn if one is not None} == {1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"solution": ""}, "solution must not be empty"),
        ({"solution": None}, "solution must be a string"),
        ({"score": "0.5"}, "score must be a finite real number"),
        ({"score": math.nan}, "score must be a finite real number"),
        ({"score": True}, "score must be a finite real number"),
        ({"island_id": 7}, r"island_id must lie in \[0, 3\), got 7"),
        ({"island_id": -1}, "island_id must be at least 0, got -1"),
        ({"sample_weight": -1.0}, "sample_weight must not be negative"),
        ({"timestamp": "now"}, "timestamp must be a finite real number"),
        ({"metadata": None}, "metadata must be a dictionary"),
        ({"metadata": {"f": object()}}, "metadata must be what JSON can hold"),
        ({"summary": 3}, "summary must be a string"),
        ({"solution_id": "a", "parent_id": "a"}, "another solution than itself"),
        ({"sample_cnt": -1}, "sample_cnt must be at least 0"),
        ({"iteration": -1}, "iteration must be at least 0"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_stored(
    fields: dict[str, Any], message: str
) -> None:
    memory = InMemory()
    whole: dict[str, Any] = {"solution": "x", "score": 0.5, **fields}
    with pytest.raises((TypeError, ValueError), match=message):
        add(memory, **whole)
    assert memory.list_solutions() == []
    with pytest.raises(ValueError, match="solution must be a Solution"):
        asyncio.run(memory.add_solution({"solution": "x"}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_islands": 0}, "num_islands must be at least 1, got 0"),
        ({"population_size": 0}, "population_size must be at least 1, got 0"),
        ({"migration_rate": 5}, "migration_rate must lie in"),
        ({"boltzmann_temperature": -9}, "boltzmann_temperature must be positive"),
        ({"feature_dimensions": []}, "feature_dimensions must be some of"),
        ({"feature_scaling_method": "zscore"}, "feature_scaling_method must be one of"),
        ({"feature_bins": 0}, "feature_bins must be at least 1"),
        ({"profile": "shipped"}, "profile must be one of 'repaired', 'upstream'"),
        ({"feature_binning": "fixed"}, "feature_binning must be one of"),
        ({"exploration_rate": 2.0}, "exploration_rate must lie in"),
        ({"population_size": 2}, "population_size must be at least num_islands"),
        ({"use_sampling_weight": 1}, "use_sampling_weight must be true or false"),
        ({"settings": "default"}, "settings must be Settings or None"),
        ({"island": 3}, "got 'island'"),
    ],
)
def test_options_are_checked_where_they_are_given(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        InMemory(**options)


def test_no_elites_are_no_division_by_zero() -> None:
    memory = filled(elite_archive_size=0)
    assert memory.sample() is not None


def test_what_goes_in_and_what_comes_out_are_copies() -> None:
    memory = InMemory()
    mine = Solution(solution="x", solution_id="a", score=0.5, metadata={"list": [1]})
    before = mine.copy()
    asyncio.run(memory.add_solution(mine))
    assert mine == before
    mine.score = 9.0
    mine.metadata["list"].append(2)
    theirs = get(memory, "a")
    theirs.metadata["list"].append(3)
    theirs.solution = "y"
    again = get(memory, "a")
    assert (again.solution, again.score, again.metadata["list"]) == ("x", 0.5, [1])


def test_the_same_solution_twice_is_one_and_another_of_its_name_is_refused() -> None:
    memory = InMemory()
    one = Solution(solution="x", solution_id="a", score=0.5, island_id=1, iteration=1)
    for _ in range(2):
        assert asyncio.run(memory.add_solution(one)) == "a"
    assert len(memory.list_solutions()) == 1
    with pytest.raises(ValueError, match="id must be new"):
        add(memory, solution="y", solution_id="a", score=0.5)


def test_a_new_score_ranks_anew_at_once() -> None:
    memory = filled()
    update(memory, "s4", score=99.0)
    (best,) = memory.get_best_solutions()
    assert (best.solution_id, best.score) == ("s4", 99.0)


def test_an_update_wakes_nobody_from_the_dead() -> None:
    memory = filled(9, num_islands=1, population_size=3)
    update(memory, "s0", sample_cnt=5, summary="old")
    assert get(memory, "s0").sample_cnt == 5
    alive = [one.solution_id for one in memory.get_best_solutions(top_k=99)]
    assert alive == ["s8", "s7", "s6"]
    assert memory.memory_status()["global_status"]["is_full"] is True


@pytest.mark.parametrize(
    ("id_", "changes", "message"),
    [
        ("nobody", {"score": 1.0}, "there is no solution called 'nobody'"),
        ("s1", {"scoer": 3}, "scoer cannot be changed"),
        ("s1", {"island_id": 1}, "island_id cannot be changed"),
        ("s1", {"parent_id": "s0"}, "parent_id cannot be changed"),
        ("s1", {"sample_weight": 2.0}, "sample_weight cannot be changed"),
        ("s1", {"score": None}, "score must be a finite real number"),
        ("s1", {"metadata": 3}, "metadata must be a dictionary"),
    ],
)
def test_a_wrong_update_changes_nothing(
    id_: str, changes: dict[str, Any], message: str
) -> None:
    memory = filled()
    before = memory.list_solutions()
    with pytest.raises((TypeError, ValueError), match=message):
        update(memory, id_, summary="new", **changes)
    assert memory.list_solutions() == before


def test_increments_of_two_workers_are_both_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"
    one, other = (StoredMemory(url, memory_id="shared") for _ in range(2))
    id_ = add(one, solution="x", score=0.5)
    asyncio.run(one.increment_solution(id_))
    asyncio.run(other.increment_solution(id_, 2))
    assert get(one, id_).sample_cnt == get(other, id_).sample_cnt == 3
    update(other, id_, sample_cnt=10)
    asyncio.run(one.increment_solution(id_))
    assert get(other, id_).sample_cnt == 11
    for memory in (one, other):
        memory.close()


def test_ancestors_end_with_the_root_and_children_are_found_everywhere() -> None:
    memory = InMemory()
    add(memory, solution="r", solution_id="r", score=0.5, island_id=0)
    for k, (score, island) in enumerate([(0.1, 1), (0.0, 0), (None, 2)]):
        fields: dict[str, Any] = {"island_id": island, "score": score}
        add(memory, solution=f"c{k}", solution_id=f"c{k}", parent_id="r", **fields)
    add(memory, solution="g", solution_id="g", parent_id="c0", score=0.2)
    parents = memory.get_parents_by_child_id("g", 4)
    assert [one.solution_id for one in parents] == ["c0", "r"]
    assert [p.solution_id for p in memory.get_parents_by_child_id("g", 1)] == ["c0"]

    def children(number: int | None) -> list[str]:
        found = memory.get_childs_by_parent_id("r", number)
        return [one.solution_id for one in found]

    assert children(2) == ["c0", "c1"]
    assert children(0) == []
    assert children(None) == ["c0", "c1", "c2"]
    with pytest.raises(ValueError, match="there is no solution called"):
        memory.get_parents_by_child_id("nobody", 1)
    with pytest.raises(ValueError, match="parent_cnt must be at least 0"):
        memory.get_parents_by_child_id("g", -1)


def test_an_unknown_parent_is_kept_by_name() -> None:
    memory = InMemory()
    add(memory, solution="x", solution_id="a", parent_id="elsewhere", score=0.5)
    assert get(memory, "a").parent_id == "elsewhere"
    assert memory.get_parents_by_child_id("a", 3) == []
    add(memory, solution="x", solution_id="b", parent_id=None, score=0.5)
    assert get(memory, "b").parent_id is None


def test_solutions_are_listed_by_time_each_once() -> None:
    memory = filled(30, migration_interval=3)
    assert memory._register.memory.n_migrations > 0
    ids = [one.solution_id for one in memory.list_solutions()]
    assert ids == [f"s{k}" for k in range(30)]
    last = [one.solution_id for one in memory.list_solutions("desc", 5)]
    assert last == ["s29", "s28", "s27", "s26", "s25"]
    assert memory.list_solutions(limit=0) == []
    with pytest.raises(ValueError, match="filter_type must be 'asc' or 'desc'"):
        memory.list_solutions("newest")


def test_unknown_ids_are_left_out_and_none_is_refused() -> None:
    memory = filled()
    assert [s.solution_id for s in memory.get_solutions(["s1", "x", "s0"])] == [
        "s1",
        "s0",
    ]
    assert memory.get_solutions([]) == []
    with pytest.raises(ValueError, match="solution_ids must be a list"):
        memory.get_solutions()


def test_a_copy_is_the_same_solution_on_another_island() -> None:
    memory = filled(12, migration_interval=3)
    copies = [
        one
        for island in range(3)
        for one in memory.get_best_solutions(island, 99)
        if one.metadata.get("migrated")
    ]
    assert copies
    for one in copies:
        assert get(memory, one.solution_id).island_id != one.island_id
        assert get(memory, f"{one.solution_id}_migrated_{one.island_id}") == get(
            memory, one.solution_id
        )
    best = [one.solution_id for one in memory.get_best_solutions(top_k=99)]
    assert len(best) == len(set(best)) == 12


def test_a_child_of_a_copy_lives_with_the_copy() -> None:
    memory = filled(12, migration_interval=3, profile="upstream")
    (copy_,) = [
        one for one in memory.get_best_solutions(1, 99) if one.metadata.get("migrated")
    ][:1]
    child = get(
        memory, add(memory, solution="c", parent_id=copy_.solution_id, score=0.5)
    )
    assert child.island_id == 1
    original = copy_.solution_id.split("_")[0]
    parents = memory.get_parents_by_child_id(child.solution_id, 1)
    assert [one.solution_id for one in parents] == [original]


def test_migration_goes_on_when_the_population_is_full() -> None:
    memory = filled(200, population_size=12, migration_interval=10)
    register = memory._register
    assert register.memory.n_migrations == 20
    assert sum(register.memory.sizes) <= 12


def test_a_weak_island_keeps_its_place() -> None:
    memory = InMemory(migration_interval=0, population_size=30)
    for k in range(300):
        add(memory, solution=f"{k}", score=(0.9, 0.5, 0.1)[k % 3], island_id=k % 3)
    assert memory._register.memory.sizes == [10, 10, 10]


def test_status_counts_cells_and_knows_island_zero() -> None:
    memory = InMemory()
    add(memory, solution="x", score=0.5, island_id=0, iteration=3)
    assert memory.memory_status(0) == {
        "global_status": {
            "current_iteration": 3,
            "is_full": False,
            "top_3_iterations": [3],
            "best_score": 0.5,
            "best_iteration": 3,
            "avg_score": 0.5,
            "better_ratio": 0.0,
        },
        "island_status": {
            "island_id": 0,
            "top_3_iterations": [3],
            "best_score": 0.5,
            "best_iteration": 3,
            "avg_score": 0.5,
            "better_ratio": 0.0,
            "map_elites_feature_ratio": 1 / 64,
        },
    }
    assert "island_status" not in memory.memory_status(1)
    with pytest.raises(ValueError, match=r"island_id must lie in \[0, 3\), got 3"):
        memory.memory_status(3)
    empty = InMemory().memory_status()["global_status"]
    assert empty["best_score"] == empty["avg_score"] == empty["current_iteration"] == 0


def test_equal_populations_have_equal_cells_whoever_came_first() -> None:
    texts = [("a" * k, k / 7) for k in range(1, 9)]
    found = []
    for order in (texts, texts[::-1]):
        memory = InMemory(num_islands=1)
        for text, score in order:
            add(memory, solution=text, solution_id=text, score=score)
        found.append(
            {
                s.solution_id: s.metadata["MAP_Elite_feature"]
                for s in memory.list_solutions()
            }
        )
    assert found[0] == found[1]
    assert len(set(found[0].values())) > 1


def test_running_bins_come_back_by_a_switch() -> None:
    memory = InMemory(
        num_islands=1,
        feature_binning="running",
        feature_dimensions=["complexity"],
        feature_bins=4,
    )
    found = []
    for k, length in enumerate([100, 100, 200, 100, 1000, 100, 200]):
        add(memory, solution="x" * length, solution_id=f"s{k}", score=0.5)
        found.append(get(memory, f"s{k}").metadata["MAP_Elite_feature"])
    assert found == [f'{{"complexity": {bin_}}}' for bin_ in [2, 2, 3, 0, 3, 0, 0]]


def test_the_dead_have_no_cell() -> None:
    memory = filled(9, num_islands=1, population_size=3)
    assert "MAP_Elite_feature" not in get(memory, "s0").metadata
    assert "MAP_Elite_feature" in get(memory, "s8").metadata


def test_what_a_rule_of_retention_forgets_is_listed_no_more(tmp_path: Path) -> None:
    settings = Settings(capacity=5, islands=1, retention=KeepLiving())
    memory = InMemory(settings=settings, output_path=str(tmp_path))
    for k in range(2_000):
        add(memory, solution=f"{k}", solution_id=f"s{k}", score=float(k))
    memory._register.memory.compact()
    listed = [one.solution_id for one in memory.list_solutions()]
    assert listed[-5:] == [f"s{k}" for k in range(1_995, 2_000)]
    assert "s0" not in listed
    assert memory.get_solutions(["s0", "s1999"])[0].solution_id == "s1999"
    asyncio.run(memory.save_checkpoint(tag="kept"))
    other = InMemory(settings=settings)
    other.load_checkpoint(str(tmp_path / "checkpoints" / "checkpoint-kept"))
    assert [one.solution_id for one in other.list_solutions()][-5:] == listed[-5:]


def test_exploration_is_the_share_of_uniform_draws() -> None:
    memory = InMemory(num_islands=1, settings=Settings(temperature=Fixed(1e-3)), seed=9)
    for k in range(10):
        add(memory, solution=f"{k}", solution_id=f"s{k}", score=float(k))
    greedy = [memory.sample(exploration_rate=0.0) for _ in range(50)]
    assert {one.solution_id for one in greedy if one} == {"s9"}
    free = [memory.sample(exploration_rate=1.0) for _ in range(500)]
    assert len({one.solution_id for one in free if one}) == 10
    mixed = [memory.sample() for _ in range(1_000)]
    share = np.mean([one.solution_id != "s9" for one in mixed if one is not None])
    # A fifth of the draws, a tenth of which find the best: 0.18, with six sigma.
    assert abs(share - 0.18) < 6 * math.sqrt(0.18 * 0.82 / 1_000)
    with pytest.raises(ValueError, match="exploration_rate must lie in"):
        memory.sample(exploration_rate=-0.1)


def test_the_rate_of_an_option_holds_where_a_call_names_none() -> None:
    memory = filled(9, exploration_rate=1.0, settings=Settings(temperature=Fixed(1e-3)))
    drawn = [memory.sample() for _ in range(200)]
    assert len({one.solution_id for one in drawn if one}) == 9


def test_equal_seeds_draw_equal_parents() -> None:
    def draws(seed: int) -> list[str]:
        memory = filled(20, seed=seed)
        drawn = [memory.sample() for _ in range(30)]
        return [one.solution_id for one in drawn if one is not None]

    assert draws(5) == draws(5)
    assert draws(5) != draws(6)


def test_a_child_records_the_draw_of_its_parent() -> None:
    memory = filled(9)
    parent = memory.sample(exploration_rate=0.0)
    assert parent is not None
    id_ = add(memory, solution="c", parent_id=parent.solution_id, score=0.5)
    core = memory._register.memory
    draw = core.get(id_).provenance.draw
    assert draw is not None
    assert core.redraw(draw).id == parent.solution_id


def test_sampling_while_others_add_meets_no_half_made_state() -> None:
    memory = filled(50)
    errors: list[BaseException] = []
    done = threading.Event()

    def sample() -> None:
        try:
            while not done.is_set():
                assert memory.sample(island_id=1) is not None
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=sample) for _ in range(2)]
    for thread in threads:
        thread.start()
    for k in range(60):
        add(memory, solution=f"more {k}", score=k / 10)
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_factory_leaves_its_config_alone_and_says_where_it_stores() -> None:
    config = {"storage_type": "in_memory", "num_islands": 5, "population_size": 50}
    before = dict(config)
    factory = MemoryFactory(config, num_islands=2)
    assert config == before
    assert (factory.storage_type, factory.num_islands) == ("in_memory", 2)
    id_ = add(factory, solution="x", score=0.5)
    assert get(factory, id_).solution == "x"
    update(factory, id_, summary="s")
    assert factory.list_solutions()[0].summary == "s"
    assert factory.sample(None, 0.5) == factory.get_best_solutions()[0]
    assert factory.memory_status()["global_status"]["best_score"] == 0.5
    assert factory.get_parents_by_child_id(id_, 1) == []
    assert factory.get_childs_by_parent_id(id_, 1) == []
    assert copy.copy(factory).memory_id == factory.memory_id


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"storage_type": "Redis"}, "storage_type must be 'in_memory', 'redis' or"),
        ({"config": 3}, "config must be a dictionary or None"),
        ({"config": {"nope": 3}}, "got 'nope'"),
        (
            {"config": {"storage_type": "redis"}, "storage_type": "sqlite:///x"},
            "storage_type must be given once",
        ),
    ],
)
def test_a_factory_refuses_what_it_does_not_know(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        MemoryFactory(**arguments)


def test_a_factory_takes_the_address_of_any_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"
    first = MemoryFactory({"storage_type": url, "memory_id": "mine"})
    id_ = add(first, solution="x", score=0.5)
    first.close()
    second = MemoryFactory(storage_type=url, memory_id="mine")
    assert get(second, id_).solution == "x"
    with pytest.raises(ConfigurationMismatch, match="islands"):
        MemoryFactory(storage_type=url, memory_id="mine", num_islands=4)
    second.close()


@pytest.fixture
def server(redis_url: str) -> Iterator[str]:
    yield redis_url
    purge(redis_url, "boltzmem test of loongflow")


def test_a_population_on_redis_is_joined_by_its_id(server: str) -> None:
    name = "boltzmem test of loongflow"
    first = RedisMemory(redis_url=server, memory_id=name, population_size=9)
    for k in range(40):
        parent = first.sample()
        parent_id = parent.solution_id if parent else None
        add(
            first,
            solution=f"{k}",
            solution_id=f"s{k}",
            score=k / 40,
            parent_id=parent_id,
        )
    update(first, "s3", summary="noted")
    second = RedisMemory(redis_url=server, memory_id=name, population_size=9)
    assert second.list_solutions() == first.list_solutions()
    assert second.memory_status(1) == first.memory_status(1)
    assert get(second, "s3").summary == "noted"
    id_ = add(second, solution="more", score=2.0)
    (best,) = first.get_best_solutions()
    assert best.solution_id == id_
    assert best.iteration == 41
    for memory in (first, second):
        memory.close()


def test_a_solution_reads_dictionaries_as_loongflow_does() -> None:
    assert Solution.from_dict({"bogus": 1, "score": None}).score is None
    assert Solution.from_dict({"island_id": "x"}).island_id is None
    assert Solution.from_dict({"island_id": "2"}).island_id == 2
    assert Solution.from_dict(3).solution == ""  # type: ignore[arg-type]
    whole = Solution(
        metadata={
            "array": np.array([1.0, math.nan]),
            "tuple": (1, math.inf),
            "number": np.int64(3),
        }
    )
    assert whole.to_dict()["metadata"] == {
        "array": [1.0, None],
        "tuple": (1, None),
        "number": 3,
    }


def test_a_solution_is_updated_by_known_names_only() -> None:
    solution = Solution(solution="a", score=0.5)
    solution.update({"score": 1.0}, Solution(summary="s", score=None))
    assert (solution.summary, solution.score) == ("s", 1.0)
    solution.update(score=2.0)
    assert solution.score == 2.0
    with pytest.raises(ValueError, match="got 'scoer'"):
        solution.update({"score": 3.0}, scoer=1)
    with pytest.raises(TypeError, match="takes dictionaries and Solutions"):
        solution.update(3)
    assert solution.score == 2.0


def test_a_note_whose_reply_was_lost_counts_once() -> None:
    class LosesReplies(InMemoryJournal):
        def append_and_read(self, *arguments: Any) -> Any:
            return super().append_and_read(*arguments)._replace(new=False)

    notes = Notes(LosesReplies(), "notes", KeyedRandom(0))
    for _ in range(3):
        notes.add("a", {"sample_cnt": 1})
    assert notes.added("a") == {"sample_cnt": 3}
