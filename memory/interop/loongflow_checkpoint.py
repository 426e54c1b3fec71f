"""A population as a checkpoint of LoongFlow's, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memory.interop.loongflow_features import Row
from memory.interop.loongflow_folder import Folder
from memory.interop.loongflow_records import MIGRATED
from memory.interop.loongflow_register import Register, names_of
from memory.interop.loongflow_solution import Solution

#: Values of a dimension that LoongFlow writes.
_VALUES_WRITTEN = 100


def folder_of(register: Register, *, maps_by_name: bool) -> Folder:
    """Returns the checkpoint of a population.

    Copies are solutions of their own there, as LoongFlow has them. It lets all solutions
    of a checkpoint live again when it loads one; we let those live that an island names.

    Args:
        register: The population.
        maps_by_name: Whether cells are written as by LoongFlow's Redis backend.
    """
    rows = register.rows()
    solutions = register.shown_all(register.entries)
    copies = [_copy(register, row) for row in rows if row.copy]
    best = register.memory.best()
    return Folder(
        [*solutions, *copies],
        _metadata(register, rows, len(solutions) + len(copies), maps_by_name),
        None if best is None else register.shown(best.id),
    )


def load(register: Register, folder: Folder) -> None:
    """Remembers all of a checkpoint in an empty population, parents before children.

    Who is on an island lives, on the same one modulo our number of islands; who is on none
    is remembered and does not. A copy is the same solution on another island: where the
    original lives, the next migration makes a copy again; where it does not, it lives on
    the copy's island. Where no island names anybody, all who have a score live. Loading
    is remembering: where there are more than our islands have room for, the worst leave,
    and the loaded ones migrate as others do.

    Raises:
        TypeError: A field of a solution has the wrong type.
        ValueError: A field is out of range.
    """
    solutions = _originals(folder.solutions)
    homes = _homes(folder, solutions)
    dealt = 0
    anywhere = any(folder.islands)
    for id_ in _parents_first(solutions):
        solution = solutions[id_]
        failed = solution.score is None or (
            solution.score == 0.0 and register.options.zero_fails
        )
        island = homes.get(id_)
        lives = not failed and (island is not None or not anywhere)
        if lives and island is None:
            island = dealt
            dealt += 1
        register.put(
            solution,
            _known_parent(solution, solutions, register),
            (island if island is not None else solution.island_id or 0)
            % register.islands,
            failed=failed,
            evicted=not failed and not lives,
        )
    metadata = folder.metadata
    size = register.memory.settings.capacity // register.islands
    register.go_on_from(
        int(metadata.get("last_iteration", 0)),
        int(metadata.get("current_island", 0)) * max(1, size),
    )
    register.refresh()


def _metadata(
    register: Register, rows: Sequence[Row], n_written: int, maps_by_name: bool
) -> dict[str, Any]:
    by_island = [register.rows(island) for island in range(register.islands)]
    cells = register.features.cells(rows, register.memory.seq)
    best = register.memory.best()
    sizes = [len(one) for one in by_island]
    size = max(1, register.memory.settings.capacity // register.islands)
    return {
        "total_generated_solutions": n_written,
        "total_valid_solutions": len(rows),
        "island_feature_map": {str(k): one for k, one in enumerate(cells)}
        if maps_by_name
        else cells,
        "islands": [names_of(one) for one in by_island],
        "elites": register.elites(),
        "best_solution_id": "" if best is None else best.id,
        "island_best_solution": [
            names_of(one[:1])[0] if one else None for one in by_island
        ],
        "last_iteration": register.last_iteration,
        "current_island": register.n_turns // size % register.islands,
        "island_capacity": sizes,
        "last_migration_generation": max(sizes) if register.memory.n_migrations else 0,
        "feature_stats": register.features.statistics(rows, _VALUES_WRITTEN),
    }


def _copy(register: Register, row: Row) -> Solution:
    solution = register.shown_row(row)
    solution.solution_id = row.name
    solution.island_id = row.island
    return solution


def _originals(solutions: Iterable[Solution]) -> dict[str, Solution]:
    """Returns the solutions by id, a copy only where its original is missing."""
    found = {one.solution_id: one for one in solutions if not _is_copy(one)}
    for one in solutions:
        if _is_copy(one):
            id_ = _original(one.solution_id)
            if id_ not in found:
                found[id_] = one.copy()
                found[id_].solution_id = id_
    return found


def _is_copy(solution: Solution) -> bool:
    return bool(
        solution.metadata.get(MIGRATED) and "_migrated_" in solution.solution_id
    )


def _original(id: str) -> str:
    return id.rsplit("_migrated_", 1)[0]


def _homes(folder: Folder, solutions: dict[str, Solution]) -> dict[str, int]:
    """Returns the island that each of the living goes to, its own before a copy's."""
    homes: dict[str, int] = {}
    for island, ids in enumerate(folder.islands):
        for id_ in ids:
            if id_ in solutions:
                homes[id_] = island
    for island, ids in enumerate(folder.islands):
        for id_ in ids:
            if id_ not in solutions and _original(id_) in solutions:
                homes.setdefault(_original(id_), island)
    return homes


def _known_parent(
    solution: Solution, solutions: dict[str, Solution], register: Register
) -> str | None:
    """Returns the parent's id if it was remembered before, as in a tree it was."""
    parent = _named(solution.parent_id, solutions)
    if parent is None or parent == solution.solution_id:
        return None
    return parent if parent in register.memory.lineage() else None


def _named(id: str | None, solutions: dict[str, Solution]) -> str | None:
    while id is not None and id not in solutions:
        id = _original(id) if "_migrated_" in id else None
    return id


def _parents_first(solutions: dict[str, Solution]) -> list[str]:
    """Returns all ids by time, but none before its parent; a circle is cut somewhere."""
    ordered: dict[str, None] = {}
    by_time = sorted(
        solutions,
        key=lambda id_: (
            solutions[id_].timestamp,
            solutions[id_].iteration or 0,
            id_,
        ),
    )
    for id_ in by_time:
        line: dict[str, None] = {}
        one: str | None = id_
        while one is not None and one not in ordered and one not in line:
            line[one] = None
            one = _named(solutions[one].parent_id, solutions)
        ordered |= dict.fromkeys(reversed(line))
    return list(ordered)
