"""LoongFlow's evolutionary memory under its own names, over the one of ours.

``from memory.interop.loongflow import InMemory, Solution`` takes the place of
``from loongflow.agentsdk.memory.evolution import InMemory, Solution``. Names, arguments and
defaults are LoongFlow's, and so is what is awaited; what it does wrong is done right, and
``docs/loongflow.md`` lists each such thing with the switch that brings LoongFlow's back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypedDict, Unpack

from memory.interop.loongflow_base import EvolveMemory
from memory.interop.loongflow_memory import JournalMemory
from memory.interop.loongflow_options import DEFAULT_RATE, Binning, Options, Profile
from memory.interop.loongflow_solution import Solution
from memory.settings import Settings

__all__ = [
    "EvolveMemory",
    "InMemory",
    "MemoryFactory",
    "RedisMemory",
    "Solution",
    "StoredMemory",
]


class Ours(TypedDict, total=False):
    """Arguments that LoongFlow does not have: see ``Options`` and ``JournalMemory``."""

    exploration_rate: float
    profile: Profile
    feature_binning: Binning | None
    zero_score_is_failure: bool | None
    settings: Settings | None
    memory_id: str | None
    seed: int | str
    stream: str | None


def _apart(ours: Ours) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns those of our arguments that are options, and those of the worker.

    Raises:
        TypeError: One is none of ours; the message names it and those that are.
    """
    worker = {"memory_id", "seed", "stream"}
    given: dict[str, Any] = dict(ours)
    known = [item.name for item in fields(Options)]
    for name in given:
        if name not in (*known, *worker):
            raise TypeError(
                f"an option must be one of {', '.join((*known, *sorted(worker)))}, got "
                f"{name!r}"
            )
    return (
        {name: value for name, value in given.items() if name not in worker},
        {name: value for name, value in given.items() if name in worker},
    )


class InMemory(JournalMemory):
    """A population in the memory of this process.

    The arguments are LoongFlow's, see ``Options``; behind them come ours, by name.
    """

    def __init__(
        self,
        num_islands: int = 3,
        population_size: int = 100,
        elite_archive_size: int = 50,
        migration_interval: int = 10,
        migration_rate: float = 0.2,
        boltzmann_temperature: float = 1.0,
        feature_bins: int | None = None,
        feature_dimensions: list[str] | None = None,
        feature_scaling_method: str = "minmax",
        use_sampling_weight: bool = True,
        sampling_weight_power: float = 1.0,
        output_path: str | None = "output",
        **ours: Unpack[Ours],
    ) -> None:
        options, worker = _apart(ours)
        super().__init__(
            "memory:",
            Options(
                num_islands=num_islands,
                population_size=population_size,
                elite_archive_size=elite_archive_size,
                migration_interval=migration_interval,
                migration_rate=migration_rate,
                boltzmann_temperature=boltzmann_temperature,
                feature_bins=feature_bins,
                feature_dimensions=feature_dimensions,
                feature_scaling_method=feature_scaling_method,
                use_sampling_weight=use_sampling_weight,
                sampling_weight_power=sampling_weight_power,
                output_path=output_path,
                **options,
            ),
            **worker,
        )


class RedisMemory(JournalMemory):
    """A population on a Redis or Valkey server, which outlives its workers.

    The arguments are LoongFlow's, see ``Options``; behind them come ours, by name. Whoever
    gives the ``memory_id`` of a population joins it.
    """

    _maps_by_name = True

    def __init__(
        self,
        num_islands: int = 3,
        population_size: int = 100,
        elite_archive_size: int = 50,
        migration_interval: int = 10,
        migration_rate: float = 0.2,
        boltzmann_temperature: float = 1.0,
        feature_bins: int | None = None,
        feature_dimensions: list[str] | None = None,
        feature_scaling_method: str = "minmax",
        use_sampling_weight: bool = True,
        sampling_weight_power: float = 1.0,
        output_path: str | None = "output",
        redis_url: str = "redis://localhost:6379/0",
        **ours: Unpack[Ours],
    ) -> None:
        options, worker = _apart(ours)
        super().__init__(
            redis_url,
            Options(
                num_islands=num_islands,
                population_size=population_size,
                elite_archive_size=elite_archive_size,
                migration_interval=migration_interval,
                migration_rate=migration_rate,
                boltzmann_temperature=boltzmann_temperature,
                feature_bins=feature_bins,
                feature_dimensions=feature_dimensions,
                feature_scaling_method=feature_scaling_method,
                use_sampling_weight=use_sampling_weight,
                sampling_weight_power=sampling_weight_power,
                output_path=output_path,
                **options,
            ),
            **worker,
        )


