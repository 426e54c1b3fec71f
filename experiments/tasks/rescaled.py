"""Another task on another scale: what a search sees of a score, not how good it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from experiments.contracts import Anchors, Evaluation, Problem, Task
from experiments.tasks.pbo import Pbo
from memory import positive, real


def _rounded(value: float) -> float:
    # The last bit of exp and cbrt differs between processors; a search must not.
    return float(f"{value:.12g}")


#: Increasing functions of a unit score.
WARPS: dict[str, Callable[[float], float]] = {
    "none": float,
    "exp": lambda score: _rounded(math.exp(score)),
    "cbrt": lambda score: _rounded(math.cbrt(score)),
}


def checked_task(task: object) -> Task:
    """Returns ``task``.

    Raises:
        TypeError: It is no task.
    """
    if isinstance(task, type) or not callable(getattr(task, "problem", None)):
        raise TypeError(f"task must be a task with a method problem, got {task!r}")
    return task  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Rescaled:
    """A task whose search sees ``factor * warp(score) + offset``.

    The order of texts stays, and so do values, anchors and regret: a rule that reads
    ranks behaves as before, and one that reads differences does not.

    Args:
        task: The task itself.
        factor: Positive factor.
        offset: What is added, in units of the new score.
        warp: ``none``, ``exp`` (stretches good scores) or ``cbrt`` (stretches scores
            near random texts, where its slope is infinite).

    Raises:
        TypeError: ``task`` is no task, or a number is not real.
        ValueError: ``factor`` is not positive and finite, ``offset`` is not finite, or
            ``warp`` is unknown.
    """

    task: Task = field(default_factory=Pbo)
    factor: float = 1.0
    offset: float = 0.0
    warp: str = "none"

    def __post_init__(self) -> None:
        checked_task(self.task)
        positive("factor", self.factor)
        real("offset", self.offset)
        if not isinstance(self.warp, str) or self.warp not in WARPS:
            raise ValueError(
                f"warp must be one of {', '.join(WARPS)}, got {self.warp!r}"
            )

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "rescaled"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of the task itself."""
        return self.task.natural_diversity

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer of the task itself."""
        return self.task.natural_proposer

    def problem(self, instance: int) -> RescaledProblem:
        """Returns instance ``instance`` of the task, rescaled.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: There is no such instance.
        """
        return RescaledProblem(
            self.task.problem(instance), self.factor, self.offset, WARPS[self.warp]
        )

    def cheap(self) -> Rescaled:
        """Returns the cheap task on the same scale."""
        return replace(self, task=self.task.cheap())


class RescaledProblem:
    """One instance.

    Args:
        problem: The instance of the task itself.
        factor: Positive factor.
        offset: What is added.
        warp: Increasing function of a score.
    """

    __slots__ = ("_factor", "_offset", "_problem", "_warp")

    def __init__(
        self,
        problem: Problem,
        factor: float,
        offset: float,
        warp: Callable[[float], float],
    ) -> None:
        self._problem = problem
        self._factor = factor
        self._offset = offset
        self._warp = warp

    @property
    def anchors(self) -> Anchors:
        """The anchors of the task itself."""
        return self._problem.anchors

    def initial(self, rng: np.random.Generator) -> str:
        """Returns a random text of the task itself."""
        return self._problem.initial(rng)

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of ``text`` with a rescaled score.

        The true score and the value are those of the task itself. A score that the new
        scale takes beyond the largest float fails.
        """
        found = self._problem.evaluate(text)
        if found.score is None:
            return found
        try:
            score = self._factor * self._warp(found.score) + self._offset
        except OverflowError:
            score = math.inf
        if not math.isfinite(score):
            return Evaluation(None, None, "the rescaled score is not finite")
        return found._replace(score=score, truth=found.true_score)
