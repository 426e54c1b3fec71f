"""Weights held within bounds, relative to their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memory.policies import Floats
from memory.records import flag, positive, within

_SMALLEST = math.nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Positive weights are divided by their mean, then held within bounds.

    A rule that gives credit to lineages makes weights grow from generation to generation:
    LoongFlow's reach 22.8 after ten, from 0.05, and to the power of 5, which its examples
    use, the deepest lineage wins whatever the scores. Division by the mean takes out the
    growth, the bounds what is left. At the default ones no two weights differ by more than
    a factor of 1.11, which to the power of 5 is 1.65: less than the factor of 1.74 between
    the best and the worst of scores in ``[0, 1]`` at 1.8, the highest temperature that
    LoongFlow reaches. Scores decide and weights nudge.

    Args:
        minimum: Lowest positive weight, not negative. Zero bounds nothing from below, but
            a positive weight stays positive.
        maximum: Highest weight, positive, at least ``minimum``.
        normalised: Whether weights are divided by the mean of the positive ones first.

    Raises:
        TypeError: A bound is not a real number, or ``normalised`` no bool.
        ValueError: The bounds do not satisfy ``0 <= minimum <= maximum < inf`` with a
            positive maximum.
    """

    minimum: float = 0.95
    maximum: float = 1.05
    normalised: bool = True

    def __post_init__(self) -> None:
        maximum = positive("maximum", self.maximum)
        minimum = within("minimum", self.minimum, 0.0, maximum)
        object.__setattr__(self, "maximum", maximum)
        object.__setattr__(self, "minimum", minimum)
        flag("normalised", self.normalised)

    def adjusted(self, weights: Floats) -> Floats:
        """Returns ``(n,)`` weights, zero or within the bounds; zero stays zero."""
        eligible = weights > 0.0
        kept = weights[eligible]
        if kept.size and self.normalised:
            # Shares of the largest, because a sum of weights may overflow.
            kept = kept / kept.max()
            kept = kept / kept.mean()
        bounded = np.zeros(weights.size)
        # A quotient that underflows must not become a zero, which means never.
        bounded[eligible] = np.clip(kept, max(self.minimum, _SMALLEST), self.maximum)
        return bounded
