"""The worst one leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Floats, Integers


@dataclass(frozen=True, slots=True)
class Worst:
    """The lowest score leaves, the oldest on ties, but neither the newcomer nor the best.

    As in LoongFlow the newcomer is protected for one turn, and the best of the others (the
    oldest on ties) for ever. With room for one only, the better of the two stays, the older
    one on a tie.
    """

    def victim(self, scores: Floats, seqs: Integers) -> int:
        """Returns the index of who leaves."""
        newcomer = int(seqs.argmax())
        others = scores.copy()
        others[newcomer] = np.inf
        low = others.min()
        worst = np.flatnonzero(others == low)
        if worst.size < scores.size - 1:
            # Somebody else is better, so the best is not among the worst.
            return int(worst[seqs[worst].argmin()])
        # All others are equal and their oldest is the best of them.
        by_age = worst[np.argsort(seqs[worst])]
        if by_age.size > 1:
            return int(by_age[1])
        return int(by_age[0]) if scores[newcomer] > low else newcomer
