"""LoongFlow's evolutionary memories, over the one of ours."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memory.checkpoints import load_checkpoint, save_checkpoint
from memory.following import ConfigurationMismatch
from memory.interop import loongflow_checkpoint as checkpoint
from memory.interop import loongflow_folder as folders
from memory.interop.loongflow_base import EvolveMemory
from memory.interop.loongflow_options import (
    DEFAULT_RATE,
    DefaultRate,
    Options,
)
from memory.interop.loongflow_register import Register
from memory.interop.loongflow_solution import Solution
from memory.interop.loongflow_status import figures
from memory.records import count, utf8, within
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Journal
from memory.stores.urls import open_journal, purge

T = TypeVar("T")

#: Entries of a population that was begun and no more: one of records, one of notes.
_BEGUN = 2


class JournalMemory(EvolveMemory):
    """A memory with LoongFlow's interface, in the store at ``url``.

    Whoever gives the same ``url``, ``memory_id``, options and seed shares one population.
    Every solution that comes out is a copy, and none that goes in is changed. Safe for use
    by several threads.

    Args:
        url: As for ``memory.open_journal``: ``memory:``, ``sqlite:///run.db``,
            ``redis://...``.
        options: LoongFlow's options and ours.
        memory_id: Name of the population; a new one if ``None``.
        seed: Name of the random numbers of the population.
        stream: Name of this worker's own draws; one of its own if ``None`` and others may
            share the population.

    Raises:
        ConfigurationMismatch: The population has other options, or another seed.
        JournalUnavailable: The store cannot be opened.
        TypeError: An argument has the wrong type.
        ValueError: ``url`` has another form.
    """

    #: Whether cells are written as by LoongFlow's Redis backend.
    _maps_by_name = False

    def __init__(
        self,
        url: str,
        options: Options,
        *,
        memory_id: str | None = None,
        seed: int | str = 0,
        stream: str | None = None,
    ) -> None:
        super().__init__()
        if memory_id is not None:
            self.memory_id = utf8("memory_id", memory_id)
        self.feature_scaling_method = options.feature_scaling_method
        self.output_path = options.output_path
        self.options = options
        self._url = url
        self._lasting = url != "memory:"
        if stream is None:
            stream = f"worker {os.urandom(8).hex()}" if self._lasting else "main"
        self._seed, self._stream = seed, utf8("stream", stream)
        self._lock = threading.RLock()
        self._register = self._registered(open_journal(url, self.memory_id))

    @property
    def num_islands(self) -> int:
        """Number of islands."""
        return self._register.islands

    @property
    def population_size(self) -> int:
        """Largest number of the living."""
        return self._register.memory.settings.capacity

    def close(self) -> None:
        """Lets go of files and connections; a later call opens them again."""
        with self._lock:
            self._register.memory.close()

    async def add_solution(self, solution: Solution) -> str:
        """Remembers a solution, whole or not at all, and returns its id.

        An id that is made is written onto ``solution``, as LoongFlow does, so that its
        children can name it; nothing else of it is changed.

        Raises:
            TypeError: A field has the wrong type; the message names it.
            ValueError: It is no ``Solution``, a field is out of range, or its id is taken.
        """
        if not isinstance(solution, Solution):
            raise ValueError(f"solution must be a Solution, got {solution!r}")
        mine = solution.copy()
        id_ = await self._awaited(lambda: self._register.add(mine))
        if not solution.solution_id:
            solution.solution_id = id_
        return id_

    async def update_solution(self, solution_id: str, **kwargs: Any) -> str:  # noqa: ANN401
        """Changes what is known of a solution, all of it or nothing, and returns its id.

        A new ``score`` ranks it anew at once. What has left the population stays out.

        Args:
            solution_id: Which one.
            **kwargs: ``score``, ``sample_cnt``, ``generate_plan``, ``evaluation``,
                ``summary`` or ``metadata``; what else a solution is made of stays.

        Raises:
            TypeError: A value has the wrong type.
            ValueError: There is no such solution, a name may not be changed, or a value is
                out of range.
        """
        return await self._awaited(lambda: self._changed(solution_id, kwargs))

    async def increment_solution(self, solution_id: str, sample_cnt: int = 1) -> str:
        """Adds to the count of a solution's children; additions of two are both kept.

        Raises:
            TypeError: ``sample_cnt`` is not an integer.
            ValueError: There is no such solution, or ``sample_cnt`` is negative.
        """
        count("sample_cnt", sample_cnt)

        def add() -> str:
            id_ = self._known(solution_id)
            self._register.notes.add(id_, {"sample_cnt": sample_cnt})
            return solution_id

        return await self._awaited(add)

    def get_solutions(self, solution_ids: list[str] | None = None) -> list[Solution]:
        """Returns solutions by their ids, alive or not; an unknown one is left out.

        The name that LoongFlow gives a copy stands for the solution.

        Raises:
            ValueError: ``solution_ids`` is ``None``.
        """
        if solution_ids is None:
            raise ValueError("solution_ids must be a list of ids, got None")
        with self._following() as register:
            known = [register.known(id_) for id_ in solution_ids]
            return register.shown_all(id_ for id_ in known if id_ is not None)

    def list_solutions(
        self, filter_type: str = "asc", limit: int | None = None
    ) -> list[Solution]:
        """Returns all solutions ever remembered by their time, each once.

        Args:
            filter_type: ``"asc"`` for the oldest first, ``"desc"`` for the newest.
            limit: At most how many.

        Raises:
            ValueError: ``filter_type`` is another one, or ``limit`` is negative.
        """
        if filter_type not in ("asc", "desc"):
            raise ValueError(
                f"filter_type must be 'asc' or 'desc', got {filter_type!r}"
            )
        with self._following() as register:
            entries = register.entries
            ids = sorted(
                entries,
                key=lambda id_: (entries[id_].time, entries[id_].order),
                reverse=filter_type == "desc",
            )
            if limit is not None:
                ids = ids[: count("limit", limit)]
            return register.shown_all(ids)

    def get_best_solutions(
        self, island_id: int | None = None, top_k: int | None = None
    ) -> list[Solution]:
        """Returns the best of the living, the best first.

        Args:
            island_id: Of which island; of all if ``None``.
            top_k: At most how many; one if ``None``.

        Raises:
            ValueError: There is no such island, or ``top_k`` is negative.
        """
        number = 1 if top_k is None else count("top_k", top_k)
        with self._following() as register:
            island = register.checked_island(island_id)
            rows = register.distinct(island)[:number]
            return [register.shown_row(row) for row in rows]

    def get_parents_by_child_id(self, child_id: str, parent_cnt: int) -> list[Solution]:
        """Returns at most ``parent_cnt`` ancestors of a solution, the nearest first.

        Raises:
            ValueError: There is no such solution, or ``parent_cnt`` is negative.
        """
        with self._following() as register:
            id_ = self._known(child_id)
            ids = register.memory.lineage().ancestors(
                id_, count("parent_cnt", parent_cnt)
            )
            return register.shown_all(ids)

    def get_childs_by_parent_id(
        self, parent_id: str, child_cnt: int | None
    ) -> list[Solution]:
        """Returns at most ``child_cnt`` children of a solution, the oldest first.

        On whatever island they are, alive or not; all of them if ``child_cnt`` is
        ``None``.

        Raises:
            ValueError: There is no such solution, or ``child_cnt`` is negative.
        """
        with self._following() as register:
            id_ = self._known(parent_id)
            ids = register.memory.lineage().children(id_)
            if child_cnt is not None:
                ids = ids[: count("child_cnt", child_cnt)]
            return register.shown_all(ids)

    def sample(
        self, island_id: int | None = None, exploration_rate: float = DEFAULT_RATE
    ) -> Solution | None:
        """Draws a parent; ``None`` if nobody lives there.

        Args:
            island_id: From which island; from all if ``None``.
            exploration_rate: Probability of a uniform choice, in ``[0, 1]``; the option of
                that name where it is not given.

        Raises:
            ValueError: There is no such island, or the rate lies outside ``[0, 1]``.
        """
        if isinstance(exploration_rate, DefaultRate):
            exploration_rate = self.options.exploration_rate
        rate = within("exploration_rate", exploration_rate, 0.0, 1.0)
        with self._following() as register:
            row = register.sampled(register.checked_island(island_id), rate)
            return None if row is None else register.shown_row(row)

    def memory_status(self, island_id: int | None = None) -> dict[str, Any]:
        """Returns figures of the living, and of those on an island where one is named.

        Raises:
            ValueError: There is no such island.
        """
        with self._following() as register:
            island = register.checked_island(island_id)
            size = len(register.memory)
            found: dict[str, Any] = {
                "global_status": {
                    "current_iteration": register.last_iteration,
                    "is_full": size >= self.population_size,
                    **self._figures(None),
                }
            }
            if island is not None and register.memory.sizes[island]:
                found["island_status"] = {
                    "island_id": island,
                    **self._figures(island),
                    "map_elites_feature_ratio": self._coverage(island),
                }
            return found

    async def save_checkpoint(
        self, path: str | None = None, tag: str | None = None
    ) -> None:
        """Writes a checkpoint into ``<path>/checkpoints/checkpoint-<tag>``.

        An older one of that tag is replaced as a whole.

        Args:
            path: Where; ``output_path`` if ``None``.
            tag: Its name; the time, as ``%Y%m%d-%H%M%S``, if ``None``.

        Raises:
            OSError: It cannot be written.
            ValueError: There is no path, or ``tag`` could lead elsewhere.
        """
        await self._awaited(lambda: self._saved(path, tag))

    def load_checkpoint(self, checkpoint_path: str) -> None:
        """Fills an empty memory with the checkpoint in the folder ``checkpoint_path``.

        One that we wrote under the same options goes on exactly as it would have. Of any
        other one, of LoongFlow's too, the solutions are remembered and those that its
        islands name live. Others who have joined this population already must join anew.

        Raises:
            CheckpointUnreadable: It is damaged.
            FileNotFoundError: There is no such folder.
            ValueError: This memory is not empty, or a field of a solution is out of range.
        """
        with self._following() as register:
            if register.entries:
                raise ValueError(
                    "a checkpoint is loaded into an empty memory, got one of "
                    f"{len(register.entries)} solutions"
                )
            path = folders.found(checkpoint_path)
            if not self._restored(path / folders.JOURNAL):
                folder = folders.read(path)
                # Whole or not at all: first where nobody else looks.
                rehearsal = self._registered(InMemoryJournal())
                checkpoint.load(rehearsal, folder)
                checkpoint.load(self._register, folder)

    def _registered(self, journal: Journal) -> Register:
        try:
            return Register(self.options, journal, self._seed, self._stream)
        except BaseException:
            journal.close()
            raise

    def _restored(self, file: Path) -> bool:
        """Takes over our own checkpoint, if there is one and it has the same options."""
        if not file.is_file():
            return False
        journal = InMemoryJournal()
        load_checkpoint(file, journal)
        try:
            register = self._registered(journal)
        except ConfigurationMismatch:
            return False
        if self._lasting:
            if len(self._register.journal.read(0, _BEGUN + 1)) > _BEGUN:
                # Somebody else's records are there too, which stay.
                return False
            self._register.memory.close()
            purge(self._url, self.memory_id)
            lasting = open_journal(self._url, self.memory_id)
            load_checkpoint(file, lasting)
            register = self._registered(lasting)
        self._register = register
        return True

    async def _awaited(self, call: Callable[[], T]) -> T:
        """Runs ``call`` under the lock, beside the event loop where the store is slow."""

        def locked() -> T:
            with self._lock:
                return call()

        if not self._lasting:
            return locked()
        # Not cancelled half way: what is begun is ended.
        return await asyncio.shield(asyncio.to_thread(locked))

    @contextmanager
    def _following(self) -> Iterator[Register]:
        """Locks the memory, after it has read on."""
        with self._lock:
            self._register.refresh()
            yield self._register

    def _known(self, id: str) -> str:
        self._register.refresh()
        known = self._register.known(id)
        if known is None:
            raise ValueError(f"there is no solution called {id!r}")
        return known

    def _changed(self, id: str, changes: dict[str, Any]) -> str:
        self._register.change(self._known(id), changes)
        return id

    def _figures(self, island: int | None) -> dict[str, Any]:
        register = self._register
        rows = register.distinct(island)
        return figures(
            [(row.score, register.entries[row.record.id].iteration) for row in rows]
        )

    def _coverage(self, island: int) -> float:
        """Returns the share of cells in use; as upstream, one more."""
        register, options = self._register, self.options
        cells = register.features.cells(register.rows(), register.memory.seq)
        used = len(cells[island]) + options.as_upstream
        return float(used / options.bins ** len(options.dimensions))

    def _saved(self, path: str | None, tag: str | None) -> None:
        target = path or self.output_path
        if not target:
            raise ValueError(
                f"path must be given where output_path is not, got {path!r}"
            )
        if tag is None:
            now = datetime.fromtimestamp(Solution.clock())
            tag = now.strftime("%Y%m%d-%H%M%S")
        place = folders.place(target, tag)
        self._register.refresh()
        written = checkpoint.folder_of(self._register, maps_by_name=self._maps_by_name)
        journal = self._register.journal
        folders.write(place, written, lambda file: save_checkpoint(journal, file))
