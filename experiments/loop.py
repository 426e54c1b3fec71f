"""The loop: propose, evaluate, remember, select. No I/O of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import memory
from experiments.contracts import Evaluation, Played, Problem, Proposer, Weighting

#: Added to a regret before its logarithm is taken.
REGRET_FLOOR = 1e-6
#: A regret below this counts as the optimum found.
SUCCESS = 1e-9
#: Points of a trajectory, and steps at which a costly law is computed.
POINTS = 40
LAW_POINTS = 10


class Trajectory(NamedTuple):
    """What a run looked like at some log-spaced evaluations: lists of one length.

    Attributes:
        evaluation: Evaluations spent.
        best: Best true unit score so far; NaN before the first success of an evaluation.
        diversity: Diversity at the selection that led to this evaluation.
        used_diversity: The same after the controller's bound.
        raw_temperature: Temperature before bounds and blend.
        clamped_temperature: Temperature after the bounds alone.
        temperature: Temperature of that selection.
        clamp: -1 at the minimum, +1 at the maximum, else 0.
        effective_parents: exp(entropy) of its law; NaN where it was not computed.
    """

    evaluation: list[int]
    best: list[float]
    diversity: list[float]
    used_diversity: list[float]
    raw_temperature: list[float]
    clamped_temperature: list[float]
    temperature: list[float]
    clamp: list[int]
    effective_parents: list[float]


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one run.

    Attributes:
        evaluations: Evaluations spent, failures included.
        failures: How many of them gave no score.
        best: Best true unit score evaluated; NaN if every evaluation failed.
        hit: Evaluations up to the optimum; NaN if it was not found.
        mean_temperature: Mean over all selections.
        minimum_share: Share of selections with the temperature held at its minimum.
        maximum_share: Share of selections with it held at its maximum.
        schedule: Temperature of selection after each scored solution, from the first on.
        digest: Hash of the final population.
        trajectory: The run at log-spaced evaluations.
        measures: What else was measured, by names out of ``contracts.MEASURES``.
    """

    evaluations: int
    failures: int
    best: float
    hit: float
    mean_temperature: float
    minimum_share: float
    maximum_share: float
    schedule: tuple[float, ...]
    digest: str
    trajectory: Trajectory
    measures: Mapping[str, float]


def grid(initial: int, budget: int, points: int = POINTS) -> list[int]:
    """Returns at most ``points`` log-spaced evaluations in ``(initial, budget]``."""
    spaced = np.geomspace(initial + 1, budget, points).round().astype(int)
    return [int(evaluation) for evaluation in np.unique(spaced)]


