"""The evolutionary memory: the shell around a journal and its fold.

It is the only place of the evolutionary side that holds state between calls. It writes
events, folds what others wrote, and draws parents; every decision is made by a policy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from memory import codec
from memory.control import Step, checked_law, control_step
from memory.following import COMPACT_INTERVAL_ENTRIES
from memory.grid import cell, descriptors
from memory.lineage import Lineage
from memory.policies import Floats, View
from memory.population.state import Population, Spread, evaluated
from memory.randomness import KeyedRandom
from memory.recollection import Recollection, seed_names
from memory.records import (
    LARGEST_INDEX,
    NO_METADATA,
    TOMBSTONES,
    WHOLE,
    Draw,
    Provenance,
    Scalar,
    Solution,
    Status,
    checked_draw,
    count,
    real,
    utf8,
)
from memory.settings import Settings, description
from memory.stores.journal import Journal, JournalTrimmed
from memory.texts import text_key
from memory.validity import Validity, validity

#: An island by its number, or the population as a whole.
Island = int | Literal["all"]


class Parent(NamedTuple):
    """A drawn parent.

    Attributes:
        solution: The solution.
        draw: The draw that chose it.
        step: The step of control.
        migrated: Whether it lives on the island that was drawn from as a copy.
    """

    solution: Solution
    draw: Draw
    step: Step
    migrated: bool = False

    @property
    def text(self) -> str:
        """Text of the solution."""
        return self.solution.text

    @property
    def id(self) -> str:
        """Id of the solution."""
        return self.solution.id

    @property
    def score(self) -> float:
        """Score of the solution."""
        # Only the valid are alive, and they have one.
        return cast(float, self.solution.score)


class Explanation(NamedTuple):
    """Why a draw chose its parent: all that it saw and decided.

    Attributes:
        parent: The parent, its draw, and the step of control with every number in it.
        ids: Ids of the ``n`` candidates; ``parent.step.pick`` is the place of the parent.
        scores: ``(n,)`` scores they were ranked by.
        view: The candidates as selection saw them: scaled scores, weights, elites.
        law: ``(n,)`` probabilities of selection.
    """

    parent: Parent
    ids: tuple[str, ...]
    scores: Floats
    view: View
    law: Floats


class Evaluations(NamedTuple):
    """What is known of the score of one solution.

    Attributes:
        scores: All evaluations since it was last rescored, the first one first.
        mean: Their mean.
        standard_error: Standard error of the mean; NaN for one evaluation.
    """

    scores: tuple[float, ...]
    mean: float
    standard_error: float

    @property
    def n(self) -> int:
        """Number of evaluations."""
        return len(self.scores)


class EvolutionaryMemory(Recollection[Population, Solution]):
    """A population of scored texts that remembers, and draws parents.

    The same seed, settings and calls give the same draws, in every process. Safe for use
    by several threads.

    Args:
        settings: The configuration; the defaults of ``Settings`` if ``None``.
        journal: Where events live; a journal in this process's memory if ``None``.
        seed: Name or names of the random numbers of the population, shared by its
            workers.
        stream: Name of this worker's own decisions; two workers need two names.
        scope: Key of this population within the journal.
        compact_interval: Entries after which a worker that adds takes a snapshot, and
            discards what the retention rule forgot; never by itself if ``None``.

    Raises:
        ConfigurationMismatch: The journal holds this scope under other settings or
            another seed; the message names what differs.
        TypeError: An argument has the wrong type.
    """

    noun = "solution"

    def __init__(
        self,
        settings: Settings | None = None,
        journal: Journal | None = None,
        *,
        seed: int | str | Sequence[int | str] = 0,
        stream: str = "main",
        scope: str = "",
        compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
    ) -> None:
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings must be Settings or None, got {settings!r}")
        self.settings = Settings() if settings is None else settings
        names = seed_names(seed)
        self._names = names
        self._lineage: tuple[int, Lineage] = (0, Lineage())
        self._next_decision = 0
        super().__init__(
            journal,
            described={"settings": description(self.settings), "seed": names},
            key=names,
            stream=stream,
            scope=scope,
            compact_interval=compact_interval,
        )

    @property
    def n_failed(self) -> int:
        """Number of failed attempts."""
        return self._population.n_failed

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the living, in the order of ``view``."""
        with self._lock:
            return self._population.ids()

    @property
    def sizes(self) -> list[int]:
        """Numbers of the living on each island."""
        with self._lock:
            return self._population.sizes

    @property
    def n_remembered(self) -> int:
        """Number of scored solutions, without duplicates and the copies of migration."""
        return self._population.n_remembered

    @property
    def n_migrations(self) -> int:
        """Number of migrations so far."""
        return self._population.n_migrations

    @property
    def duplicates(self) -> tuple[tuple[str, str], ...]:
        """The last duplicates that were not let in: their ids and those they repeat."""
        with self._lock:
            return self._population.duplicates

    @property
    def n_duplicates(self) -> int:
        """Number of duplicates that were not let in."""
        return self._population.n_duplicates

    def remember(
        self,
        text: str,
        score: float,
        *,
        parent: Parent | Solution | str | None = None,
        other_parents: Sequence[Solution] = (),
        weight: float = 1.0,
        island: int | None = None,
        operator: str = "",
        evaluator: str = "",
        inputs: Sequence[str] = (),
        instance_scores: Sequence[float] = (),
        time: float = 0.0,
        metadata: Mapping[str, Scalar] = NO_METADATA,
        id: str | None = None,
    ) -> Solution:
        """Remembers a scored text and returns it as a solution.

        Args:
            text: The solution itself.
            score: Quality, finite, higher is better; zero and negative are scores.
            parent: What it was made from, or its id; a ``Parent`` also records its draw.
            other_parents: Further parents, for recombination.
            weight: Multiplier of the probability of selection; zero means never.
            island: Island it is put on; by default the rule of assignment decides.
            operator: Name of the operator or model that proposed it.
            evaluator: Name and version of what scored it.
            inputs: Names of what else went into it: data, prompts, other records.
            instance_scores: Scores on the instances of the task.
            time: When, in the caller's unit.
            metadata: Flat facts of the user's own.
            id: Unique name; made from the keyed stream if ``None``. Give one to make a
                repeated call harmless.

        Raises:
            TypeError: An argument has the wrong type; the message names it.
            ValueError: An argument is out of range, the id is taken by another solution
                or was forgotten, or a parent is not remembered.
        """
        return self._remember(
            text,
            score,
            Status.VALID,
            parent,
            other_parents,
            id=id,
            weight=weight,
            island=island,
            operator=operator,
            evaluator=evaluator,
            inputs=inputs,
            instance_scores=instance_scores,
            time=time,
            metadata=metadata,
        )

    def remember_failure(
        self,
        text: str,
        reason: str,
        *,
        parent: Parent | Solution | str | None = None,
        other_parents: Sequence[Solution] = (),
        operator: str = "",
        evaluator: str = "",
        inputs: Sequence[str] = (),
        time: float = 0.0,
        metadata: Mapping[str, Scalar] = NO_METADATA,
        id: str | None = None,
    ) -> Solution:
        """Remembers an attempt that got no score; it is never selected.

        The arguments are those of ``remember``; ``reason`` goes into the metadata under
        ``failure``.
        """
        if not isinstance(metadata, Mapping) or "failure" in metadata:
            raise TypeError(
                "metadata must be a mapping without the key 'failure', which holds the "
                f"reason, got {metadata!r}"
            )
        utf8("reason", reason)
        return self._remember(
            text,
            None,
            Status.FAILED,
            parent,
            other_parents,
            id=id,
            operator=operator,
            evaluator=evaluator,
            inputs=inputs,
            time=time,
            metadata={**metadata, "failure": reason},
        )

    def record(self, solution: Solution) -> Solution:
        """Remembers a ready-made solution; the same one again changes nothing.

        Raises:
            TypeError: ``solution`` is not a ``Solution``.
            ValueError: It is of another scope, is retracted, its id is taken by another
                solution or was forgotten, or a parent is not remembered.
        """
        if not isinstance(solution, Solution):
            raise TypeError(f"solution must be a Solution, got {solution!r}")
        self._require_fit(solution)
        if not self._add(solution):
            raise ValueError(
                f"id must be new or name the same solution, got {solution.id!r}, which "
                "another one has"
            )
        return solution

    def rescore(self, id: str, score: float, reason: str) -> Solution:
        """Corrects the score of a solution, which is ranked anew at once.

        What was evaluated before is history: see ``amendments``.

        Args:
            id: Whose score.
            score: The right one, finite.
            reason: Why the old one was wrong.

        Returns:
            The solution as it is now.

        Raises:
            KeyError: There is no such solution.
            TypeError: An argument has the wrong type.
            ValueError: ``score`` is not finite, or the solution failed, is retracted or
                superseded.
        """
        number = real("score", score)
        return self._amend(
            id,
            reason,
            lambda key: codec.Rescored(self.scope, id, key, reason, number),
            score=number,
        )

    def repeat(self, id: str, score: float, reason: str = "") -> Evaluations:
        """Remembers one more evaluation of a solution; it is ranked anew at once.

        Args:
            id: What was evaluated.
            score: Its score this time, finite.
            reason: Of whoever evaluated it again.

        Returns:
            All that is known of its score.

        Raises:
            KeyError: There is no such solution.
            TypeError: An argument has the wrong type.
            ValueError: ``score`` is not finite, or the solution failed, is retracted or
                superseded.
        """
        number = real("score", score)
        with self._lock:
            before, first = self.evaluations(id), cast(float, self._record(id).score)
            self._amend(
                id,
                reason,
                lambda key: codec.Repeated(self.scope, id, key, reason, number, first),
            )
            if self._population.archive.forgotten(id) is not None:
                return _known([*before.scores, number])
            return self.evaluations(id)

    def evaluations(self, id: str) -> Evaluations:
        """Returns what is known of the score of a solution.

        Raises:
            KeyError: There is no such solution.
            ValueError: It failed.
        """
        with self._lock:
            solution = self._record(id)
            if solution.score is None:
                raise ValueError(
                    f"id must name a scored solution, got {id!r}, a failure"
                )
            return _known(self._evaluated(id, solution.score))

    def validity(self) -> Validity:
        """Returns a report on whether the scores of the whole history can be believed."""
        with self._lock:
            return validity(
                {
                    record.id: self._evaluated(record.id, record.score)
                    for record in self._records(self._kept_ids())
                    if record.score is not None
                }
            )

    def select(
        self,
        *,
        island: Island | None = None,
        decision: int | None = None,
        part: int = 0,
        law: bool = False,
        measure: bool = False,
    ) -> Parent:
        """Draws a parent.

        A draw is a function of the configuration, the journal up to now, the island and
        the index of the decision: asking again for the same one gives the same parent.

        Args:
            island: Island to draw from, ``"all"`` for the population as a whole; by
                default the islands take turns, by the index of the decision.
            decision: Index of the decision in this worker's stream; the next one if
                ``None``.
            part: Index of a part of the decision, for a decision of several draws.
            law: Whether to compute the exact law, and from it ``effective_parents``.
            measure: Whether to measure the diversity even where the temperature does not
                follow it.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: Nobody is alive there, nobody has a positive weight, or there is
                no such island.
        """
        with self._lock:
            population = self._population
            index = (
                max(self._next_decision, population.next_decision(self.stream))
                if decision is None
                else count("decision", decision, 0, LARGEST_INDEX)
            )
            count("part", part, 0, LARGEST_INDEX)
            where = self._where(island, index)
            draw = Draw(self.stream, index, population.seq, part, where)
            parent = self._drawn(population, draw, law=law, measure=measure)
            if decision is None:
                self._next_decision = index + 1
            return parent

    def redraw(self, draw: Draw) -> Parent:
        """Makes a past draw again, with its full account: why this parent?

        The journal is folded anew up to the draw, so this costs as much as the journal is
        long; the memory itself stays where it is. Its solution carries what is known of
        it now.

        Args:
            draw: Any draw of this population, of this worker's stream or another's, as
                it stands in the provenance of an offspring.

        Raises:
            JournalTrimmed: What came before it has been trimmed.
            KeyError: The parent was forgotten since.
            TypeError: ``draw`` is not a ``Draw``.
            ValueError: It was made later than what this memory has folded in, or on an
                island that there is not.
        """
        return self._redrawn(draw)[0]

    def explain(self, draw: Draw) -> Explanation:
        """Makes a past draw again, and returns all that it saw and decided.

        The arguments, the cost and the errors are those of ``redraw``.
        """
        parent, past = self._redrawn(draw)
        where, view = draw.island, past.view(draw.island)
        law = checked_law(self.settings.selection, view, parent.step.temperature)
        return Explanation(parent, past.ids(where), past.scores(where), view, law)

    def law(self, island: Island | None = None) -> tuple[tuple[str, ...], Floats]:
        """Returns ids and ``(n,)`` exact probabilities of the next selection.

        Args:
            island: As for ``select``; by default that of the next decision.
        """
        with self._lock:
            population = self._population
            index = max(self._next_decision, population.next_decision(self.stream))
            where = self._where(island, index)
            signal = population.signal(where, measure=False)
            control = self.settings.temperature.control(population.state(where), signal)
            return population.ids(where), checked_law(
                self.settings.selection, population.view(where), control.temperature
            )

    def view(self, island: Island = "all") -> View:
        """Returns the living as arrays, a copy; scores are scaled, weights adjusted."""
        with self._lock:
            view = self._population.view(self._where(island, 0))
            copied: dict[str, Any] = {
                name: value.copy()
                for name, value in view._asdict().items()
                if isinstance(value, np.ndarray)
            }
            return view._replace(**copied)

    def diversity(self, island: Island = "all") -> float:
        """Returns the diversity of the living as the metric measures it."""
        with self._lock:
            return self._population.diversity(self._where(island, 0))

    def living(self, island: Island = "all") -> list[Solution]:
        """Returns the living, the best first, the oldest first on ties.

        Each one once, on however many islands it has copies.
        """
        with self._lock:
            return self._solutions_of(dict.fromkeys(self._ranked_ids(island)))

    def best(self, island: Island | None = None) -> Solution | None:
        """Returns the best solution ever remembered, the first to be so on ties.

        Where the best was corrected since, the best of the living takes its place.

        Args:
            island: Where given, the best of the living there.
        """
        with self._lock:
            id_ = self._population.best_id
            if island is not None:
                ids = self._ranked_ids(island)
                id_ = ids[0] if ids else None
            return None if id_ is None else self.get(id_)

    def home(self, id: str) -> int | None:
        """Returns the island that a solution lives on; ``None`` if it is not alive."""
        with self._lock:
            return self._population.home(id)

    def history(self) -> list[Solution]:
        """Returns every solution that is kept, failed ones too, in their order.

        Where the rows of the oldest have been trimmed, those come first, in the order in
        which they died, and then the living.
        """
        with self._lock:
            return self._solutions_of(self._kept_ids())

    def lineage(self) -> Lineage:
        """Returns who descends from whom, across islands, evictions and tombstones.

        The first call reads the whole history, later ones what has come since.
        """
        with self._lock:
            seq, lineage = self._lineage
            if seq < self.seq:
                for solution in self._records(self._kept_ids(after=seq)):
                    lineage.add(solution.id, solution.parent_ids)
                self._lineage = (self.seq, lineage)
            return lineage

    @property
    def _population(self) -> Population:
        return self._following.fold

    def _new_fold(self, document: dict[str, Any] | None) -> Population:
        population = Population(self.settings, KeyedRandom(*self._names), self.scope)
        if document is not None:
            population.restore(document)
        return population

    def _decoded(self, body: bytes) -> Solution:
        return codec.solution(body)

    def _where(self, island: Island | None, decision: int) -> int:
        """Returns the island to draw from, or ``WHOLE``."""
        n = self.settings.islands
        if island is None:
            sizes = self._population.sizes
            turns = [(decision + turn) % n for turn in range(n)]
            return next((one for one in turns if sizes[one]), turns[0])
        if island == "all":
            return 0 if n == 1 else WHOLE
        if isinstance(island, str):
            raise ValueError(f"island must be a number or 'all', got {island!r}")
        if count("island", island) >= n:
            raise ValueError(f"island must lie in [0, {n}), got {island}")
        return int(island)

    def _redrawn(self, draw: Draw) -> tuple[Parent, Population]:
        draw = checked_draw(draw)
        if draw.island >= self.settings.islands:
            raise ValueError(
                f"draw.island must lie in [0, {self.settings.islands}), got {draw.island}"
            )
        with self._lock:
            past = self.past(draw.seq)
            return self._drawn(past, draw, law=True, measure=True), past

    def _drawn(
        self, population: Population, draw: Draw, *, law: bool, measure: bool
    ) -> Parent:
        random = self._own
        if draw.stream != self.stream:
            random = KeyedRandom(*self._names, draw.stream)
        where = draw.island
        if not population.scores(where).size:
            raise ValueError(
                "the population must not be empty where a parent is drawn, got the sizes "
                f"{population.sizes} of its islands; sync() reads what others have added"
            )
        step = control_step(
            population.view(where),
            population.signal(where, measure=measure),
            population.state(where),
            temperature=self.settings.temperature,
            selection=self.settings.selection,
            rng=random.generator("selection", draw.decision, draw.part),
            law=law,
        )
        id_, copy = population.drawn(step.pick, where)
        return Parent(self.get(id_), draw._replace(migrated=copy), step, copy)

    def _in_use(self, id: str) -> Solution:
        solution = super()._in_use(id)
        if solution.status is Status.FAILED:
            raise ValueError(f"id must name a scored solution, got {id!r}, a failure")
        return solution

    def _amended(self, record: Solution) -> Solution:
        archive, solution = self._population.archive, record
        if not archive.amendments(solution.id):
            return solution
        changes: dict[str, Any] = {}
        tombstone = archive.tombstone(solution.id)
        if tombstone is not None:
            changes["status"] = Status(tombstone.kind)
        if solution.score is not None:
            scores = self._evaluated(solution.id, solution.score)
            changes["score"] = Spread.of(scores).mean
        return dataclasses.replace(solution, **changes)

    def _evaluated(self, id: str, first: float) -> list[float]:
        return evaluated(first, self._population.archive.amendments(id))

    def _ranked_ids(self, island: Island) -> list[str]:
        """Returns the ids of the living, the best first, the oldest first on ties."""
        where, population = self._where(island, 0), self._population
        order = np.lexsort((population.orders(where), -population.scores(where)))
        ids = population.ids(where)
        return [ids[slot] for slot in order]

    def _solutions_of(self, ids: Iterable[str]) -> list[Solution]:
        return [self._amended(record) for record in self._records(ids)]

    def _kept_ids(self, after: int = 0) -> list[str]:
        """Returns the ids of what was remembered after an entry, in their order."""
        ids: list[str] = []
        population = self._population
        while after < population.seq:
            try:
                entries = self._following.journal.read(after)
            except JournalTrimmed as error:
                after = error.first - 1
                if population.archive.accounts:
                    ids += [*population.archive.kept, *population.ids()]
                continue
            for number, row in entries:
                fields = codec.fields(row, number)
                # What others have written since is for the next ``sync``.
                if number > population.seq:
                    break
                if fields[1] == self.scope and fields[0] in codec.RECORDS:
                    ids.append(fields[2])
            after = entries[-1].seq
        return list(dict.fromkeys(ids))

    def _require_fit(self, solution: Solution) -> None:
        """Refuses what is of another scope, a tombstone, or for an island too many."""
        if solution.scope != self.scope:
            raise ValueError(
                f"scope must be {self.scope!r}, this memory's own, got "
                f"{solution.scope!r}"
            )
        if solution.status in TOMBSTONES:
            raise ValueError(
                "status must be valid or failed when a solution is remembered, got "
                f"{str(solution.status)!r}"
            )
        if solution.island is not None and solution.island >= self.settings.islands:
            raise ValueError(
                f"island must lie in [0, {self.settings.islands}), got {solution.island}"
            )

    def _require_parents(self, solution: Solution) -> None:
        """Refuses parents that nobody knows, which also makes a cycle impossible."""
        unknown = [
            id_
            for id_ in solution.parent_ids
            if id_ not in self._known
            and id_ not in self._population
            and not self._population.archive.may_have_held(id_)
        ]
        if unknown:
            bodies = self._following.journal.fetch([self._key(id_) for id_ in unknown])
            for id_, body in zip(unknown, bodies, strict=True):
                if body is None:
                    raise ValueError(
                        f"parent_ids must name solutions that are remembered, got {id_!r}"
                    )

    def _add(self, solution: Solution) -> bool:
        """Appends a solution; returns false where another one has its id."""
        body = codec.body(solution)
        with self._lock:
            self._require_new(solution.id)
            self._require_parents(solution)
            event = self._announced(solution, len(body))
            if isinstance(event, codec.Remembered):
                self._population.rehearse(event)
            row = codec.row(event)
            key = self._key(solution.id)
            if not self._following.put(key, row, body):
                return False
            self._keep(solution)
            return True

    def _announced(
        self, solution: Solution, size: int
    ) -> codec.Remembered | codec.Failed:
        """Returns what every worker needs to know of a solution, and no more."""
        settings, population = self.settings, self._population
        draw = solution.provenance.draw
        accounts = population.archive.accounts
        time = solution.time if accounts else 0.0
        if solution.score is None:
            return codec.Failed(self.scope, solution.id, draw, size, time)
        apart = settings.islands > 1
        values = descriptors(settings.axes, solution.text, solution.score)
        # Found out by the fold, a wrong bin would be in the journal for ever.
        cell(settings.axes, values)
        return codec.Remembered(
            self.scope,
            solution.id,
            solution.score,
            solution.weight,
            draw,
            settings.diversity.features(solution.text),
            size,
            solution.island,
            self._origin(solution) if apart and solution.island is None else None,
            solution.generation if apart else 0,
            text_key(solution.text) if apart or settings.deduplicate else "",
            values,
            time,
        )

    def _origin(self, solution: Solution) -> int | None:
        """Returns the island of the first parent, as far as it is known here."""
        draw = solution.provenance.draw
        # A draw may be of another population, with more islands.
        if draw is not None and WHOLE < draw.island < self.settings.islands:
            return draw.island
        parents = solution.parent_ids
        return self._population.last_home(parents[0]) if parents else None

    def _remember(
        self,
        text: str,
        score: float | None,
        status: Status,
        parent: Parent | Solution | str | None,
        other_parents: Sequence[Solution],
        *,
        id: str | None,
        **fields: Any,  # noqa: ANN401
    ) -> Solution:
        """Remembers a new solution, under an id that is made where none is given."""
        with self._lock:
            while True:
                made = self._minted() if id is None else id
                solution = self._solution(
                    text, score, status, parent, other_parents, id=made, **fields
                )
                if id is not None:
                    return self.record(solution)
                self._require_fit(solution)
                # A worker that goes by the same stream may have been faster: what it
                # wrote is folded in now, and the next id is another.
                if self._add(solution):
                    return solution

    def _solution(
        self,
        text: str,
        score: float | None,
        status: Status,
        parent: Parent | Solution | str | None,
        other_parents: Sequence[Solution],
        *,
        id: str,
        operator: str,
        evaluator: str,
        inputs: Sequence[str],
        **fields: object,
    ) -> Solution:
        draw = None
        if not isinstance(other_parents, Sequence) or not all(
            isinstance(one, Solution) for one in other_parents
        ):
            raise TypeError(
                f"other_parents must be a sequence of Solutions, got {other_parents!r}"
            )
        parents: tuple[Solution, ...] = tuple(other_parents)
        if isinstance(parent, Parent):
            draw = parent.draw
            parents = (parent.solution, *parents)
        elif isinstance(parent, Solution):
            parents = (parent, *parents)
        elif isinstance(parent, str):
            parents = (self.get(parent), *parents)
        elif parent is not None:
            raise TypeError(
                f"parent must be a Parent, a Solution or an id, got {parent!r}"
            )
        for one in parents:
            if one.scope != self.scope:
                raise ValueError(
                    f"parent must be of scope {self.scope!r}, this memory's own, got "
                    f"{one.id!r} of {one.scope!r}"
                )
        return Solution(
            id=id,
            text=text,
            score=score,
            status=status,
            scope=self.scope,
            parent_ids=tuple([solution.id for solution in parents]),
            generation=1 + max([s.generation for s in parents], default=-1),
            provenance=Provenance(operator, evaluator, draw, _inputs(inputs)),
            **fields,  # type: ignore[arg-type]
        )


def _known(scores: Sequence[float]) -> Evaluations:
    spread, error = Spread.of(scores), math.nan
    if spread.n > 1:
        error = math.sqrt(spread.squares / (spread.n - 1) / spread.n)
    return Evaluations(tuple(scores), spread.mean, error)


def _inputs(inputs: Sequence[str]) -> tuple[str, ...]:
    if isinstance(inputs, str) or not isinstance(inputs, Sequence):
        raise TypeError(f"inputs must be a sequence of strings, got {inputs!r}")
    return tuple(inputs)
