"""Weights as the users gave them."""

from __future__ import annotations

from dataclasses import dataclass

from memory.policies import Floats


@dataclass(frozen=True, slots=True)
class AsGiven:
    """No adjustment: a weight multiplies the probability of selection as it is."""

    def adjusted(self, weights: Floats) -> Floats:
        """Returns ``weights``."""
        return weights
