"""Leverage: how far two arms' laws of selection can differ at all, on real populations.

Before anything is spent on comparing two arms, both are asked for their law on the same
populations, those that pilot runs went through. If the laws hardly differ, no number of
runs can tell the arms apart: the dial is dead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import memory
from experiments import loop
from experiments.cells import replayed, settings_of
from experiments.study import Arm, Study, StudyTask

#: Leverage below which the laws agree in all but one of a hundred draws.
DEAD = 0.01
#: Populations of a pilot at which the laws are compared, log-spaced over the run.
MOMENTS = 8


class Leverage(NamedTuple):
    """The largest distance between two laws.

    Attributes:
        distance: Largest total variation, in ``[0, 1]``; NaN if there are no laws, as of
            an episode, or no pilot lived.
        task: Where it was found.
        temperatures: Temperatures of the arm and of its base there and then.
    """

    distance: float
    task: str
    temperatures: tuple[float, float]


class Pair(Protocol):
    """Whatever names an arm and what it is compared with."""

    @property
    def arm(self) -> str:
        """Name of the arm."""

    @property
    def base(self) -> str:
        """Name of its base."""


def leverages(
    study: Study, pairs: Sequence[Pair], seed: int = 0
) -> Mapping[tuple[str, str], Leverage]:
    """Returns the leverage of each pair of arms, over all tasks of the study.

    The populations are those of one pilot run of each base on each task, under random
    numbers of their own that no study uses.

    Args:
        study: The study.
        pairs: Its contrasts or controls.
        seed: Which pilot.
    """
    arms = {arm.name: arm for arm in study.arms}
    found: dict[tuple[str, str], Leverage] = {}
    # Only what is searched has laws of selection.
    for task in study.tasks if not study.episodes else ():
        laws: dict[tuple[str, str], list[_Law]] = {}
        for base in dict.fromkeys(pair.base for pair in pairs):
            _, history = _piloted(study, arms[base], task, (seed,))
            moments = frozenset(loop.grid(study.initial, task.budget, MOMENTS))
            for name in dict.fromkeys(
                (base, *(p.arm for p in pairs if p.base == base))
            ):
                settings = settings_of(arms[name], task)
                if arms[name].replay != "nothing":
                    donor, _ = _piloted(study, arms[name], task, (seed, "donor"))
                    settings = replayed(settings, arms[name].replay, donor)
                weighed = _weighed(history, arms[name], task.budget)
                laws[name, base] = _laws(settings, weighed, moments)
        for pair in pairs:
            mine, other = laws[pair.arm, pair.base], laws[pair.base, pair.base]
            for one, two in zip(mine, other, strict=True):
                distance = _distance(one.law, two.law)
                known = found.get((pair.arm, pair.base))
                if known is None or distance > known.distance:
                    found[pair.arm, pair.base] = Leverage(
                        distance, task.label, (one.temperature, two.temperature)
                    )
    for pair in pairs:
        # A pilot on which nothing lived says nothing, and there is none of an episode.
        found.setdefault((pair.arm, pair.base), Leverage(math.nan, "", (math.nan,) * 2))
    return found


class _Law(NamedTuple):
    """The law of an arm at one moment of a pilot, by solution, and its temperature."""

    law: Mapping[str, float]
    temperature: float


def _piloted(
    study: Study, arm: Arm, task: StudyTask, seed: tuple[int | str, ...]
) -> tuple[loop.Run, list[memory.Solution]]:
    """Returns a pilot run of ``arm`` and all its solutions, in their order."""
    names = ("pilot", study.salt, task.label, *seed)
    settings = _remembering(settings_of(arm, task))
    journal = memory.InMemoryJournal()
    searched, proposer, _ = task.searched
    outcome = loop.run(
        searched.problem(study.instances[0]),
        proposer,
        settings,
        names=names,
        budget=task.budget,
        initial=study.initial,
        weighting=arm.weighting,
        journal=journal,
    )
    recollection = memory.EvolutionaryMemory(settings, journal, seed=names)
    return outcome, recollection.history()


def _weighed(
    history: Sequence[memory.Solution], arm: Arm, budget: int
) -> list[memory.Solution]:
    """Returns the solutions of a run with the weights that ``arm`` would give them."""
    known: dict[str, memory.Solution] = {}
    for evaluation, solution in enumerate(history, start=1):
        if solution.score is not None:
            parent = known.get(solution.parent_ids[0]) if solution.parent_ids else None
            weight = arm.weighting.weight(parent, solution.score, evaluation / budget)
            known[solution.id] = replace(solution, weight=weight)
        else:
            known[solution.id] = solution
    return list(known.values())


def _laws(
    settings: memory.Settings,
    history: Sequence[memory.Solution],
    moments: frozenset[int],
) -> list[_Law]:
    """Returns the laws of an arm on the populations of somebody else's run.

    The arm remembers what the run remembered, so that its temperature has the history
    it would have had.
    """
    recollection = memory.EvolutionaryMemory(_remembering(settings), seed="leverage")
    found = []
    for evaluation, solution in enumerate(history, start=1):
        recollection.record(_drawn_by_nobody(solution))
        if evaluation in moments and len(recollection) > 1:
            temperature = recollection.select(decision=0).step.temperature
            found.append(_Law(_law(recollection), temperature))
    return found


def _remembering(settings: memory.Settings) -> memory.Settings:
    """Returns ``settings`` that forget nothing, which decides no law."""
    return replace(settings, retention=memory.Settings().retention)


def _drawn_by_nobody(solution: memory.Solution) -> memory.Solution:
    """Returns a solution that may live on another island than it did where it was made."""
    return replace(solution, provenance=solution.provenance._replace(draw=None))


def _law(recollection: memory.EvolutionaryMemory) -> dict[str, float]:
    """Returns the law of the next selections: inhabited islands take turns."""
    inhabited = [island for island, size in enumerate(recollection.sizes) if size]
    law: dict[str, float] = {}
    for island in inhabited:
        ids, probabilities = recollection.law(island)
        for id_, probability in zip(ids, probabilities.tolist(), strict=True):
            law[id_] = law.get(id_, 0.0) + probability / len(inhabited)
    return law


def _distance(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    """Returns the total variation between two laws; one may know what another does not."""
    ids = dict.fromkeys((*one, *two))
    return 0.5 * math.fsum(abs(one.get(id_, 0.0) - two.get(id_, 0.0)) for id_ in ids)
