"""The oldest one leaves."""

from __future__ import annotations

from dataclasses import dataclass

from memory.policies import Candidates


@dataclass(frozen=True, slots=True)
class Oldest:
    """The one that arrived first leaves, but never the best.

    Of equal scores the older one is the better. So each one lives for as many arrivals as
    there is room, whatever its score, except the best, which stays until it is beaten. With
    room for one only, the better of the two stays, the older one on a tie.

    References:
        Real et al. 2019, "Regularized evolution for image classifier architecture
        search", AAAI 33, where the best leaves too.
    """

    def victim(self, candidates: Candidates) -> int:
        """Returns the index of who leaves."""
        scores = candidates.scores
        by_age = candidates.seqs.argsort()
        # The first of the highest scores in the order of age.
        best = int(by_age[scores[by_age].argmax()])
        return int(by_age[1] if by_age[0] == best else by_age[0])