def run(
    problem: Problem,
    proposer: Proposer,
    settings: memory.Settings,
    *,
    names: tuple[str | int, ...],
    budget: int,
    initial: int,
    weighting: Weighting | None = None,
    stream: str = "main",
    journal: memory.Journal | None = None,
) -> Run:
    """Returns the outcome of one search of ``budget`` evaluations.

    Every random number is a function of ``names``, its purpose and the index of the
    evaluation it serves, so that two arms under the same names see the same initial
    texts, and the same mutation of the same parent.

    Args:
        problem: The instance to optimise.
        proposer: The variation operator.
        settings: The memory's configuration.
        names: Names that key all random numbers, such as study, task, instance, seed.
        budget: Evaluations to spend.
        initial: How many of them go to random texts.
        weighting: Rule for the weights of solutions; all weigh one if ``None``.
        stream: Name of the stream of selections.
        journal: Where the memory keeps its events; in this process if ``None``.
    """
    random = memory.KeyedRandom(*names)
    recollection = memory.EvolutionaryMemory(
        settings, journal, seed=names, stream=stream
    )
    points = grid(initial, budget)
    accounted = frozenset(points)
    with_law = accounted
    if not settings.selection.closed_form:
        with_law = frozenset(grid(initial, budget, LAW_POINTS))
    trajectory = Trajectory(*([] for _ in Trajectory._fields))
    best, hit = -math.inf, math.nan
    temperatures = 0.0
    clamps = [0, 0, 0]
    selections = 0
    schedule: list[float] = []
    n_scored = 0
    errors: dict[str, float] = {}
    seen = _Seen()
    operator = type(proposer).__name__
    for evaluation in range(1, budget + 1):
        parent: memory.Parent | None = None
        others: tuple[memory.Solution, ...] = ()
        if evaluation <= initial or len(recollection) == 0:
            text = problem.initial(random.generator("initial", evaluation))
            outcome = problem.evaluate(text)
        else:
            parent = recollection.select(
                decision=evaluation,
                law=evaluation in with_law,
                measure=evaluation in accounted,
            )
            step = parent.step
            temperatures += step.temperature
            clamps[step.clamp] += 1
            selections += 1
            if parent.id in errors:
                seen.errors.append(errors[parent.id])
                seen.ids[parent.id] = None
            # What was scored before the first selection had no temperature of its own.
            schedule += [step.temperature] * (n_scored - len(schedule))
            if proposer.n_parents > 1:
                others = _others(recollection, parent, proposer.n_parents, evaluation)
            text = proposer.propose(
                (parent.text, *[solution.text for solution in others]),
                random.generator("mutation", evaluation),
            )
            outcome = _evaluated(problem, proposer, text, random, evaluation)
        if outcome.score is None:
            recollection.remember_failure(
                text,
                outcome.failure,
                parent=parent,
                other_parents=others,
                operator=operator,
            )
        else:
            n_scored += 1
            weight = 1.0
            if weighting is not None:
                weight = weighting.weight(
                    None if parent is None else parent.solution,
                    outcome.score,
                    evaluation / budget,
                )
            solution = recollection.remember(
                text,
                outcome.score,
                parent=parent,
                other_parents=others,
                weight=weight,
                operator=operator,
            )
            if outcome.truth is not None:
                errors[solution.id] = outcome.score - outcome.truth
            truth = outcome.score if outcome.truth is None else outcome.truth
            if truth > best:
                best = truth
                if math.isnan(hit) and 1.0 - best <= SUCCESS:
                    hit = float(evaluation)
        if evaluation in accounted:
            _account(trajectory, evaluation, best, parent)
    return Run(
        evaluations=budget,
        failures=recollection.n_failed,
        best=best if math.isfinite(best) else math.nan,
        hit=hit,
        mean_temperature=temperatures / selections if selections else math.nan,
        minimum_share=clamps[-1] / selections if selections else math.nan,
        maximum_share=clamps[1] / selections if selections else math.nan,
        schedule=tuple(schedule),
        digest=recollection.digest(),
        trajectory=trajectory,
        measures={"kept_bytes": float(recollection.kept_bytes), **seen.measures()},
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """The parents whose true scores are known.

    Attributes:
        errors: How much better each looked than it was, selection by selection.
        ids: Their ids.
    """

    errors: list[float] = field(default_factory=list)
    ids: dict[str, None] = field(default_factory=dict)

    def measures(self) -> dict[str, float]:
        """Returns what is measured of them; nothing if there are none."""
        n = len(self.errors)
        if not n:
            return {}
        return {
            "overrating": math.fsum(self.errors) / n,
            "distinct_parents": len(self.ids) / n,
        }


def played(outcome: Played, budget: int) -> Run:
    """Returns an episode as a run: its best is the share of trials that went right.

    The best so far is the share of *all* its trials that have gone right by then, so that
    it never falls and ends at the score of the run.

    Raises:
        ValueError: The episode had another number of trials than ``budget``, or one of
            them is not in ``[0, 1]``.
    """
    if len(outcome.rights) != budget:
        raise ValueError(
            f"an episode must have {budget} trials, got {len(outcome.rights)}"
        )
    for right in outcome.rights:
        if not 0.0 <= right <= 1.0:
            raise ValueError(f"rights must lie in [0, 1], got {right!r}")
    points = grid(0, budget)
    earned = [math.fsum(outcome.rights[:point]) / budget for point in points]
    unknown = [math.nan] * len(points)
    return Run(
        evaluations=budget,
        failures=0,
        best=earned[-1],
        hit=math.nan,
        mean_temperature=math.nan,
        minimum_share=math.nan,
        maximum_share=math.nan,
        schedule=(),
        digest=outcome.digest,
        trajectory=Trajectory(
            evaluation=points,
            best=earned,
            diversity=unknown,
            used_diversity=unknown,
            raw_temperature=unknown,
            clamped_temperature=unknown,
            temperature=unknown,
            clamp=[0] * len(points),
            effective_parents=unknown,
        ),
        measures=outcome.measures,
    )


def _others(
    recollection: memory.EvolutionaryMemory,
    parent: memory.Parent,
    n_parents: int,
    evaluation: int,
) -> tuple[memory.Solution, ...]:
    """Returns further parents, drawn by decisions of their own, without repeats."""
    chosen = {parent.id: parent.solution}
    for attempt in range(1, 4 * n_parents):
        if len(chosen) == n_parents:
            break
        other = recollection.select(decision=evaluation, part=attempt)
        chosen.setdefault(other.id, other.solution)
    return tuple(chosen.values())[1:]


def _evaluated(
    problem: Problem,
    proposer: Proposer,
    text: str,
    random: memory.KeyedRandom,
    evaluation: int,
) -> Evaluation:
    """Returns the evaluation of ``text``, or the proposer's own failure."""
    rate = proposer.failure_rate
    if rate > 0.0 and random.generator("failure", evaluation).random() < rate:
        return Evaluation(None, None, "the proposal failed before it was evaluated")
    return problem.evaluate(text)


def _account(
    trajectory: Trajectory, evaluation: int, best: float, parent: memory.Parent | None
) -> None:
    """Appends one point to ``trajectory``."""
    trajectory.evaluation.append(evaluation)
    trajectory.best.append(best if math.isfinite(best) else math.nan)
    step = None if parent is None else parent.step
    parents = None if step is None else step.effective_parents
    trajectory.diversity.append(math.nan if step is None else step.diversity)
    trajectory.used_diversity.append(math.nan if step is None else step.used_diversity)
    trajectory.raw_temperature.append(math.nan if step is None else step.raw)
    trajectory.clamped_temperature.append(math.nan if step is None else step.clamped)
    trajectory.temperature.append(math.nan if step is None else step.temperature)
    trajectory.clamp.append(0 if step is None else step.clamp)
    trajectory.effective_parents.append(math.nan if parents is None else parents)
