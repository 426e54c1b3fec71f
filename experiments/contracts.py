"""The contracts of the harness: what a task and a proposer must offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

import memory
from memory.graded.compressors.extractive import Extractive
from memory.graded.contracts import Compressor
from memory.graded.recall import Recall
from memory.graded.settings import GradedSettings

#: What a run may be measured by beside its search:
#: - bytes of the records that its memory still keeps at the end;
#: - how much better its parents looked than they were, on average, in units of score, and
#:   how many different ones there were for each selection, where a task tells the truth;
#: - how often an episode's question asked again had the same answer;
#: - tokens that an episode's memory gave to the model, mean over its trials.
MEASURES = ("kept_bytes", "overrating", "distinct_parents", "consistency", "tokens")


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


@dataclass(frozen=True, slots=True)
class Graded:
    """A configuration of the graded memory under comparison.

    Attributes:
        settings: When messages are compressed, and which.
        recall: How records are recalled.
        compressor: What makes summaries.
    """

    settings: GradedSettings = field(default_factory=GradedSettings)
    recall: Recall = field(default_factory=Recall)
    compressor: Compressor = field(default_factory=Extractive)


class Speech(NamedTuple):
    """How the page speaks of an episode.

    Attributes:
        score: Name of its score, such as "accuracy".
        trial: Name of a trial, in the singular, such as "question".
        meaning: What the score is, a clause such as "the share of questions answered
            right".
    """

    score: str
    trial: str
    meaning: str


class Played(NamedTuple):
    """What became of an episode.

    Attributes:
        rights: How right each trial was, in order, each in ``[0, 1]``. The score of the
            run is their mean.
        measures: What else was measured, by names out of ``MEASURES``.
        digest: Hash of the memory at the end.
    """

    rights: tuple[float, ...]
    measures: Mapping[str, float]
    digest: str


class Episode(Protocol):
    """A task that plays a run itself, instead of being searched: a frozen dataclass.

    It is so many trials, each right or wrong, for which a graded memory is used. There is
    no optimum to be found, only a share of trials that went right.
    """

    @property
    def family(self) -> str:
        """Name of the family of tasks, the file's name."""

    @property
    def speech(self) -> Speech:
        """How the page speaks of it."""

    def play(
        self, arm: Graded, instance: int, names: tuple[str | int, ...], budget: int
    ) -> Played:
        """Returns what became of ``budget`` trials.

        Args:
            arm: The memory that is used.
            instance: Instance of the task, from one.
            names: Names that key all random numbers. The arm is not among them, so that
                arms see the same conversation.
            budget: Number of trials.

        Raises:
            ValueError: There is no such instance.
        """

    def cheap(self) -> Episode:
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
