"""The mean of the evaluations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mean:
    """Ranks a solution by the mean of its evaluations, however few."""

    def score(self, n: int, mean: float, squares: float) -> float:
        """Returns ``mean``."""
        return mean
