"""The evolutionary memory: the shell around a journal and its fold.

It is the only place of the evolutionary side that holds state between calls. It writes
events, folds what others wrote, and draws parents; every decision is made by a policy.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from numbers import Integral
from types import TracebackType
from typing import NamedTuple, cast

import numpy as np

from memory import codec
from memory.control import Step, checked_law, control_step
from memory.policies import Floats, View
from memory.population.state import Population
from memory.randomness import KeyedRandom
from memory.records import (
    LARGEST_INDEX,
    NO_METADATA,
    Draw,
    Provenance,
    Scalar,
    Solution,
    Status,
    checked_draw,
    count,
    utf8,
)
from memory.settings import Settings, description, differences, fingerprint
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import LIMIT, Entry, Journal


class Parent(NamedTuple):
    """A drawn parent: the solution, the draw that chose it, and the step of control."""

    solution: Solution
    draw: Draw
    step: Step

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


def _names(seed: object) -> list[int | str]:
    """Returns the names that a seed stands for."""
    if isinstance(seed, str | Integral):
        seed = [seed]
    if not isinstance(seed, list | tuple):
        raise TypeError(
            f"seed must be an integer, a string, or a list of them, got {seed!r}"
        )
    names: list[int | str] = []
    for index, name in enumerate(seed):
        if isinstance(name, str):
            names.append(utf8(f"seed[{index}]", name))
        elif isinstance(name, Integral) and not isinstance(name, bool):
            names.append(int(name))
        else:
            raise TypeError(
                "seed must be an integer, a string, or a list of them, got "
                f"{name!r} at place {index}"
            )
    return names


class ConfigurationMismatch(ValueError):
    """The journal belongs to a population of another configuration."""


class EvolutionaryMemory:
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

    Raises:
        ConfigurationMismatch: The journal holds this scope under other settings or
            another seed; the message names what differs.
        TypeError: An argument has the wrong type.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        journal: Journal | None = None,
        *,
        seed: int | str | Sequence[int | str] = 0,
        stream: str = "main",
        scope: str = "",
    ) -> None:
        if settings is not None and not isinstance(settings, Settings):
            raise TypeError(f"settings must be Settings or None, got {settings!r}")
        self.settings = Settings() if settings is None else settings
        names = _names(seed)
        self.stream = utf8("stream", stream)
        self.scope = utf8("scope", scope)
        if journal is not None and not callable(
            getattr(journal, "append_and_read", None)
        ):
            raise TypeError(f"journal must be a Journal or None, got {journal!r}")
        self._journal: Journal = InMemoryJournal() if journal is None else journal
        self._names = names
        self._own = KeyedRandom(*names, stream)
        self._population = Population(self.settings, KeyedRandom(*names), scope)
        # The length makes the prefix of a scope no prefix of another one's keys.
        self._prefix = f"{len(scope)}:{scope}:"
        self._lock = threading.RLock()
        self._solutions: dict[str, Solution] = {}
        self._next_decision = 0
        self._configure({"settings": description(self.settings), "seed": names})
        self.sync()

    def __enter__(self) -> EvolutionaryMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leaves the journal as it is: every acknowledged event is in it already."""

    def __len__(self) -> int:
        """Returns the number of the living."""
        with self._lock:
            return len(self._population)

    @property
    def seq(self) -> int:
        """Number of journal entries that have been folded in."""
        return self._population.seq

    @property
    def n_failed(self) -> int:
        """Number of failed attempts."""
        return self._population.n_failed

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the living, in the order of ``view``."""
        with self._lock:
            return self._population.ids

    def digest(self) -> str:
        """Returns a hash of the population: equal in every worker that has read on."""
        with self._lock:
            return self._population.digest()

    def remember(
        self,
        text: str,
        score: float,
        *,
        parent: Parent | Solution | None = None,
        other_parents: Sequence[Solution] = (),
        weight: float = 1.0,
        operator: str = "",
        evaluator: str = "",
        instance_scores: Sequence[float] = (),
        time: float = 0.0,
        metadata: Mapping[str, Scalar] = NO_METADATA,
        id: str | None = None,
    ) -> Solution:
        """Remembers a scored text and returns it as a solution.

        Args:
            text: The solution itself.
            score: Quality, finite, higher is better; zero and negative are scores.
            parent: What it was made from; a ``Parent`` also records its draw.
            other_parents: Further parents, for recombination.
            weight: Multiplier of the probability of selection; zero means never.
            operator: Name of the operator or model that proposed it.
            evaluator: Name and version of what scored it.
            instance_scores: Scores on the instances of the task.
            time: When, in the caller's unit.
            metadata: Flat facts of the user's own.
            id: Unique name; made from the keyed stream if ``None``. Give one to make a
                repeated call harmless.

        Raises:
            TypeError: An argument has the wrong type; the message names it.
            ValueError: An argument is out of range, or the id is taken by another
                solution.
        """
        with self._lock:
            return self.record(
                self._solution(
                    text,
                    score,
                    Status.VALID,
                    parent,
                    other_parents,
                    id=id,
                    weight=weight,
                    operator=operator,
                    evaluator=evaluator,
                    instance_scores=instance_scores,
                    time=time,
                    metadata=metadata,
                )
            )

    def remember_failure(
        self,
        text: str,
        reason: str,
        *,
        parent: Parent | Solution | None = None,
        other_parents: Sequence[Solution] = (),
        operator: str = "",
        evaluator: str = "",
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
        with self._lock:
            return self.record(
                self._solution(
                    text,
                    None,
                    Status.FAILED,
                    parent,
                    other_parents,
                    id=id,
                    operator=operator,
                    evaluator=evaluator,
                    time=time,
                    metadata={**metadata, "failure": reason},
                )
            )

    def record(self, solution: Solution) -> Solution:
        """Remembers a ready-made solution; the same one again changes nothing.

        Raises:
            TypeError: ``solution`` is not a ``Solution``.
            ValueError: It is of another scope, is retracted, or its id is taken by
                another solution.
        """
        if not isinstance(solution, Solution):
            raise TypeError(f"solution must be a Solution, got {solution!r}")
        if solution.scope != self.scope:
            raise ValueError(
                f"scope must be {self.scope!r}, this memory's own, got "
                f"{solution.scope!r}"
            )
        if solution.status is Status.RETRACTED:
            raise ValueError(
                "status must be valid or failed when a solution is remembered, got "
                "'retracted'"
            )
        row, body = codec.row(self._event(solution)), codec.body(solution)
        with self._lock:
            key = self._key(solution.id)
            # One round trip: the answer holds all that others wrote in between.
            appended = self._journal.append_and_read(
                key, row, body, self._population.seq
            )
            if appended.new:
                self._solutions[solution.id] = solution
            else:
                self._check_same(solution, key, body)
            self._fold(appended.entries)
        return solution

    def select(
        self,
        *,
        decision: int | None = None,
        part: int = 0,
        law: bool = False,
        measure: bool = False,
    ) -> Parent:
        """Draws a parent.

        A draw is a function of the configuration, the journal up to now and the index of
        the decision: asking again for the same one gives the same parent.

        Args:
            decision: Index of the decision in this worker's stream; the next one if
                ``None``.
            part: Index of a part of the decision, for a decision of several draws.
            law: Whether to compute the exact law, and from it ``effective_parents``.
            measure: Whether to measure the diversity even where the temperature does not
                follow it.

        Raises:
            ValueError: Nobody is alive, or nobody has a positive weight.
        """
        with self._lock:
            population = self._population
            index = (
                max(self._next_decision, population.next_decision(self.stream))
                if decision is None
                else count("decision", decision, 0, LARGEST_INDEX)
            )
            count("part", part, 0, LARGEST_INDEX)
            draw = Draw(self.stream, index, population.seq, part)
            rng = self._own.generator("selection", index, part)
            parent = self._drawn(population, draw, rng, law=law, measure=measure)
            self._solutions[parent.id] = parent.solution
            if decision is None:
                self._next_decision = index + 1
            return parent

    def redraw(self, draw: Draw) -> Parent:
        """Makes a past draw again, with its full account: why this parent?

        The journal is folded anew up to the draw, so this costs as much as the journal is
        long; the memory itself stays where it is.

        Args:
            draw: Any draw of this population, of this worker's stream or another's, as
                it stands in the provenance of an offspring.

        Raises:
            TypeError: ``draw`` is not a ``Draw``.
            ValueError: It was made later than what this memory has folded in.
        """
        draw = checked_draw(draw)
        with self._lock:
            past = self.past(draw.seq)
            random = KeyedRandom(*self._names, draw.stream)
            rng = random.generator("selection", draw.decision, draw.part)
            return self._drawn(past, draw, rng, law=True, measure=True)

    def past(self, seq: int) -> Population:
        """Returns the population as it was after the first ``seq`` entries, to look at.

        The journal is folded anew, so this costs as much as the journal is long.

        Raises:
            TypeError: ``seq`` is not an integer.
            ValueError: It lies beyond what this memory has folded in.
        """
        if not 1 <= count("seq", seq) <= self.seq:
            raise ValueError(
                f"seq must lie in [1, {self.seq}], what this memory has folded in, got "
                f"{seq}"
            )
        past = Population(self.settings, KeyedRandom(*self._names), self.scope)
        while past.seq < seq:
            limit = min(10_000, seq - past.seq)
            for number, row in self._journal.read(past.seq, limit):
                past.apply(number, codec.event(row, number))
        return past

    def _drawn(
        self,
        population: Population,
        draw: Draw,
        rng: np.random.Generator,
        *,
        law: bool,
        measure: bool,
    ) -> Parent:
        step = control_step(
            population.view(),
            population.signal(measure=measure),
            population.state,
            temperature=self.settings.temperature,
            selection=self.settings.selection,
            rng=rng,
            law=law,
        )
        return Parent(self.get(population.id_at(step.pick)), draw, step)

    def law(self) -> tuple[tuple[str, ...], Floats]:
        """Returns ids and ``(n,)`` exact probabilities of the next selection."""
        with self._lock:
            population = self._population
            signal = population.signal(measure=False)
            control = self.settings.temperature.control(population.state, signal)
            return population.ids, checked_law(
                self.settings.selection, population.view(), control.temperature
            )

    def view(self) -> View:
        """Returns the living as arrays, a copy; scores are scaled."""
        with self._lock:
            scores, weights, elites, seqs, recent = self._population.view()
            return View(
                scores.copy(), weights.copy(), elites.copy(), seqs.copy(), recent
            )

    def diversity(self) -> float:
        """Returns the diversity of the living as the metric measures it."""
        with self._lock:
            return self._population.diversity()

    def best(self) -> Solution | None:
        """Returns the best solution ever remembered, the oldest on ties."""
        with self._lock:
            id_ = self._population.best_id
            return None if id_ is None else self.get(id_)

    def get(self, id: str) -> Solution:
        """Returns the solution called ``id``, alive or not.

        Raises:
            KeyError: There is none.
        """
        with self._lock:
            solution = self._solutions.get(id)
            if solution is None:
                body = self._journal.fetch([self._key(id)])[0]
                if body is None:
                    raise KeyError(f"id must name a solution, got {id!r}")
                solution = codec.solution(body)
            return solution

    def history(self) -> list[Solution]:
        """Returns every solution remembered so far, failed ones too, in their order.

        A solution whose body was discarded is left out.
        """
        with self._lock:
            keys: list[str] = []
            after = 0
            while entries := self._journal.read(after):
                for number, row in entries:
                    event = codec.event(row, number)
                    ours = event.scope == self.scope
                    if ours and not isinstance(event, codec.Configured):
                        keys.append(self._key(event.id))
                after = entries[-1].seq
            bodies = self._journal.fetch(keys)
            return [codec.solution(body) for body in bodies if body is not None]

    def sync(self) -> int:
        """Folds in what the journal holds beyond ``seq``; returns how many entries."""
        with self._lock:
            start = self._population.seq
            self._fold(self._journal.read(start))
            return self._population.seq - start

    def _fold(self, entries: list[Entry]) -> None:
        """Folds ``entries`` in, and what is left behind them where they were many."""
        while entries:
            for seq, row in entries:
                self._population.apply(seq, codec.event(row, seq))
            if len(entries) < LIMIT:
                break
            entries = self._journal.read(self._population.seq)
        self._forget_the_dead()

    def _check_same(self, solution: Solution, key: str, body: bytes) -> None:
        """Refuses a solution whose id another one has."""
        known = self._journal.fetch([key])[0]
        if known == body:
            return
        which = "has" if known is not None else "had before its text was discarded"
        raise ValueError(
            f"id must be new or name the same solution, got {solution.id!r}, which "
            f"another one {which}"
        )

    def _forget_the_dead(self) -> None:
        """Drops the texts of those who left, once they outnumber the living twice."""
        population = self._population
        if len(self._solutions) > 3 * len(population) + 8:
            alive = self._solutions
            self._solutions = {
                id_: alive[id_] for id_ in population.ids if id_ in alive
            }

    def _configure(self, described: dict[str, object]) -> None:
        key = f"configured:{self._prefix}"
        row = codec.row(codec.Configured(self.scope, fingerprint(described)))
        if self._journal.append(key, row, codec.document(described)):
            return
        body = self._journal.fetch([key])[0]
        theirs = {} if body is None else codec.mapping(body)
        if fingerprint(theirs) != fingerprint(described):
            raise ConfigurationMismatch(
                f"the journal's population {self.scope!r} has another configuration: "
                + "; ".join(differences(described, theirs))
            )

    def _event(self, solution: Solution) -> codec.Remembered | codec.Failed:
        draw = solution.provenance.draw
        if solution.score is None:
            return codec.Failed(self.scope, solution.id, draw)
        return codec.Remembered(
            self.scope,
            solution.id,
            solution.score,
            solution.weight,
            draw,
            self.settings.diversity.features(solution.text),
        )

    def _key(self, id_: str) -> str:
        return f"solution:{self._prefix}{id_}"

    def _solution(
        self,
        text: str,
        score: float | None,
        status: Status,
        parent: Parent | Solution | None,
        other_parents: Sequence[Solution],
        *,
        id: str | None,
        operator: str,
        evaluator: str,
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
        elif parent is not None:
            raise TypeError(f"parent must be a Parent or a Solution, got {parent!r}")
        return Solution(
            id=self._own.identifier(self._population.seq) if id is None else id,
            text=text,
            score=score,
            status=status,
            scope=self.scope,
            parent_ids=tuple([solution.id for solution in parents]),
            generation=1 + max([s.generation for s in parents], default=-1),
            provenance=Provenance(operator, evaluator, draw),
            **fields,  # type: ignore[arg-type]
        )
