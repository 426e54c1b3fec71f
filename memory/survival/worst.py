"""The worst one leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Candidates


@dataclass(frozen=True, slots=True)
class Worst:
    """The lowest score leaves, the oldest on ties, but neither the newcomer nor the best.

    As in LoongFlow the newcomer is protected for one turn, and the best of the others (the
    oldest on ties) for ever. With room for one only, the better of the two stays, the older
    one on a tie.
    """

    def victim(self, candidates: Candidates) -> int:
        """Returns the index of who leaves."""
        newcomer = candidates.scores.size - 1
        others, seqs = candidates.scores[:newcomer], candidates.seqs[:newcomer]
        low = others.min()
        worst = np.flatnonzero(others == low)
        if worst.size < newcomer:
            # Somebody else is better, so the best is not among the worst.
            return int(worst[seqs[worst].argmin()])
        # All others are equal and their oldest is the best of them.
        by_age = np.argsort(seqs)
        if newcomer > 1:
            return int(by_age[1])
        return 0 if candidates.scores[newcomer] > low else newcomer
