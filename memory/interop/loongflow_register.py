"""The population behind LoongFlow's interface: records, notes, and what is kept in mind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from memory.evolution import EvolutionaryMemory, Parent
from memory.interop import loongflow_records as records
from memory.interop.loongflow_features import Features, Row, copy_name
from memory.interop.loongflow_options import Options
from memory.interop.loongflow_records import CELL, MIGRATED, Entry, Place
from memory.interop.loongflow_solution import Solution, Unset
from memory.interop.notes import Notes
from memory.randomness import KeyedRandom
from memory.records import WHOLE, Draw, count, real, utf8
from memory.records import Solution as Record
from memory.stores.journal import Journal

_COPY = re.compile(r"(.+)_migrated_(\d+)", re.DOTALL)
#: Parents whose children are still to come.
_PARENTS_KEPT = 1_000
#: New records beyond which it is cheaper to read all of them at once.
_MANY = 32
#: Notes on the population as a whole are under this id, which no record has.
_WHOLE = ""


class Register:
    """One population, kept up with. Not locked: the owner locks.

    Args:
        options: The options.
        journal: Where it lives.
        seed: Name of its random numbers.
        stream: Name of this worker's own decisions.
    """

    def __init__(
        self, options: Options, journal: Journal, seed: int | str, stream: str
    ) -> None:
        self.options = options
        self.journal = journal
        self.memory = EvolutionaryMemory(
            options.deciding(), journal, seed=seed, stream=stream
        )
        self.islands = self.memory.settings.islands
        self._random = KeyedRandom(seed, stream, "loongflow")
        self.notes = Notes(
            journal, "loongflow notes", KeyedRandom(seed, stream, "notes")
        )
        self.features = Features(options, self.islands)
        self.entries: dict[str, Entry] = {}
        self._n_turns = 0
        self._last_iteration = 0
        self._sampled: dict[str, tuple[Draw | None, int]] = {}
        self._n_asked = (-1, 0)
        self._rows: tuple[int, list[Row]] = (-1, [])
        self.refresh()

    @property
    def last_iteration(self) -> int:
        """The largest iteration so far."""
        noted = self.notes.of(_WHOLE).get("last_iteration", 0)
        return max(self._last_iteration, int(noted))

    @property
    def n_turns(self) -> int:
        """How many turns the rule of assignment has taken."""
        return self._n_turns + int(self.notes.of(_WHOLE).get("turns", 0))

    def go_on_from(self, last_iteration: int, turns: int) -> None:
        """Notes where a loaded population had got to."""
        self.notes.set(_WHOLE, {"last_iteration": last_iteration, "turns": turns})

    def refresh(self) -> None:
        """Reads what has come since."""
        self.memory.sync()
        self.notes.sync()
        new = list(islice(self.memory.lineage(), len(self.entries), None))
        arrived = []
        for record in self._found(new).values():
            entry = records.entry(record, len(self.entries))
            self.entries[record.id] = entry
            self._n_turns += entry.turn
            self._last_iteration = max(self._last_iteration, entry.iteration)
            arrived.append((record, self._own_island(record.id) or 0))
        if new and self.options.running:
            self.features.arrive(arrived)
            self.features.settle(self.rows())

    def known(self, id: str | None) -> str | None:
        """Returns the id of the record that ``id`` names, itself or as a copy."""
        while id is not None and id not in self.entries:
            found = _COPY.fullmatch(id)
            id = None if found is None else found[1]
        return id

    def rows(self, island: int | None = None) -> list[Row]:
        """Returns the living, copies too, the best first, the oldest first on ties."""
        if self._rows[0] != self.memory.seq:
            found = []
            for one in range(self.islands):
                for record in self.memory.living(one):
                    copy = self._own_island(record.id) != one
                    order = self.entries[record.id].order
                    found.append(Row(record, one, copy, order))
            found.sort(key=lambda row: (-row.score, row.order, row.copy))
            self._rows = (self.memory.seq, found)
        return [row for row in self._rows[1] if island in (None, row.island)]

    def distinct(self, island: int | None = None) -> list[Row]:
        """Returns ``rows`` with each solution once; as upstream, copies count too."""
        rows = self.rows(island)
        if self.options.as_upstream:
            return rows
        seen: dict[str, Row] = {}
        for row in rows:
            seen.setdefault(row.record.id, row)
        return list(seen.values())

    def shown(self, id: str) -> Solution:
        """Returns the record called ``id``, alive or not."""
        return self._shown(self.memory.get(id))

    def shown_all(self, ids: Iterable[str]) -> list[Solution]:
        """Returns the records called ``ids``, but for those that were forgotten."""
        wanted = list(ids)
        found = self._found(wanted)
        return [self._shown(found[id_]) for id_ in wanted if id_ in found]

    def shown_row(self, row: Row) -> Solution:
        """Returns one of the living, as a copy where it lives as one."""
        found = self._placed(self._solution(row.record, row.island), row.record.id)
        if row.copy:
            found.metadata[MIGRATED] = True
            if self.options.as_upstream:
                found.solution_id = row.name
        return found

    def add(self, solution: Solution) -> str:
        """Remembers a solution, whole or not at all, and returns its id.

        Raises:
            TypeError: A field has the wrong type; the message names it.
            ValueError: A field is out of range, or the id is another one's.
        """
        self.refresh()
        id_ = utf8("solution_id", solution.solution_id)
        id_ = id_ or self._random.identifier(self.memory.seq)
        score = None if solution.score is None else real("score", solution.score)
        failed = score is None or (score == 0.0 and self.options.zero_fails)
        parent = self.known(solution.parent_id)
        if solution.parent_id and solution.parent_id == id_:
            raise ValueError(
                f"parent_id must name another solution than itself, got {id_!r}"
            )
        self.memory.record(
            records.record(
                solution,
                id_,
                self._place(solution, parent),
                scope=self.memory.scope,
                parent=parent,
                draw=self._sampled.get(parent or "", (None, 0))[0],
                failed=failed,
            )
        )
        self.refresh()
        return id_

    def put(
        self,
        solution: Solution,
        parent: str | None,
        island: int,
        *,
        failed: bool,
        evicted: bool,
    ) -> None:
        """Remembers a solution of a checkpoint where it was."""
        iteration = count("iteration", solution.iteration or 0)
        place = Place(island, count("generation", solution.generation), iteration)
        self.memory.record(
            records.record(
                solution,
                utf8("solution_id", solution.solution_id),
                place,
                scope=self.memory.scope,
                parent=parent,
                failed=failed,
                evicted=evicted,
            )
        )

    def change(self, id: str, changes: dict[str, Any]) -> None:
        """Notes changes of a record, all or none of them.

        Raises:
            TypeError: A value has the wrong type.
            ValueError: A name may not be changed, or a value is out of range.
        """
        wanted = records.checked(changes)
        if "score" in wanted:
            self.memory.rescore(id, wanted.pop("score"), "update_solution")
        if wanted:
            self.notes.set(id, wanted)
        self._rows = (-1, [])

    def sampled(self, island: int | None, rate: float) -> Row | None:
        """Draws one of the living; ``None`` if there is nobody."""
        rows = self.rows(island)
        if not rows:
            return None
        seq = self.memory.seq
        asked = self._n_asked[1] + 1 if self._n_asked[0] == seq else 0
        self._n_asked = (seq, asked)
        rng = self._random.generator("selection", seq, asked)
        explored, which = rng.random() < rate, rng.random()
        if explored:
            row = rows[int(which * len(rows))]
            self._expect(row, None)
            return row
        parent = self.memory.select(island="all" if island is None else island)
        there = self._island_of(parent)
        row = next(r for r in rows if (r.record.id, r.island) == (parent.id, there))
        self._expect(row, parent.draw)
        return row

    def elites(self) -> list[str]:
        """Returns the ids of the elites."""
        if len(self.memory) == 0:
            return []
        flags = self.memory.view().elites
        ids = self.memory.ids
        return list(
            dict.fromkeys(id_ for id_, one in zip(ids, flags, strict=True) if one)
        )

    def checked_island(self, island_id: int | None) -> int | None:
        """Returns ``island_id``, if there is such an island.

        Raises:
            TypeError: It is no integer.
            ValueError: There is none.
        """
        return None if island_id is None else self._checked(island_id)

    def _checked(self, island_id: int) -> int:
        if count("island_id", island_id) >= self.islands:
            raise ValueError(
                f"island_id must lie in [0, {self.islands}), got {island_id}"
            )
        return int(island_id)

    def _expect(self, row: Row, draw: Draw | None) -> None:
        """Keeps in mind, for the children of ``row``, where and how it was drawn."""
        self._sampled.pop(row.record.id, None)
        self._sampled[row.record.id] = (draw, row.island)
        if len(self._sampled) > _PARENTS_KEPT:
            del self._sampled[next(iter(self._sampled))]

    def _island_of(self, parent: Parent) -> int:
        """Returns the island that a parent was found on."""
        if parent.draw.island != WHOLE:
            return parent.draw.island
        place = parent.step.pick
        for island, size in enumerate(self.memory.sizes):
            if place < size:
                return island
            place -= size
        raise IndexError(f"there are fewer than {parent.step.pick} living")

    def _origin(self, named: str | None, parent: str | None) -> int | None:
        """Returns the island that a child of ``parent`` comes from.

        Args:
            named: The parent as the child names it, maybe as a copy.
            parent: The parent's own id, if it is known.
        """
        if parent is None:
            return None
        found = _COPY.fullmatch(named or "")
        if named != parent and found is not None:
            return int(found[2]) % self.islands
        if not self.options.as_upstream and parent in self._sampled:
            return self._sampled[parent][1]
        return self._own_island(parent)

    def _shown(self, record: Record) -> Solution:
        id, entry = record.id, self.entries[record.id]
        island = self._own_island(id) if entry.scored else entry.island
        found = self._solution(record, island)
        return found if self.memory.home(id) is None else self._placed(found, id)

    def _found(self, ids: Sequence[str]) -> dict[str, Record]:
        """Returns the records called ``ids`` in their order, but for the forgotten."""
        if len(ids) > _MANY:
            history = {record.id: record for record in self.memory.history()}
            return {id_: history[id_] for id_ in ids if id_ in history}
        found = {}
        for id_ in ids:
            # Only a configuration of the user's own forgets.
            with suppress(KeyError):
                found[id_] = self.memory.get(id_)
        return found

    def _own_island(self, id: str) -> int | None:
        """Returns the island that a record was put on."""
        island = self.entries[id].island
        return self.memory.home(id) if island is None else island

    def _place(self, solution: Solution, parent: str | None) -> Place:
        as_upstream, asked = self.options.as_upstream, solution.island_id
        given = solution.iteration
        unset = given is None or isinstance(given, Unset) or (as_upstream and not given)
        iteration = (
            self.last_iteration + 1 if unset else count("iteration", solution.iteration)
        )
        generation = count("generation", solution.generation)
        follows = generation
        if parent is not None:
            follows = self.entries[parent].generation + 1
        if not (
            asked is None or isinstance(asked, Unset) or (as_upstream and not asked)
        ):
            island = self._checked(asked)
            return Place(island, generation if as_upstream else follows, iteration)
        rule, sizes = self.memory.settings.assignment, self.memory.sizes
        origin = self._origin(solution.parent_id, parent)
        island = int(rule.island(origin, sizes, self.n_turns))
        counts = getattr(rule, "counts", None)
        turn = bool(counts is None or counts(origin, sizes))
        if as_upstream and (origin is None or min(sizes) == 0):
            follows = generation
        return Place(island, follows, iteration, turn)

    def _solution(self, record: Record, island: int | None) -> Solution:
        notes, added = self.notes.of(record.id), self.notes.added(record.id)
        return records.solution(record, notes, added, island)

    def _placed(self, solution: Solution, id: str) -> Solution:
        """Returns one of the living with its coordinates."""
        text = self.features.text(id, self.rows(), self.memory.seq)
        if text is not None:
            solution.metadata[CELL] = text
        return solution


def names_of(rows: Sequence[Row]) -> list[str]:
    """Returns the ids of ``rows``, copies under the names that LoongFlow gives them."""
    return [
        copy_name(row.record.id, row.island) if row.copy else row.record.id
        for row in rows
    ]
