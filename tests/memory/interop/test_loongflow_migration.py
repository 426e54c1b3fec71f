"""Under the profile ``upstream`` solutions live, migrate and leave as in LoongFlow."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory import EvolutionaryMemory, InMemoryJournal, Settings, upstream
from memory.assignment.loongflow import LoongFlow
from memory.interop.loongflow import InMemory, Solution
from memory.records import Solution as Record

GOLDEN = json.loads(Path(__file__).with_name("loongflow.json").read_text("utf-8"))
SCENARIOS = {case["name"]: case for case in GOLDEN["migration"]}


def settings_of(case: dict[str, Any]) -> Settings:
    config = case["config"]
    return upstream(
        config["num_islands"],
        capacity=config["population_size"],
        migration_interval=config["migration_interval"],
        elite_size=config.get("elite_archive_size", 50),
    )


def island_of(case: dict[str, Any], index: int) -> int:
    cycles = case["island_rule"] == "cycle"
    return index % case["config"]["num_islands"] if cycles else 0


def parent_of(index: int) -> int | None:
    return None if index < 5 or index % 3 == 0 else index - 3


def named(memory: EvolutionaryMemory, remembered: dict[str, int]) -> list[list[str]]:
    """Returns who is where, copies by LoongFlow's names."""
    return [
        sorted(
            one.id if remembered[one.id] == island else f"{one.id}_migrated_{island}"
            for one in memory.living(island)
        )
        for island in range(memory.settings.islands)
    ]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_core_reproduces_every_scenario_step_by_step(name: str) -> None:
    case = SCENARIOS[name]
    memory = EvolutionaryMemory(settings_of(case))
    records: list[Record] = []
    homes: dict[str, int] = {}
    before: list[str] = []
    for index, step in enumerate(case["steps"]):
        parent = parent_of(index)
        record = memory.remember(
            step["text"],
            step["score"],
            parent=None if parent is None else records[parent],
            # LoongFlow takes island 0 for none.
            island=island_of(case, index) or None,
            id=f"s{index}",
        )
        records.append(record)
        homes[record.id] = step["island"]
        assert memory.home(record.id) == step["island"], index
        places = named(memory, homes)
        now = [one for island in places for one in island if "_migrated_" in one]
        assert sorted(set(now) - set(before)) == sorted(step["copies"]), index
        assert memory.sizes == step["sizes"], index
        before += now
    assert named(memory, homes) == case["final"]["islands"]
    best = memory.best()
    assert best is not None
    assert best.id == case["final"]["best"]


def played(case: dict[str, Any], upto: int | None = None) -> InMemory:
    memory = InMemory(**case["config"], profile="upstream")
    for index, step in enumerate(case["steps"][:upto]):
        parent = parent_of(index)
        solution = Solution(
            solution=step["text"],
            score=step["score"],
            solution_id=f"s{index}",
            parent_id="" if parent is None else f"s{parent}",
            island_id=island_of(case, index),
        )
        asyncio.run(memory.add_solution(solution))
        (added,) = memory.get_solutions([f"s{index}"])
        assert added.island_id == step["island"], index
        assert added.generation == step["generation"], index
    return memory


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_interface_reproduces_every_scenario_and_its_figures(name: str) -> None:
    case = SCENARIOS[name]
    memory = played(case)
    n = memory.num_islands
    final = case["final"]
    found = [
        sorted(one.solution_id for one in memory.get_best_solutions(island, 1_000))
        for island in range(n)
    ]
    assert found == final["islands"]
    best = [memory.get_best_solutions(island)[0].solution_id for island in range(n)]
    assert best == final["island_best"]
    assert memory.memory_status(1 if n > 1 else None) == case["memory_status"]


def test_the_account_of_growth_survives_a_snapshot() -> None:
    case = SCENARIOS["full_population_stops"]
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(settings_of(case), journal)
    for index, step in enumerate(case["steps"][:20]):
        memory.remember(
            step["text"], step["score"], id=f"s{index}", island=index % 3 or None
        )
    memory.compact()
    other = EvolutionaryMemory(settings_of(case), journal, stream="other")
    for index, step in enumerate(case["steps"][20:], start=20):
        memory.remember(
            step["text"], step["score"], id=f"s{index}", island=index % 3 or None
        )
    other.sync()
    assert other.digest() == memory.digest()
    assert other.n_migrations == memory.n_migrations > 1


def test_a_child_of_a_dead_parent_follows_it_still() -> None:
    memory = EvolutionaryMemory(Settings(capacity=2, islands=2))
    parent = memory.remember("a", 0.0, island=1)
    memory.remember("b", 1.0, island=1)
    assert memory.home(parent.id) is None
    child = memory.remember("c", 2.0, parent=parent)
    assert memory.home(child.id) == 1


def test_empty_islands_come_first_then_the_parents_then_slow_turns() -> None:
    rule = LoongFlow(n_per_island=2)
    assert rule.island(2, [1, 0, 0], 9) == 1
    assert rule.island(2, [1, 1, 1], 9) == 2
    assert [rule.island(None, [1, 1, 1], n) for n in range(7)] == [0, 0, 1, 1, 2, 2, 0]


def test_a_turn_is_taken_by_roots_that_find_no_island_empty() -> None:
    rule = LoongFlow()
    assert rule.counts(None, [1, 1])
    assert not rule.counts(None, [1, 0])
    assert not rule.counts(0, [1, 1])


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_the_length_of_a_turn_is_a_positive_integer(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="n_per_island must be"):
        LoongFlow(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"islands": 0}, "islands must be at least 1, got 0"),
        ({"capacity": 0}, "capacity must be at least 1, got 0"),
        ({"base": -1.0}, "base must be positive"),
        ({"migration_rate": 5.0}, "migration_rate must lie in"),
    ],
)
def test_the_profile_checks_its_arguments(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        upstream(**arguments)
