"""Scores replaced by their ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Floats


@dataclass(frozen=True, slots=True)
class Rank:
    """The worst of the living at 0, the best at 1, the rest evenly between.

    Equal scores share their average rank. Nothing but the order matters, so an outlier or
    a sentinel cannot flatten the others and the unit of the score drops out.

    References:
        Baker 1985, "Adaptive selection methods for genetic algorithms", ICGA 1.
    """

    def scale(self, scores: Floats) -> Floats:
        """Returns ``(n,)`` ranks in ``[0, 1]``; 0.5 for all where all are equal."""
        if scores.size == 1:
            return np.full(1, 0.5)
        ordered = np.sort(scores)
        below = ordered.searchsorted(scores, side="left")
        upto = ordered.searchsorted(scores, side="right")
        ranks = (below + upto - 1) * (0.5 / (scores.size - 1))
        return ranks.astype(np.float64, copy=False)
