"""How many tasks and seeds a question needs.

The unit of the decision is the task: its mean difference has the standard deviation
``sqrt(between^2 + within^2 / n)`` with ``n`` pairs a task, so seeds shrink one part of it
and tasks all of it. More tasks beat more seeds once ``within^2 / n < between^2``.

Power is that of the rule of verdicts itself, for normal task means. The signs of few
tasks have few values of p, which costs power: up to 12 tasks it is therefore computed
from fixed normal draws put through the rule, beyond by the noncentral t law at the level
that the sign-flip test can reach (within two points of the rule at 15 tasks). Of a
family the power is that of the first step of Holm's rule, so it is the least a contrast
has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special, stats

from experiments.statistics import holm
from experiments.statistics.permutation import EXACT_TASKS, sign_flip_p

Floats = NDArray[np.float64]

#: Power that a size is computed for.
POWER = 0.9
#: Beyond this many tasks or seeds a size is called out of reach.
MOST = 100_000

_SIMULATED_TASKS = 12
_DRAWS = 2_000
_NODES = 2_000


class Spread(NamedTuple):
    """The two standard deviations of paired differences, in units of the metric.

    Attributes:
        between: Of the true effects of tasks.
        within: Of the differences of pairs of one task.
    """

    between: float
    within: float


class Size(NamedTuple):
    """A number of tasks, and of pairs on each."""

    n_tasks: int
    n_seeds: int


class Power(NamedTuple):
    """What a study promises, as probabilities.

    Attributes:
        difference: That a true effect of one margin is called BETTER or WORSE, rightly.
        equivalence: That a true effect of zero keeps its interval inside the margin.
    """

    difference: float
    equivalence: float


def spread(pairs: pd.DataFrame) -> Spread:
    """Returns the spread between and within tasks, by the method of moments.

    Args:
        pairs: Table of task and difference, two tasks or more. With one pair a task the
            two cannot be told apart and all counts as between.

    Raises:
        ValueError: There are fewer than two tasks.
    """
    groups = pairs.groupby("task", sort=True)["difference"]
    means = groups.mean().to_numpy(np.float64)
    if means.size < 2:
        raise ValueError(f"pairs must hold at least 2 tasks, got {means.size}")
    sizes = groups.size().to_numpy(np.float64)
    several = sizes > 1
    if not several.any():
        return Spread(float(means.std(ddof=1)), 0.0)
    variances = groups.var(ddof=1).to_numpy(np.float64)[several]
    within = float(variances.mean())
    noise = float((within / sizes).mean())
    between = max(0.0, float(means.var(ddof=1)) - noise)
    return Spread(math.sqrt(between), math.sqrt(within))


def standard_error(size: Size, spread: Spread) -> float:
    """Returns the standard error of the effect, in units of the metric."""
    variance = spread.between**2 + spread.within**2 / size.n_seeds
    return math.sqrt(variance / size.n_tasks)


def promised(
    size: Size,
    spread: Spread,
    margin: float,
    *,
    n_contrasts: int = 1,
    alpha: float = 0.05,
) -> Power:
    """Returns the power of a study.

    Args:
        size: Its tasks, two or more, and seeds.
        spread: Spread of paired differences, from a pilot.
        margin: Smallest effect that matters, in units of the metric.
        n_contrasts: Size of its family.
        alpha: Level of the family.

    Raises:
        ValueError: ``margin`` is not positive, or there are fewer than two tasks.
    """
    _check(size, margin)
    error = standard_error(size, spread)
    ratio = margin / error if error > 0.0 else math.inf
    return Power(
        difference_power(ratio, size.n_tasks, n_contrasts, alpha),
        equivalence_power(ratio, size.n_tasks, alpha),
    )


def deciding(
    size: Size,
    spread: Spread,
    margin: float,
    *,
    n_contrasts: int = 1,
    alpha: float = 0.05,
    power: float = POWER,
) -> tuple[Size, ...]:
    """Returns the sizes that would have decided, the one of fewer runs first.

    A size decides if, with probability ``power``, a true effect of one margin is called
    BETTER or WORSE and a true effect of zero stays inside the margin. Effects between
    the two may stay INCONCLUSIVE at any size. The effect seen plays no part: power at
    the effect seen is the p-value in other words (Hoenig and Heisey 2001).

    Args:
        size: The tasks and seeds that did not decide.
        spread: Spread of the paired differences seen.
        margin: Smallest effect that matters, in units of the metric.
        n_contrasts: Size of the family.
        alpha: Level of the family.
        power: Probability to reach, in ``(0, 1)``.

    Returns:
        More seeds on as many tasks, and more tasks with as many seeds; each only if it
        can decide within ``MOST``, neither fewer than there were.

    Raises:
        ValueError: As ``promised``.
    """
    _check(size, margin)

    def needed(n_tasks: int) -> float:
        return needed_ratio(n_tasks, n_contrasts, alpha, power)

    sizes = []
    ratio = needed(size.n_tasks)
    if math.isfinite(ratio):
        # margin / error = ratio, solved for the number of seeds.
        room = size.n_tasks * (margin / ratio) ** 2 - spread.between**2
        seeds = spread.within**2 / room if room > 0.0 else math.inf
        if seeds <= MOST:
            sizes.append(Size(size.n_tasks, max(size.n_seeds, math.ceil(seeds))))

    def decides(n_tasks: int) -> bool:
        error = standard_error(Size(n_tasks, size.n_seeds), spread)
        return margin >= needed(n_tasks) * error

    start = holm.least_tasks(n_contrasts, alpha)
    if start is None:
        return ()
    tasks = _least(decides, max(size.n_tasks, start))
    if tasks is not None:
        sizes.append(Size(tasks, size.n_seeds))
    sizes = list(dict.fromkeys(sizes))
    return tuple(sorted(sizes, key=lambda found: found.n_tasks * found.n_seeds))


def difference_power(
    ratio: float, n_tasks: int, n_contrasts: int = 1, alpha: float = 0.05
) -> float:
    """Returns the probability that a true effect is called, in the right direction.

    Args:
        ratio: The effect, in standard errors.
        n_tasks: Number of tasks, two or more.
        n_contrasts: Size of the family.
        alpha: Level of the family.
    """
    if not holm.can_pass(n_tasks, n_contrasts, alpha):
        return 0.0
    if math.isinf(ratio):
        return 1.0
    level = alpha / n_contrasts
    if n_tasks <= _SIMULATED_TASKS:
        means = _draws(n_tasks) + ratio / math.sqrt(n_tasks)
        error = means.std(axis=1, ddof=1) / math.sqrt(n_tasks)
        reach = stats.t.isf(alpha / 2.0, n_tasks - 1) * error
        called = (means.mean(axis=1) > reach) & (sign_flip_p(means) <= level)
        return float(called.mean())
    if n_tasks <= EXACT_TASKS:
        steps = 2.0 ** (n_tasks - 1)
        level = math.floor(level * steps) / steps
    reach = stats.t.isf(level / 2.0, n_tasks - 1)
    return float(stats.nct.sf(reach, n_tasks - 1, ratio))


def equivalence_power(ratio: float, n_tasks: int, alpha: float = 0.05) -> float:
    """Returns the probability that a true effect of zero stays inside the margin.

    The integral over the law of the standard error is a midpoint rule in its quantiles.

    Args:
        ratio: The margin, in standard errors.
        n_tasks: Number of tasks, two or more.
        alpha: Level of both one-sided tests.
    """
    if math.isinf(ratio):
        return 1.0
    reach = stats.t.isf(alpha, n_tasks - 1) * _error_quantiles(n_tasks)
    return float(np.maximum(0.0, 2.0 * special.ndtr(ratio - reach) - 1.0).mean())


@cache
def needed_ratio(
    n_tasks: int, n_contrasts: int = 1, alpha: float = 0.05, power: float = POWER
) -> float:
    """Returns how many standard errors a margin must be to be decided, or infinity.

    Both powers of ``promised`` then reach ``power``.
    """
    if difference_power(1e6, n_tasks, n_contrasts, alpha) < power:
        return math.inf

    def lacking(ratio: float) -> float:
        found = (
            difference_power(ratio, n_tasks, n_contrasts, alpha),
            equivalence_power(ratio, n_tasks, alpha),
        )
        return min(found) - power

    high = 2.0
    while lacking(high) < 0.0:
        high *= 2.0
    return float(optimize.bisect(lacking, high / 2.0, high, xtol=0.01))


def pairs_for_difference(
    sd: float, effect: float, power: float = POWER, alpha: float = 0.05
) -> int:
    """Returns about how many pairs a t test of one task needs: ``10.5 (sd / effect)^2``.

    The factor is ``(z(1 - alpha / 2) + z(power))^2``; it is the large-sample one.

    Raises:
        ValueError: ``sd`` or ``effect`` is not positive.
    """
    factor = special.ndtri(1.0 - alpha / 2.0) + special.ndtri(power)
    return _pairs(sd, effect, factor)


def pairs_for_equivalence(
    sd: float, margin: float, power: float = POWER, alpha: float = 0.05
) -> int:
    """Returns about how many pairs TOST of one task needs: ``10.8 (sd / margin)^2``.

    The factor is ``(z(1 - alpha) + z((1 + power) / 2))^2`` for a true effect of zero.

    Raises:
        ValueError: ``sd`` or ``margin`` is not positive.
    """
    factor = special.ndtri(1.0 - alpha) + special.ndtri((1.0 + power) / 2.0)
    return _pairs(sd, margin, factor)


def _check(size: Size, margin: float) -> None:
    if not 0.0 < margin < math.inf:
        raise ValueError(f"margin must be positive and finite, got {margin}")
    if size.n_tasks < 2 or size.n_seeds < 1:
        raise ValueError(f"size must be at least 2 tasks and 1 seed, got {size}")


def _pairs(sd: float, effect: float, factor: float) -> int:
    if not (0.0 < sd < math.inf and 0.0 < effect < math.inf):
        raise ValueError(f"sd and effect must be positive, got {sd} and {effect}")
    return max(2, math.ceil((factor * sd / effect) ** 2))


def _least(holds: Callable[[int], bool], start: int) -> int | None:
    """Returns the least number from ``start`` on that ``holds``, none beyond ``MOST``."""
    if holds(start):
        return start
    low, high = start, 2 * start
    while not holds(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@cache
def _draws(n_tasks: int) -> Floats:
    """Returns ``(_DRAWS, n_tasks)`` standard normal numbers, the same ones always.

    They are the nodes of an integral and decide nothing in a study, so that their key is
    a constant.
    """
    uniforms = np.random.Generator(np.random.Philox(key=n_tasks)).random(
        (_DRAWS, n_tasks)
    )
    drawn: Floats = special.ndtri(uniforms + 2.0**-54)
    return drawn


@cache
def _error_quantiles(n_tasks: int) -> Floats:
    """Returns quantiles of the estimated over the true standard error."""
    levels = (np.arange(_NODES) + 0.5) / _NODES
    chi_square = stats.chi2.ppf(levels, n_tasks - 1)
    quantiles: Floats = np.sqrt(chi_square / (n_tasks - 1))
    return quantiles
