"""The worst one leaves that is the best of no cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Candidates


@dataclass(frozen=True, slots=True)
class CellAware:
    """The lowest score leaves, the oldest on ties, of those who champion no cell.

    A newcomer that is no champion may leave at once. Where all are champions the worst
    champion leaves, but neither the newcomer, which is protected for one turn, nor the best
    (the oldest on ties). With room for one only, the better of the two stays, the older one
    on a tie.

    References:
        Mouret and Clune 2015, "Illuminating search spaces by mapping elites",
        arXiv:1504.04909, whose archive holds the champions alone.
    """

    def victim(self, candidates: Candidates) -> int:
        """Returns the index of who leaves.

        Raises:
            ValueError: There is no grid.
        """
        champions = candidates.champions
        if champions is None:
            raise ValueError(
                "champions must be known: CellAware needs a grid, got None"
            )
        scores, seqs = candidates.scores, candidates.seqs
        newcomer = scores.size - 1
        if newcomer == 1:
            return 0 if scores[1] > scores[0] else 1
        common = np.flatnonzero(~champions)
        if not common.size:
            best = np.lexsort((seqs[:newcomer], -scores[:newcomer]))[0]
            common = np.delete(np.arange(newcomer), best)
        return int(common[np.lexsort((seqs[common], scores[common]))[0]])
