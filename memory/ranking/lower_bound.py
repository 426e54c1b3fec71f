"""A lower confidence bound of the mean of the evaluations."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from memory.records import real


@dataclass(frozen=True, slots=True)
class LowerBound:
    """Ranks by ``mean - z * standard error``, so that one lucky evaluation is not enough.

    The variance of an evaluation is estimated from the ``n`` evaluations and from a prior
    that counts as one degree of freedom,

        variance = (standard_deviation^2 + squares) / n,
        standard error = sqrt(variance / n),

    which is the prior at ``n = 1`` and the evaluations' own variance as ``n`` grows. At the
    same mean and the same spread ``squares / n``, the more evaluations the higher the rank.

    Args:
        z: Number of standard errors below the mean, not negative.
        standard_deviation: What one evaluation is expected to scatter by, in units of
            score, not negative. At zero a single evaluation is taken at its word, and
            outranks repeated ones of the same mean: set it where evaluations are noisy.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: A parameter is negative or not finite.

    References:
        Gelman et al. 2013, "Bayesian Data Analysis", section 3.2: the mean of a scaled
        inverse chi-squared posterior, in its natural scale.
    """

    z: float = 1.0
    standard_deviation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("z", "standard_deviation"):
            value = real(name, getattr(self, name))
            if value < 0.0:
                raise ValueError(f"{name} must not be negative, got {value!r}")
            object.__setattr__(self, name, value)

    def score(self, n: int, mean: float, squares: float) -> float:
        """Returns the bound, finite; ``mean`` where ``z`` is zero."""
        if self.z == 0.0:
            return mean
        error = math.hypot(self.standard_deviation, math.sqrt(squares)) / n
        # An error beyond the floats is infinite, and the bound is their lowest.
        return max(mean - self.z * error, -sys.float_info.max)
