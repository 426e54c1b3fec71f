"""Scores scaled to their own range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Floats


@dataclass(frozen=True, slots=True)
class Minmax:
    """The worst of the living at 0, the best at 1, the rest in proportion.

    One outlier flattens all others; ``Rank`` does not mind it.
    """

    def scale(self, scores: Floats) -> Floats:
        """Returns ``(n,)`` scores in ``[0, 1]``; 0.5 for all where all are equal."""
        low, high = scores.min(), scores.max()
        if low == high:
            return np.full(scores.size, 0.5)
        with np.errstate(over="ignore"):
            span = high - low
        if np.isfinite(span):
            plain: Floats = (scores - low) / span
            return plain
        # Halved, the range of huge scores of both signs is finite.
        scaled: Floats = (0.5 * scores - 0.5 * low) / (0.5 * high - 0.5 * low)
        return scaled
