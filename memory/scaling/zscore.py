"""Scores in standard deviations from their mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Floats
from memory.scaling.minmax import Minmax


@dataclass(frozen=True, slots=True)
class Zscore:
    """``(score - mean) / sd`` of the living, with the population's ``sd`` (over ``n``).

    The mean is at 0 and nobody lies beyond ``sqrt(n - 1)``. One outlier flattens all
    others; ``Mad`` and ``Rank`` do not mind it.
    """

    def scale(self, scores: Floats) -> Floats:
        """Returns ``(n,)`` standard scores; zeros for all where all are equal."""
        # Standard scores are blind to shift and scale, and the range of the scaled ones
        # is one: neither a sum nor a square can overflow or vanish.
        scaled = Minmax().scale(scores)
        if scaled.min() == scaled.max():
            return np.zeros(scores.size)
        deviations = scaled - scaled.mean()
        standard: Floats = deviations / np.sqrt(np.mean(deviations**2))
        return standard
