"""The contracts of the harness: what a task and a proposer must offer."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

import memory


class Evaluation(NamedTuple):
    """What evaluating a text gave.

    Attributes:
        score: Unit score, higher is better: 0 is the mean of random texts, 1 the best
            known; below zero where a text is worse than random. ``None`` if it failed.
        value: The same in the task's own units and direction; ``None`` if it failed.
        failure: Why it failed, in one line; empty if it did not.
        truth: The true unit score, where the search sees another one (a noisy or
            rescaled task); ``None`` where ``score`` is true itself. The memory is told
            ``score``; best, hit and regret are true: the best of a run is the best true
            score among all that it evaluated, known to the search or not.
    """

    score: float | None
    value: float | None
    failure: str = ""
    truth: float | None = None

    @property
    def true_score(self) -> float | None:
        """The true unit score; ``None`` if it failed."""
        return self.score if self.truth is None else self.truth


class Anchors(NamedTuple):
    """The two fixed values that unit scores are made of, in the task's own units.

    Attributes:
        random: Mean value of random texts (unit score 0).
        best: Best known value (unit score 1).
        best_is_optimum: Whether the best known value is proved to be the optimum.
        source: Where both come from, in one line.
    """

    random: float
    best: float
    best_is_optimum: bool
    source: str


class Problem(Protocol):
    """One instance of a task, built where it is evaluated; it may hold state."""

    @property
    def anchors(self) -> Anchors:
        """The anchors of this instance."""

    def initial(self, rng: np.random.Generator) -> str:
        """Returns a random text, the kind a search starts from."""

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of ``text``; bad text fails, it never raises."""


class Task(Protocol):
    """An optimisation task: a frozen dataclass whose fields are its parameters."""

    @property
    def family(self) -> str:
        """Name of the family of tasks, the file's name."""

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric that sees what matters in these texts."""

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer that speaks the language of these texts."""

    def problem(self, instance: int) -> Problem:
        """Returns instance ``instance``, counted from one.

        Raises:
            ValueError: There is no such instance.
        """

    def cheap(self) -> Task:
        """Returns the same task at its smallest useful size."""


class Proposer(Protocol):
    """A variation operator: a frozen dataclass, text in and text out."""

    @property
    def failure_rate(self) -> float:
        """Probability that a proposal fails before it is evaluated, in ``[0, 1]``.

        Replies that cannot be parsed do; the loop draws it from a stream of its own.
        """

    @property
    def n_parents(self) -> int:
        """Number of parents that ``propose`` wants."""

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns a new text made of ``parents``."""


class Weighting(Protocol):
    """A rule for the weight of a new solution: a frozen dataclass."""

    def weight(
        self, parent: memory.Solution | None, score: float, progress: float
    ) -> float:
        """Returns a weight, finite and not negative.

        Args:
            parent: Its first parent, ``None`` for a random text.
            score: Its score, as the search sees it.
            progress: Share of the budget that is spent, in ``[0, 1]``.
        """
