"""Another task whose evaluations fail by chance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from experiments.contracts import Anchors, Evaluation, Problem, Task
from experiments.tasks.pbo import Pbo
from experiments.tasks.rescaled import checked_task
from memory import KeyedRandom, description, fingerprint, key_of, within

_WORDS = 2**64


@dataclass(frozen=True, slots=True)
class Failing:
    """A task whose evaluations fail with a probability, each independently.

    Unlike the ``failure_rate`` of a proposer it holds for random texts too. Whether an
    evaluation fails is keyed by the task, the instance, the text and the index of the
    evaluation in its run: a run repeats exactly, and a text that failed may succeed
    when it comes again.

    Args:
        task: The task itself.
        rate: Probability that an evaluation fails, in ``[0, 1]``.

    Raises:
        TypeError: ``task`` is no task, or ``rate`` not a real number.
        ValueError: ``rate`` lies outside ``[0, 1]``.
    """

    task: Task = field(default_factory=Pbo)
    rate: float = 0.1

    def __post_init__(self) -> None:
        checked_task(self.task)
        within("rate", self.rate, 0.0, 1.0)

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "failing"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of the task itself."""
        return self.task.natural_diversity

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer of the task itself."""
        return self.task.natural_proposer

    def problem(self, instance: int) -> FailingProblem:
        """Returns instance ``instance`` of the task, with its failures.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: There is no such instance.
        """
        problem = self.task.problem(instance)
        random = KeyedRandom("failing", fingerprint(description(self.task)), instance)
        return FailingProblem(problem, self.rate, random)

    def cheap(self) -> Failing:
        """Returns the cheap task with the same rate."""
        return replace(self, task=self.task.cheap())


class FailingProblem:
    """One instance; it counts its evaluations, so each run needs one of its own.

    Args:
        problem: The instance of the task itself.
        rate: Probability that an evaluation fails.
        random: Source of the failures.
    """

    __slots__ = ("_evaluations", "_problem", "_random", "_rate")

    def __init__(self, problem: Problem, rate: float, random: KeyedRandom) -> None:
        self._problem = problem
        self._rate = rate
        self._random = random
        self._evaluations = 0

    @property
    def anchors(self) -> Anchors:
        """The anchors of the task itself."""
        return self._problem.anchors

    def initial(self, rng: np.random.Generator) -> str:
        """Returns a random text of the task itself."""
        return self._problem.initial(rng)

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of ``text``, or a failure."""
        self._evaluations += 1
        found = self._problem.evaluate(text)
        if found.score is None:
            return found
        rng = self._random.generator(
            "failure", self._evaluations, key_of(ascii(text)) % _WORDS
        )
        if rng.random() < self._rate:
            return Evaluation(None, None, "the evaluation failed by chance")
        return found
