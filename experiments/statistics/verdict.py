"""Four verdicts only, given by rule to a family of planned contrasts.

- BETTER or WORSE: the interval for tasks like these excludes zero, and the sign-flip
  test of task means agrees after Holm's adjustment over the family. If the equivalence
  interval lies inside the margin as well, the difference is there and negligible.
- EQUIVALENT: the equivalence interval lies inside the margin; or every difference is
  exactly zero, which is asked before any test.
- INCONCLUSIVE: else, with the sizes that would decide. It is never "no difference".

The unit is the task: all runs of a task, over its instances and seeds, make one number.
A pooled test over runs would count each run as evidence about other tasks; with no
effect and true effects of tasks of sd 0.1-0.2 it calls a quarter to a half of nulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from experiments.statistics.aggregate import Interval
from experiments.statistics.equivalence import inside
from experiments.statistics.paired import Comparison
from experiments.statistics.size import Size


class Outcome(StrEnum):
    """What can be said of an arm against its base."""

    BETTER = "BETTER"
    WORSE = "WORSE"
    EQUIVALENT = "EQUIVALENT"
    INCONCLUSIVE = "INCONCLUSIVE"


class Rule(NamedTuple):
    """What turns numbers into a verdict.

    Attributes:
        margin: Smallest effect that matters, in units of the metric.
        alpha: Level of the family; intervals have level ``1 - alpha``, that of
            equivalence ``1 - 2 alpha``.
        lower_is_better: Direction of the metric.
        n_contrasts: Size of the family.
    """

    margin: float
    alpha: float = 0.05
    lower_is_better: bool = True
    n_contrasts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict and all it rests on.

    Args:
        comparison: Effect, both intervals, paired probability, correlation, by task.
        outcome: The verdict.
        equivalence: Interval that must lie inside the margin, for tasks like these;
            none of one task.
        p: Sign-flip p-value of task means; ``None`` if no test was called.
        p_holm: The same adjusted over the family.
        a12: Probability that a run of the arm beats one of its base, ties half,
            averaged over tasks.
        identical: Whether every difference is exactly zero.
        negligible: Whether it is BETTER or WORSE inside the margin.
        reason: Why it is INCONCLUSIVE, in one clause; else empty.
        deciding: Sizes that would decide, the one of fewer runs first; empty unless
            INCONCLUSIVE, or if none is known.
        sensitivity: The same with pairs of failed runs left out; ``None`` if it was not
            asked or no pair is left.
    """

    comparison: Comparison
    outcome: Outcome
    equivalence: Interval
    p: float | None
    p_holm: float | None
    a12: float
    identical: bool = False
    negligible: bool = False
    reason: str = ""
    deciding: tuple[Size, ...] = ()
    sensitivity: Verdict | None = None

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return self.comparison.arm

    @property
    def base(self) -> str:
        """Name of its base."""
        return self.comparison.base

    @property
    def effect(self) -> float:
        """Mean over tasks of the mean of arm - base, in units of the metric."""
        return self.comparison.effect

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.comparison.tasks)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.comparison.n_pairs

    @property
    def words(self) -> str:
        """The verdict in words: "BETTER, negligible" or "EQUIVALENT (identical)"."""
        if self.identical and self.outcome is Outcome.EQUIVALENT:
            return f"{self.outcome} (identical)"
        return f"{self.outcome}, negligible" if self.negligible else str(self.outcome)


def decided(
    effect: float,
    interval: Interval,
    equivalence: Interval,
    p_holm: float,
    rule: Rule,
) -> tuple[Outcome, bool]:
    """Returns the outcome by rule, and whether it is negligible.

    Args:
        effect: Mean of task means of arm - base.
        interval: Its interval of level ``1 - alpha`` for tasks like these.
        equivalence: Its interval of level ``1 - 2 alpha``.
        p_holm: Its adjusted p-value.
        rule: The rule.
    """
    small = inside(equivalence, rule.margin)
    # An interval of one task has ends of NaN, which exclude nothing.
    excludes_zero = interval.low > 0.0 or interval.high < 0.0
    if excludes_zero and p_holm <= rule.alpha:
        better = (effect < 0.0) == rule.lower_is_better
        return (Outcome.BETTER if better else Outcome.WORSE), small
    return (Outcome.EQUIVALENT if small else Outcome.INCONCLUSIVE), False
