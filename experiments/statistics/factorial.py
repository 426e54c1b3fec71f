"""Full factorial studies: which dial matters, and is it the same at every other dial?

Each (task, arm) makes one number, the mean of its runs; tasks are blocks. Two views of
the same numbers:

- An effects-coded linear mixed model with tasks as groups (Pinheiro and Bates 2000) asks
  whether the registered two-way interactions are there. Its error is what arms do
  differently on different tasks, pooled over all effects.
- Every effect that is claimed is one contrast a task, judged as in ``verdict.py``: t
  interval and sign-flip test of task numbers, adjusted by Holm. It needs no pooled error
  and cannot mistake runs for tasks.

A factor is claimed overall only if no registered interaction changes its sign, else for
each level of the partner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.statistics import holm
from experiments.statistics.aggregate import Interval
from experiments.statistics.blocks import checked
from experiments.statistics.equivalence import equivalence_interval
from experiments.statistics.mixed_model import Term, terms
from experiments.statistics.paired import t_interval
from experiments.statistics.permutation import sign_flip_p
from experiments.statistics.verdict import Outcome, Rule, decided

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A full factorial design.

    Args:
        factors: The levels of each factor, the first one its base.
        arms: The level of each factor in each arm.
        interactions: Registered pairs of factors.
        ordered: Factors whose levels are in order; they get a trend contrast.

    Raises:
        ValueError: A factor has fewer than two levels or one twice, a combination of
            levels has no arm or two, or an unknown factor is named.
    """

    factors: Mapping[str, tuple[str, ...]]
    arms: Mapping[str, Mapping[str, str]]
    interactions: tuple[tuple[str, str], ...] = ()
    ordered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, levels in self.factors.items():
            if len(levels) < 2 or len(dict.fromkeys(levels)) < len(levels):
                raise ValueError(f"{name} must have 2 different levels, got {levels}")
        named = [*self.ordered, *(name for pair in self.interactions for name in pair)]
        for name in named:
            if name not in self.factors:
                raise ValueError(
                    f"factors must hold {name!r}, got {list(self.factors)}"
                )
        for one, two in self.interactions:
            if one == two:
                raise ValueError(
                    f"interactions must be of two factors, got {one} twice"
                )
        cells = [
            tuple(arm[name] for name in self.factors) for arm in self.arms.values()
        ]
        for cell in product(*self.factors.values()):
            if cells.count(cell) != 1:
                raise ValueError(
                    f"arms must hold each combination once, got {cells.count(cell)} of "
                    f"{', '.join(cell)}"
                )
        if len(cells) != math.prod(map(len, self.factors.values())):
            raise ValueError("arms must have levels of the factors only, got others")

    def tensor(self, values: pd.DataFrame) -> tuple[tuple[str, ...], Floats]:
        """Returns the tasks and the ``(n, l_1, l_2, ...)`` means of (task, levels)."""
        means = values.pivot_table(index="task", columns="arm", values="value")
        cells = {
            tuple(levels[name] for name in self.factors): arm
            for arm, levels in self.arms.items()
        }
        order = [cells[cell] for cell in product(*self.factors.values())]
        shape = [len(levels) for levels in self.factors.values()]
        numbers = means[order].to_numpy(np.float64).reshape(-1, *shape)
        return tuple(map(str, means.index)), numbers


class Effect(NamedTuple):
    """The effect of a factor, over all other levels or at one of them.

    Attributes:
        factor: Name of the factor.
        contrast: "inverted against fixed", or "trend": the change from the first to the
            last level along the least-squares line.
        at: Where: "scaling = rank", empty if averaged over everything else.
        estimate: Mean over tasks, in units of the metric.
        interval: Its interval for tasks like these.
        p_holm: Its sign-flip p-value, adjusted over overall or over simple effects.
        outcome: Its verdict.
        negligible: Whether it is BETTER or WORSE inside the margin.
    """

    factor: str
    contrast: str
    at: str
    estimate: float
    interval: Interval
    p_holm: float
    outcome: Outcome
    negligible: bool


class Claim(NamedTuple):
    """What may be said of one contrast of a factor.

    Attributes:
        overall: Its effect averaged over everything else.
        simple: Its effects at each level of each registered partner.
        reversed_by: Partners at whose levels its sign differs; if there are any, only
            ``simple`` may be claimed.
    """

    overall: Effect
    simple: tuple[Effect, ...]
    reversed_by: tuple[str, ...]

    @property
    def is_overall(self) -> bool:
        """Whether the overall effect may be claimed."""
        return not self.reversed_by


class Factorial(NamedTuple):
    """The analysis of a factorial study.

    Attributes:
        claims: One for each contrast of each factor.
        terms: Tests and variance shares of main effects and registered interactions.
    """

    claims: tuple[Claim, ...]
    terms: tuple[Term, ...]


