"""Another task whose scores come with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from experiments.contracts import Anchors, Evaluation, Problem, Task
from experiments.tasks.pbo import Pbo
from experiments.tasks.rescaled import checked_task
from memory import KeyedRandom, description, fingerprint, flag, key_of, real

_STANDARD = NormalDist()
#: The inverse of the distribution function needs a number above zero.
_LEAST = 2.0**-54
_WORDS = 2**64


@dataclass(frozen=True, slots=True)
class Noisy:
    """A task whose search sees each score with independent noise added.

    Values, anchors and regret stay those of the task itself. The noise of an evaluation
    is keyed by the task, the instance, the text and the index of the evaluation in its
    run. So a run repeats exactly; the same text evaluated again gets other noise; two
    arms that evaluate the same text at the same index get the same; two seeds hardly
    ever do, because their texts differ. Persistent noise is an error of the text: the
    index is not in its key, and the same text gets the same wrong score in all runs.

    Args:
        task: The task itself.
        sd: Standard deviation of the noise, in units of the score, not negative.
        heavy_tail: Student's t with three degrees of freedom, scaled to ``sd``, instead
            of a normal: mostly smaller noise, and sometimes far larger.
        persistent: Whether a text has the same noise whenever it is evaluated.

    Raises:
        TypeError: ``task`` is no task, ``sd`` not a real number, or ``heavy_tail`` or
            ``persistent`` no bool.
        ValueError: ``sd`` is negative or not finite.
    """

    task: Task = field(default_factory=Pbo)
    sd: float = 0.1
    heavy_tail: bool = False
    persistent: bool = False

    def __post_init__(self) -> None:
        checked_task(self.task)
        if real("sd", self.sd) < 0.0:
            raise ValueError(f"sd must not be negative, got {self.sd!r}")
        flag("heavy_tail", self.heavy_tail)
        flag("persistent", self.persistent)

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "noisy"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of the task itself."""
        return self.task.natural_diversity

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer of the task itself."""
        return self.task.natural_proposer

    def problem(self, instance: int) -> NoisyProblem:
        """Returns instance ``instance`` of the task, with its noise at the beginning.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: There is no such instance.
        """
        problem = self.task.problem(instance)
        # What is inside is part of the key, or noise within noise would be the same.
        random = KeyedRandom("noisy", fingerprint(description(self.task)), instance)
        return NoisyProblem(
            problem,
            self.sd,
            random,
            heavy_tail=self.heavy_tail,
            again=not self.persistent,
        )

    def cheap(self) -> Noisy:
        """Returns the cheap task with the same noise."""
        return replace(self, task=self.task.cheap())


class NoisyProblem:
    """One instance; it counts its evaluations, so each run needs one of its own.

    Args:
        problem: The instance of the task itself.
        sd: Standard deviation of the noise.
        random: Source of the noise.
        heavy_tail: Whether it is Student's t with three degrees of freedom.
        again: Whether a text evaluated again gets other noise.
    """

    __slots__ = ("_again", "_evaluations", "_heavy_tail", "_problem", "_random", "_sd")

    def __init__(
        self,
        problem: Problem,
        sd: float,
        random: KeyedRandom,
        *,
        heavy_tail: bool,
        again: bool,
    ) -> None:
        self._again = again
        self._problem = problem
        self._sd = sd
        self._heavy_tail = heavy_tail
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
        """Returns the evaluation of ``text`` with noise on its score.

        The true score and the value are those of the task itself.
        """
        self._evaluations += 1
        found = self._problem.evaluate(text)
        if found.score is None:
            return found
        rng = self._random.generator(
            "noise", self._evaluations * self._again, key_of(ascii(text)) % _WORDS
        )
        noise = _student(rng) if self._heavy_tail else _normal(rng)
        # The last bit of a logarithm differs between processors; a search must not.
        score = found.score + self._sd * float(f"{noise:.12g}")
        return found._replace(score=score, truth=found.true_score)


def _normal(rng: np.random.Generator) -> float:
    return _STANDARD.inv_cdf(max(rng.random(), _LEAST))


def _student(rng: np.random.Generator) -> float:
    """Returns Student's t with three degrees of freedom over its sd, ``sqrt(3)``."""
    return _normal(rng) / math.hypot(_normal(rng), _normal(rng), _normal(rng))
