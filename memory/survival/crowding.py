"""The newcomer competes with the one most like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Candidates


@dataclass(frozen=True, slots=True)
class Crowding:
    """Of the newcomer and the one most similar to it, the worse one leaves.

    Similarity is by the diversity metric, so that a niche loses nobody to the others. Of
    equal scores the older one is the better; of those that are equally similar the worst
    one competes. The best leaves never, for it loses to nobody. The newcomer has no
    protection.

    References:
        Harik 1995, "Finding multimodal solutions using restricted tournament selection",
        ICGA 6; here the window of the tournament is the whole population.
    """

    def victim(self, candidates: Candidates) -> int:
        """Returns the index of who leaves.

        Raises:
            ValueError: A distance is NaN.
        """
        scores, seqs = candidates.scores, candidates.seqs
        newcomer = scores.size - 1
        distances = candidates.distances(newcomer)[:newcomer]
        # The minimum is NaN where any distance is.
        nearest = distances.min()
        if np.isnan(nearest):
            raise ValueError(f"distances must not be NaN, got {distances!r}")
        alike = np.flatnonzero(distances == nearest)
        rival = alike[np.lexsort((-seqs[alike], scores[alike]))[0]]
        return int(rival) if scores[newcomer] > scores[rival] else newcomer
