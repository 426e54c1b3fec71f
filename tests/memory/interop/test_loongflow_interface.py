"""Names, arguments, defaults and what is awaited are LoongFlow's."""

from __future__ import annotations

import abc
import inspect
from typing import Any

import pytest

from memory.interop import loongflow

#: Of LoongFlow 0.0.1: arguments with their defaults, in order; ``...`` where there is none.
MEMORY: dict[str, dict[str, Any]] = {
    "add_solution": {"solution": ...},
    "get_solutions": {"solution_ids": None},
    "list_solutions": {"filter_type": "asc", "limit": None},
    "get_best_solutions": {"island_id": None, "top_k": None},
    "get_parents_by_child_id": {"child_id": ..., "parent_cnt": ...},
    "get_childs_by_parent_id": {"parent_id": ..., "child_cnt": ...},
    "sample": {"island_id": None, "exploration_rate": 0.2},
    "memory_status": {"island_id": None},
    "save_checkpoint": {"path": None, "tag": None},
    "load_checkpoint": {"checkpoint_path": ...},
    "update_solution": {"solution_id": ..., "kwargs": ...},
}
FACTORY = MEMORY | {
    "get_solutions": {"solution_ids": ...},
    "load_checkpoint": {"path": ...},
}
OPTIONS: dict[str, Any] = {
    "num_islands": 3,
    "population_size": 100,
    "elite_archive_size": 50,
    "migration_interval": 10,
    "migration_rate": 0.2,
    "boltzmann_temperature": 1.0,
    "feature_bins": None,
    "feature_dimensions": None,
    "feature_scaling_method": "minmax",
    "use_sampling_weight": True,
    "sampling_weight_power": 1.0,
    "output_path": "output",
}
CONSTRUCTORS: dict[str, dict[str, Any]] = {
    "InMemory": OPTIONS,
    "RedisMemory": OPTIONS | {"redis_url": "redis://localhost:6379/0"},
    "MemoryFactory": {
        "config": None,
        "storage_type": "in_memory",
        "redis_url": "redis://localhost:6379/0",
        "kwargs": ...,
    },
}
FIELDS: dict[str, Any] = {
    "solution": "",
    "solution_id": "",
    "generate_plan": "",
    "parent_id": "",
    "island_id": 0,
    "iteration": 0,
    "timestamp": 5.0,
    "generation": 0,
    "sample_cnt": 0,
    "sample_weight": 0.0,
    "score": 0.0,
    "evaluation": "",
    "summary": "",
    "metadata": {},
}
AWAITED = {"add_solution", "save_checkpoint", "update_solution"}
ABSTRACT = {
    "add_solution",
    "get_solutions",
    "list_solutions",
    "get_best_solutions",
    "sample",
    "save_checkpoint",
    "load_checkpoint",
    "memory_status",
    "update_solution",
}


def arguments(function: Any, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        name: ... if one.default is inspect.Parameter.empty else one.default
        for name, one in inspect.signature(function).parameters.items()
        if name != "self" and name not in but
    }


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_memory_is_made_with_the_arguments_of_loongflow(name: str) -> None:
    found = arguments(getattr(loongflow, name).__init__, but=("ours",))
    assert list(found.items()) == list(CONSTRUCTORS[name].items())


@pytest.mark.parametrize(
    ("owner", "methods"),
    [("InMemory", MEMORY), ("RedisMemory", MEMORY), ("MemoryFactory", FACTORY)],
)
def test_methods_have_the_arguments_of_loongflow(
    owner: str, methods: dict[str, dict[str, Any]]
) -> None:
    for name, expected in methods.items():
        method = getattr(getattr(loongflow, owner), name)
        assert list(arguments(method).items()) == list(expected.items()), name
        assert inspect.iscoroutinefunction(method) == (name in AWAITED), name


def test_the_base_asks_for_what_loongflows_asks_for() -> None:
    base = loongflow.EvolveMemory
    assert issubclass(base, abc.ABC)
    assert set(base.__abstractmethods__) == ABSTRACT
    for name in ABSTRACT:
        method = getattr(base, name)
        assert inspect.iscoroutinefunction(method) == (name in AWAITED), name
    assert (base.diversity_reference_size, base.diversity_cache_size) == (20, 1000)
    assert base.feature_scaling_method == "minmax"
    with pytest.raises(TypeError, match="abstract"):
        base()
    for owner in (loongflow.InMemory, loongflow.RedisMemory):
        assert issubclass(owner, base)


def test_a_solution_has_the_fields_and_defaults_of_loongflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loongflow.Solution, "clock", staticmethod(lambda: 5.0))
    assert list(arguments(loongflow.Solution.__init__)) == list(FIELDS)
    assert loongflow.Solution().to_dict() == FIELDS
    assert loongflow.Solution(*FIELDS.values()) == loongflow.Solution()


def test_a_memory_is_named_by_eight_hexadecimal_digits() -> None:
    first, second = loongflow.InMemory(), loongflow.InMemory()
    assert len(first.memory_id) == 8
    assert int(first.memory_id, 16) >= 0
    assert first.memory_id != second.memory_id
    assert loongflow.InMemory(memory_id="mine").memory_id == "mine"
