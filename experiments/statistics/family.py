"""The verdicts of a family: planned contrasts that are tested together.

Holm's rule bounds the chance of any false claim in the family, so all of it must be
given at once. Controls are tested apart (``control.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.statistics import holm
from experiments.statistics.blocks import checked
from experiments.statistics.effect import mean_a12
from experiments.statistics.equivalence import equivalence_interval
from experiments.statistics.paired import Comparison, compared, differences
from experiments.statistics.permutation import sign_flip_p, smallest_p
from experiments.statistics.size import Size, deciding, spread
from experiments.statistics.verdict import Outcome, Rule, Verdict, decided


class Contrast(Protocol):
    """A planned contrast: the names of an arm and of what it is compared with."""

    @property
    def arm(self) -> str:
        """Name of the arm."""

    @property
    def base(self) -> str:
        """Name of its base."""


class Keyed(Protocol):
    """Generators by name, so that a contrast more does not change others."""

    def __call__(self, *names: str) -> np.random.Generator:
        """Returns the generator that belongs to ``names``, at its first number."""


def verdicts(
    values: pd.DataFrame,
    contrasts: Sequence[Contrast],
    *,
    margin: float,
    alpha: float = 0.05,
    lower_is_better: bool = True,
    sensitivity: pd.DataFrame | None = None,
    resamples: int = 4000,
    generator: Keyed,
) -> list[Verdict]:
    """Returns one verdict a contrast; together they are one family.

    Args:
        values: Long table of arm, task, instance, seed and value, failed runs counting
            as the worst value.
        contrasts: The planned contrasts, all of them.
        margin: Smallest effect that matters, in units of the metric.
        alpha: Chance of any false BETTER or WORSE in the family.
        lower_is_better: Direction of the metric.
        sensitivity: The same table with failed runs as NaN.
        resamples: Number of bootstrap resamples.
        generator: Generators of resamples and sign flips, by name.

    Raises:
        TypeError: As ``blocks.checked``.
        ValueError: As ``blocks.checked``; ``margin`` or ``alpha`` is out of range; a
            contrast is there twice, in either direction, or names an unknown arm; or
            ``sensitivity`` has other runs than ``values``.
    """
    if not 0.0 < margin < math.inf:
        raise ValueError(f"margin must be positive and finite, got {margin}")
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"alpha must lie in (0, 0.5), got {alpha}")
    _check_family(contrasts)
    table = checked(values)
    known = table if sensitivity is None else checked(sensitivity, missing=True)
    if not known.drop(columns="value").equals(table.drop(columns="value")):
        raise ValueError("sensitivity must hold the same runs as values, got others")
    rule = Rule(margin, alpha, lower_is_better, len(contrasts))
    main = [differences(table, plan.arm, plan.base) for plan in contrasts]
    found = _family(main, contrasts, rule, resamples, generator)
    if sensitivity is None:
        return [verdict for verdict in found if verdict is not None]
    rest = [differences(known, plan.arm, plan.base) for plan in contrasts]
    others = _family(rest, contrasts, rule, resamples, generator)
    return [
        _with_sensitivity(verdict, other, pairs)
        for verdict, other, pairs in zip(found, others, rest, strict=True)
        if verdict is not None
    ]


def _check_family(contrasts: Sequence[Contrast]) -> None:
    if not contrasts:
        raise ValueError("contrasts must not be empty")
    keys = [tuple(sorted((plan.arm, plan.base))) for plan in contrasts]
    for plan, key in zip(contrasts, keys, strict=True):
        if keys.count(key) > 1:
            raise ValueError(
                f"contrasts must hold a pair of arms once, got {plan.arm} and "
                f"{plan.base} twice"
            )


def _family(
    pairs: Sequence[pd.DataFrame],
    contrasts: Sequence[Contrast],
    rule: Rule,
    resamples: int,
    generator: Keyed,
) -> list[Verdict | None]:
    """Returns the verdicts of a family; none where no pair has both values."""
    wholes = [table.dropna(subset="difference") for table in pairs]
    ps: list[float | None] = []
    for whole, plan in zip(wholes, contrasts, strict=True):
        if whole.empty or (whole["difference"] == 0.0).all():
            ps.append(None)
        else:
            rng = generator("sign flips", plan.arm, plan.base)
            ps.append(float(sign_flip_p(_task_means(whole), rng)))
    # A planned contrast stays in its family even if no test was called.
    family = holm.adjusted([1.0 if p is None else p for p in ps])
    found: list[Verdict | None] = []
    for table, plan, p, p_holm in zip(pairs, contrasts, ps, family, strict=True):
        if table["difference"].isna().all():
            found.append(None)
            continue
        comparison = compared(
            table,
            plan.arm,
            plan.base,
            generator("bootstrap", plan.arm, plan.base),
            lower_is_better=rule.lower_is_better,
            level=1.0 - rule.alpha,
            resamples=resamples,
        )
        whole = table.dropna(subset="difference")
        found.append(_verdict(comparison, whole, p, p_holm, rule))
    return found


def _verdict(
    comparison: Comparison,
    pairs: pd.DataFrame,
    p: float | None,
    p_holm: float,
    rule: Rule,
) -> Verdict:
    equivalence = equivalence_interval(_task_means(pairs), rule.alpha)
    a12 = mean_a12(pairs, rule.lower_is_better)
    if p is None:
        return Verdict(
            comparison=comparison,
            outcome=Outcome.EQUIVALENT,
            equivalence=equivalence,
            p=None,
            p_holm=None,
            a12=a12,
            identical=True,
        )
    interval = comparison.tasks_random
    outcome, negligible = decided(
        comparison.effect, interval, equivalence, p_holm, rule
    )
    open_question = outcome is Outcome.INCONCLUSIVE
    return Verdict(
        comparison=comparison,
        outcome=outcome,
        equivalence=equivalence,
        p=p,
        p_holm=p_holm,
        a12=a12,
        negligible=negligible,
        reason=_reason(comparison, rule) if open_question else "",
        deciding=_deciding(pairs, rule) if open_question else (),
    )


def _reason(comparison: Comparison, rule: Rule) -> str:
    """Returns why nothing was decided."""
    n_tasks = len(comparison.tasks)
    interval = comparison.tasks_random
    if n_tasks == 1:
        return "one task says nothing about others"
    if not holm.can_pass(n_tasks, rule.n_contrasts, rule.alpha):
        return (
            f"{n_tasks} tasks cannot give p below {smallest_p(n_tasks):.2g}, too much "
            f"for a family of {rule.n_contrasts}"
        )
    if interval.low > 0.0 or interval.high < 0.0:
        return "the interval excludes zero, the adjusted test does not"
    return "the interval holds zero and reaches beyond the margin"


def _deciding(pairs: pd.DataFrame, rule: Rule) -> tuple[Size, ...]:
    n_tasks = pairs["task"].nunique()
    if n_tasks < 2:
        return ()
    # Rounded down, so that a promise does not rest on pairs that are not there.
    size = Size(n_tasks, max(1, len(pairs) // n_tasks))
    return deciding(
        size,
        spread(pairs),
        rule.margin,
        n_contrasts=rule.n_contrasts,
        alpha=rule.alpha,
    )


def _with_sensitivity(
    verdict: Verdict, other: Verdict | None, known: pd.DataFrame
) -> Verdict:
    """Returns the verdict beside that without failed runs."""
    paired = known[["arm", "base"]].notna().all(axis=1).any()
    if paired or verdict.outcome is not Outcome.EQUIVALENT:
        return replace(verdict, sensitivity=other)
    # A failed run is worth the worst value: equal to that is no evidence of equivalence.
    return replace(
        verdict,
        outcome=Outcome.INCONCLUSIVE,
        reason="no pair of runs finished",
        p=None,
        p_holm=None,
        negligible=False,
        deciding=(),
    )


def _task_means(pairs: pd.DataFrame) -> NDArray[np.float64]:
    means = pairs.groupby("task", sort=True)["difference"].mean()
    return means.to_numpy(np.float64)