class StoredMemory(JournalMemory):
    """A population in any store of ours, such as ``sqlite:///run.db``.

    Args:
        url: As for ``memory.open_journal``.
        **arguments: LoongFlow's and ours, by name.
    """

    def __init__(self, url: str, **arguments: Any) -> None:  # noqa: ANN401
        options, worker = _apart(arguments)  # type: ignore[arg-type]
        super().__init__(url, Options(**options), **worker)


class MemoryFactory:
    """The memory of a ``storage_type``, with all of its methods.

    Args:
        config: LoongFlow's and our arguments, by name; it stays as it is. ``storage_type``
            and ``redis_url`` may be there instead.
        storage_type: ``"in_memory"``, ``"redis"``, or the address of any store of ours,
            such as ``"sqlite:///run.db"``.
        redis_url: Address of the server of ``"redis"``.
        **kwargs: Further arguments, which win over those of ``config``.

    Raises:
        TypeError: ``config`` is no dictionary, or there is no such argument.
        ValueError: ``storage_type`` is another one, or both ways of giving something say
            different things.
    """

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        storage_type: str = "in_memory",
        redis_url: str = "redis://localhost:6379/0",
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        if config is not None and not isinstance(config, Mapping):
            raise TypeError(f"config must be a dictionary or None, got {config!r}")
        given = dict(config or {})
        self._storage_type = _once("storage_type", given, storage_type, "in_memory")
        url = _once("redis_url", given, redis_url, "redis://localhost:6379/0")
        self._memory = _backend(self._storage_type, url, {**given, **kwargs})

    @property
    def storage_type(self) -> str:
        """Where the population is."""
        return self._storage_type

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Returns what the memory calls ``name``."""
        if name.startswith("_"):
            # Copying and pickling ask for such names before there is a memory.
            raise AttributeError(name)
        return getattr(self._memory, name)

    async def add_solution(self, solution: Solution) -> str:
        """See ``JournalMemory``."""
        return await self._memory.add_solution(solution)

    async def update_solution(self, solution_id: str, **kwargs: Any) -> str:  # noqa: ANN401
        """See ``JournalMemory``."""
        return await self._memory.update_solution(solution_id, **kwargs)

    def get_solutions(self, solution_ids: list[str]) -> list[Solution]:
        """See ``JournalMemory``."""
        return self._memory.get_solutions(solution_ids)

    def list_solutions(
        self, filter_type: str = "asc", limit: int | None = None
    ) -> list[Solution]:
        """See ``JournalMemory``."""
        return self._memory.list_solutions(filter_type, limit)

    def get_best_solutions(
        self, island_id: int | None = None, top_k: int | None = None
    ) -> list[Solution]:
        """See ``JournalMemory``."""
        return self._memory.get_best_solutions(island_id, top_k)

    def get_parents_by_child_id(self, child_id: str, parent_cnt: int) -> list[Solution]:
        """See ``JournalMemory``."""
        return self._memory.get_parents_by_child_id(child_id, parent_cnt)

    def get_childs_by_parent_id(
        self, parent_id: str, child_cnt: int | None
    ) -> list[Solution]:
        """See ``JournalMemory``."""
        return self._memory.get_childs_by_parent_id(parent_id, child_cnt)

    def sample(
        self, island_id: int | None = None, exploration_rate: float = DEFAULT_RATE
    ) -> Solution | None:
        """See ``JournalMemory``."""
        return self._memory.sample(island_id, exploration_rate)

    def memory_status(self, island_id: int | None = None) -> dict[str, Any]:
        """See ``JournalMemory``."""
        return self._memory.memory_status(island_id)

    async def save_checkpoint(
        self, path: str | None = None, tag: str | None = None
    ) -> None:
        """See ``JournalMemory``."""
        await self._memory.save_checkpoint(path, tag)

    def load_checkpoint(self, path: str) -> None:
        """See ``JournalMemory``."""
        self._memory.load_checkpoint(path)


def _once(name: str, config: dict[str, Any], argument: str, default: str) -> str:
    """Returns what ``config`` or an argument says; takes it out of ``config``."""
    found = config.pop(name, None)
    if found is None or found == argument:
        return argument
    if argument != default:
        raise ValueError(
            f"{name} must be given once, got {argument!r} and {found!r} in config"
        )
    return str(found)


def _backend(storage_type: str, url: str, arguments: dict[str, Any]) -> JournalMemory:
    if storage_type == "in_memory":
        return InMemory(**arguments)
    if storage_type == "redis":
        return RedisMemory(redis_url=url, **arguments)
    if ":" in storage_type:
        return StoredMemory(storage_type, **arguments)
    raise ValueError(
        "storage_type must be 'in_memory', 'redis' or the address of a store, got "
        f"{storage_type!r}"
    )
