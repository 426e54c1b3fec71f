"""Whether the scores are worth believing: noise, ties, and values that are no scores.

Selection can be no better than the scores it reads. What is measured here needs nothing
but the evaluations of each solution, some of which were made twice or more.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from memory.policies import Floats
from memory.records import real

#: Fewest solutions for a rank correlation; two are always in one order or the other.
_FEWEST_RANKED = 3
#: A sentinel lies further from all scores than so many of their interquartile ranges.
_FAR = 3.0
#: Fewest evaluations that say where the scores lie, and fewest solutions with a sentinel.
_FEWEST_SCORES, _FEWEST_CARRIERS = 4, 2
#: Above this size a number stands for infinity.
_INFINITE = 1e300


class Sentinel(NamedTuple):
    """A value that stands for something else than a score, such as a failure.

    Attributes:
        value: The value.
        n_evaluations: How many evaluations returned it.
        n_solutions: How many solutions have such an evaluation.
    """

    value: float
    n_evaluations: int
    n_solutions: int


@dataclass(frozen=True, slots=True)
class Validity:
    """What repeated evaluations say about the scores of a population.

    Args:
        n_solutions: Number of solutions.
        n_evaluations: Number of evaluations of all of them.
        n_repeated: Number of solutions with two evaluations or more.
        rank_correlation: Spearman's correlation of the first evaluations of these with
            their second ones, in ``[-1, 1]``; NaN if there are fewer than three, or all
            first or all second ones are equal.
        noise_share: Share of the variance of an evaluation that is noise and not a
            difference of solutions, in ``[0, 1]``; NaN if no solution has two
            evaluations, there is one solution, or all evaluations are equal.
        tied_share: Share of the pairs of solutions whose mean scores are equal, in
            ``[0, 1]``; NaN if there is no pair.
        sentinels: Values suspected to be no scores, in rising order.
    """

    n_solutions: int
    n_evaluations: int
    n_repeated: int
    rank_correlation: float
    noise_share: float
    tied_share: float
    sentinels: tuple[Sentinel, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """What a person reads, one sentence a line."""
        found = [
            f"{self.n_solutions} solutions, {self.n_evaluations} evaluations; "
            f"{self.n_repeated} solutions evaluated twice or more.",
            "Rank correlation of first and second evaluations: "
            + _shown(self.rank_correlation, ".2f"),
            "Share of the variance of an evaluation that is noise: "
            + _shown(self.noise_share, ".1%"),
            "Share of the pairs of solutions with equal mean scores: "
            + _shown(self.tied_share, ".1%"),
        ]
        found += [
            f"{sentinel.value!r} is far from all scores and came back "
            f"{sentinel.n_evaluations} times, from {sentinel.n_solutions} solutions: "
            "is it a failure and not a score?"
            for sentinel in self.sentinels
        ]
        return tuple(found)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def validity(
    repeats: Mapping[str, Sequence[float]], *, without: Sequence[float] = ()
) -> Validity:
    """Returns what the evaluations of each solution say about the scores.

    Sentinels are named and not left out, because one that comes back from one evaluation
    of a solution and not from the next is noise. Call again ``without`` those that stand
    for failures: a single 1e10 is most of any variance.

    Args:
        repeats: Scores of the evaluations of each solution in their order, by its id.
        without: Values whose evaluations are left out; a solution of which none is left
            is no solution.

    Raises:
        TypeError: A score is not a real number.
        ValueError: A score is not finite, or a solution has no evaluation.
    """
    omitted = [real("without", value) for value in without]
    groups = []
    for name, values in repeats.items():
        if len(values) == 0:
            raise ValueError(f"repeats[{name!r}] must hold an evaluation, got none")
        scores = [real(f"repeats[{name!r}][{i}]", v) for i, v in enumerate(values)]
        kept = [score for score in scores if score not in omitted]
        if kept:
            groups.append(np.array(kept))
    return Validity(
        n_solutions=len(groups),
        n_evaluations=sum(group.size for group in groups),
        n_repeated=sum(group.size > 1 for group in groups),
        rank_correlation=rank_correlation(groups),
        noise_share=noise_share(groups),
        tied_share=tied_share(groups),
        sentinels=sentinels(groups),
    )


def rank_correlation(groups: Sequence[Floats]) -> float:
    """Returns Spearman's correlation of first and second evaluations, in ``[-1, 1]``.

    Args:
        groups: ``(n_i,)`` evaluations of each solution, at least one each. Those with one
            are passed over.

    Returns:
        NaN if fewer than three solutions have two, or all first or all second ones are
        equal.
    """
    pairs = np.array([group[:2] for group in groups if group.size > 1])
    if len(pairs) < _FEWEST_RANKED or (pairs == pairs[0]).all(axis=0).any():
        return math.nan
    # Slow to import, and nothing else needs it.
    from scipy.stats import spearmanr

    return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)


def noise_share(groups: Sequence[Floats]) -> float:
    """Returns the share of an evaluation's variance that lies within solutions.

    By the one-way analysis of variance with random effects: of ``k`` solutions with ``n_i``
    evaluations, ``N`` in all, the mean squares within and between have the expectations

        E[within] = noise,      E[between] = noise + n0 * differences,
        n0 = (N - sum n_i^2 / N) / (k - 1),

    and the share is ``noise / (noise + differences)``, one less the intraclass
    correlation. An estimate of ``differences`` below zero counts as zero.

    Args:
        groups: ``(n_i,)`` evaluations of each solution, at least one each.

    Returns:
        The share, in ``[0, 1]``; NaN if no solution has two evaluations, there is one
        solution, or all evaluations are equal.

    References:
        Searle, Casella and McCulloch 1992, "Variance Components", section 3.6.
    """
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    n, k = sizes.sum(), sizes.size
    if k < 2 or n == k:
        return math.nan
    everything = np.concatenate(groups)
    if everything.min() == everything.max():
        return math.nan
    # The share is blind to scale; in units of a power of two no square overflows.
    _, exponent = math.frexp(max(-everything.min(), everything.max()))
    shrunk = [np.ldexp(group, -exponent) for group in groups]
    means = np.array([_mean(group) for group in shrunk])
    within = sum(
        ((group - mean) ** 2).sum() for group, mean in zip(shrunk, means, strict=True)
    )
    noise = within / (n - k)
    grand = (sizes * means).sum() / n
    between = (sizes * (means - grand) ** 2).sum() / (k - 1)
    typical = (n - (sizes**2).sum() / n) / (k - 1)
    differences = max(0.0, (between - noise) / typical)
    return float(noise / (noise + differences))


def tied_share(groups: Sequence[Floats]) -> float:
    """Returns the share of pairs of solutions whose mean scores are equal.

    Args:
        groups: ``(n_i,)`` evaluations of each solution, at least one each.

    Returns:
        The share, in ``[0, 1]``; NaN if there are fewer than two solutions.
    """
    n = len(groups)
    if n < 2:
        return math.nan
    counts = Counter(_mean(group) for group in groups).values()
    return sum(c * (c - 1) for c in counts) / (n * (n - 1))


def sentinels(groups: Sequence[Floats]) -> tuple[Sentinel, ...]:
    """Returns the values that are suspected to be no scores, in rising order.

    A value is suspected if all of this holds:

    - it is what people write for "failed": a whole number with one digit that is not zero
      (0, -1, -1000, 1e10), or of nines alone (-999), or at least 1e300 in size;
    - two solutions or more have it;
    - it lies further from all scores than three times their interquartile range, or their
      range where that is zero. The scores are the evaluations of which the first two do
      not hold, or all others where these are fewer than four or all equal.

    Args:
        groups: ``(n_i,)`` evaluations of each solution, at least one each.
    """
    evaluations = Counter(score for group in groups for score in group.tolist())
    carriers = Counter(
        score for group in groups for score in dict.fromkeys(group.tolist())
    )
    suspects = [
        value
        for value, n in sorted(carriers.items())
        if n >= _FEWEST_CARRIERS and _is_placeholder(value)
    ]
    everything = np.array(sorted(evaluations.elements()))
    plain = everything[~np.isin(everything, suspects)]
    if plain.size >= _FEWEST_SCORES and plain[0] < plain[-1]:
        scores = dict.fromkeys(suspects, plain)
    else:
        scores = {value: everything[everything != value] for value in suspects}
    return tuple(
        Sentinel(value, evaluations[value], carriers[value])
        for value in suspects
        if _is_far(value, scores[value])
    )


def _mean(values: Floats) -> float:
    """Returns the mean, rounded once: equal values have it, and order does not matter."""
    return float(statistics.mean(values.tolist()))


def _is_placeholder(value: float) -> bool:
    if abs(value) >= _INFINITE:
        return True
    digits = Decimal(repr(value)).normalize().as_tuple()
    # Decimal digits of the shortest text that reads as the value: 1e23 has one.
    whole = isinstance(digits.exponent, int) and digits.exponent >= 0
    return whole and (len(digits.digits) == 1 or set(digits.digits) == {9})


def _is_far(value: float, scores: Floats) -> bool:
    """Returns whether ``value`` lies far from all of the sorted ``scores``."""
    if scores.size < _FEWEST_SCORES:
        return False
    with np.errstate(over="ignore"):
        lower, upper = np.quantile(scores, [0.25, 0.75])
        spread = upper - lower if upper > lower else scores[-1] - scores[0]
        gap = np.abs(scores - value).min()
    return bool(spread > 0.0 and gap > _FAR * spread)


def _shown(value: float, form: str) -> str:
    return "not known." if math.isnan(value) else f"{value:{form}}."
