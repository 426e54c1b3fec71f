"""Shared by the policies that draw: who is eligible, and how places are drawn.

Random decisions are built from ``rng.random()`` alone, whose stream NumPy keeps stable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memory.policies import Floats, Integers, View
from memory.records import positive, within

Places = NDArray[np.intp]

# Far beyond any use, and small enough for ``power * log(weight)`` to stay finite.
LARGEST_POWER = 1e300


def exponent(name: str, value: object) -> float:
    """Returns ``value`` as an exponent of the weights, in ``[0, 1e300]``.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` is not finite or lies outside the range.
    """
    return within(name, value, 0.0, LARGEST_POWER)


def checked_temperature(temperature: float) -> float:
    """Returns ``temperature`` as a float, positive and finite.

    Raises:
        TypeError: ``temperature`` is not a real number.
        ValueError: ``temperature`` is not finite or not positive.
    """
    if type(temperature) is float and 0.0 < temperature < math.inf:
        return temperature
    return positive("temperature", temperature)


def eligible(view: View) -> tuple[Floats, Floats, Places | None]:
    """Returns the scores, weights and places of the solutions of positive weight.

    Args:
        view: The living.

    Returns:
        ``(m,)`` scores, ``(m,)`` weights, and their ``(m,)`` places in the view, or
        ``None`` instead of the places if all are eligible (``m = n``).

    Raises:
        ValueError: The view is empty or its lengths differ, a score is not finite, a
            weight is negative or not finite, or no weight is positive.
    """
    scores, weights = view.scores, view.weights
    if scores.size == 0 or weights.size != scores.size:
        raise ValueError(
            "view must hold as many weights as scores, at least one, got "
            f"{weights.size} and {scores.size}"
        )
    # Extremes are NaN where any number is, and then no comparison holds.
    lowest, highest = np.minimum.reduce(scores), np.maximum.reduce(scores)
    if not (-math.inf < lowest and highest < math.inf):
        raise ValueError(f"scores must be finite, got {scores!r}")
    lightest, heaviest = np.minimum.reduce(weights), np.maximum.reduce(weights)
    if not (lightest >= 0.0 and heaviest < math.inf):
        raise ValueError(f"weights must be finite and not negative, got {weights!r}")
    if lightest > 0.0:
        return scores, weights, None
    if heaviest == 0.0:
        raise ValueError("at least one weight must be positive, got all zero")
    places = np.flatnonzero(weights > 0.0)
    return scores[places], weights[places], places


def located(index: int, places: Places | None) -> int:
    """Returns the place in the view of the eligible solution ``index``."""
    return index if places is None else int(places[index])


def spread(law: Floats, places: Places | None, n: int) -> Floats:
    """Returns ``(n,)`` probabilities: ``law`` at ``places``, zero elsewhere."""
    if places is None:
        return law
    full = np.zeros(n)
    full[places] = law
    return full


def boltzmann_factors(
    scores: Floats,
    temperature: float,
    weights: Floats | None = None,
    power: float = 1.0,
) -> Floats:
    """Returns ``exp(score / temperature) * weight^power`` up to a common factor.

    Args:
        scores: ``(n,)`` finite scores.
        temperature: Positive temperature, in units of score.
        weights: ``(n,)`` positive weights; all equal by default.
        power: Exponent of the weights, in ``[0, 1e300]``.

    Returns:
        ``(n,)`` factors in ``[0, 1]``, the largest of them one.
    """
    # A spread or a quotient beyond the floats is minus infinity, whose factor is zero.
    with np.errstate(over="ignore"):
        exponents = scores - np.maximum.reduce(scores)
        exponents /= temperature
        if weights is not None:
            exponents += power * np.log(weights)
            exponents -= np.maximum.reduce(exponents)
    factors: Floats = np.exp(exponents, out=exponents)
    return factors


def inverse(factors: Floats, u: float) -> int:
    """Returns the index that ``u`` in ``[0, 1]`` selects, proportionally to ``factors``.

    An index whose factor is zero is never returned, whatever the rounding of ``u``.

    Args:
        factors: ``(n,)`` factors, none negative, with a positive sum.
        u: Uniform number.
    """
    edges = np.add.accumulate(factors)
    total = float(edges[-1])
    target = min(u * total, math.nextafter(total, 0.0))
    return int(edges.searchsorted(target, side="right"))


def sample(n: int, size: int, rng: np.random.Generator) -> Integers:
    """Returns ``(size,)`` distinct indices below ``n``: a partial Fisher-Yates shuffle.

    Takes ``size`` doubles from ``rng``, whatever ``n``.
    """
    places = np.arange(size)
    targets = places + (rng.random(size) * (n - places)).astype(np.int64)
    moved: dict[int, int] = {}
    drawn = []
    for place, target in enumerate(targets.tolist()):
        drawn.append(moved.get(target, target))
        moved[target] = moved.get(place, place)
    return np.array(drawn)


def shuffled(size: int, rng: np.random.Generator) -> Iterator[int]:
    """Yields ``0 .. size - 1`` in uniformly random order, at one number per item.

    A Fisher-Yates shuffle that remembers only the places it has moved, so that the
    first ``k`` items cost ``O(k)`` whatever the size.
    """
    moved: dict[int, int] = {}
    for first in range(size):
        place = first + int(rng.random() * (size - first))
        yield moved.get(place, place)
        moved[place] = moved.get(first, first)