class _Contrast(NamedTuple):
    """A contrast before it is judged: where it is and one number a task."""

    factor: str
    name: str
    partner: str
    level: str
    numbers: Floats


def factorial(
    values: pd.DataFrame,
    design: Design,
    rng: np.random.Generator,
    *,
    margin: float,
    alpha: float = 0.05,
    lower_is_better: bool = True,
) -> Factorial:
    """Returns the analysis of a full factorial study.

    Args:
        values: Long table of arm, task, instance, seed and value; other arms than those
            of the design are left out.
        design: The design.
        rng: Source of the drawn sign flips, beyond 15 tasks.
        margin: Smallest effect that matters, in units of the metric.
        alpha: Level of the family of overall effects, and of that of simple ones.
        lower_is_better: Direction of the metric.

    Raises:
        TypeError: As ``blocks.checked``.
        ValueError: As ``blocks.checked``, an arm of the design is lacking, or there are
            fewer than two tasks.
    """
    table = checked(values)
    for arm in design.arms:
        if not (table["arm"] == arm).any():
            raise ValueError(f"values must hold the arms of the design, got no {arm}")
    tasks, numbers = design.tensor(table)
    if len(tasks) < 2:
        raise ValueError(f"values must hold at least 2 tasks, got {len(tasks)}")
    rule = Rule(margin, alpha, lower_is_better)
    overall = [
        contrast for name in design.factors for contrast in _main(design, name, numbers)
    ]
    simple = [
        contrast
        for name in design.factors
        for partner in _partners(design, name)
        for contrast in _simple(design, name, partner, numbers)
    ]
    judged = _judged(simple, rule, rng)
    pairs = list(zip(simple, judged, strict=True))
    claims = []
    for contrast, effect in zip(overall, _judged(overall, rule, rng), strict=True):
        mine = [
            (part, found)
            for part, found in pairs
            if (part.factor, part.name) == (contrast.factor, contrast.name)
        ]
        reversed_by = dict.fromkeys(
            part.partner for part, found in mine if found.estimate * effect.estimate < 0
        )
        claims.append(Claim(effect, tuple(e for _, e in mine), tuple(reversed_by)))
    found = terms(numbers, tuple(design.factors), design.interactions)
    return Factorial(tuple(claims), found)


def trend_weights(n_levels: int) -> Floats:
    """Returns ``(n_levels,)`` weights of the change along the least-squares line."""
    ranks = np.arange(n_levels) - (n_levels - 1) / 2.0
    weights: Floats = ranks * (n_levels - 1) / (ranks @ ranks)
    return weights


def _partners(design: Design, name: str) -> list[str]:
    pairs = [pair for pair in design.interactions if name in pair]
    return [two if one == name else one for one, two in pairs]


def _weights(design: Design, name: str) -> list[tuple[str, Floats]]:
    """Returns the contrasts of a factor: their names and weights of its levels."""
    levels = design.factors[name]
    if name in design.ordered:
        return [("trend", trend_weights(len(levels)))]
    unit = np.eye(len(levels))
    return [
        (f"{level} against {levels[0]}", unit[index] - unit[0])
        for index, level in enumerate(levels)
        if index > 0
    ]


def _main(design: Design, name: str, numbers: Floats) -> list[_Contrast]:
    axis = 1 + list(design.factors).index(name)
    others = tuple(i for i in range(1, numbers.ndim) if i != axis)
    means = numbers.mean(axis=others)
    return [
        _Contrast(name, label, "", "", means @ weights)
        for label, weights in _weights(design, name)
    ]


def _simple(
    design: Design, name: str, partner: str, numbers: Floats
) -> list[_Contrast]:
    axis = 1 + list(design.factors).index(partner)
    found = []
    for index, level in enumerate(design.factors[partner]):
        # The slice keeps its axis, so that the others keep their places.
        here = np.take(numbers, [index], axis=axis)
        found += [
            contrast._replace(partner=partner, level=level)
            for contrast in _main(design, name, here)
        ]
    return found


def _judged(
    contrasts: Sequence[_Contrast], rule: Rule, rng: np.random.Generator
) -> list[Effect]:
    """Returns the effects of contrasts that are one family."""
    ps = holm.adjusted(
        [
            float(sign_flip_p(contrast.numbers, rng)) if contrast.numbers.any() else 1.0
            for contrast in contrasts
        ]
    )
    effects = []
    for contrast, p in zip(contrasts, ps, strict=True):
        estimate = float(contrast.numbers.mean())
        interval = t_interval(contrast.numbers, 1.0 - rule.alpha)
        equivalence = equivalence_interval(contrast.numbers, rule.alpha)
        outcome, negligible = decided(estimate, interval, equivalence, p, rule)
        at = f"{contrast.partner} = {contrast.level}" if contrast.partner else ""
        effects.append(
            Effect(
                contrast.factor,
                contrast.name,
                at,
                estimate,
                interval,
                p,
                outcome,
                negligible,
            )
        )
    return effects
