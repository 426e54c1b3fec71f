"""Scores as they are."""

from __future__ import annotations

from dataclasses import dataclass

from memory.policies import Floats


@dataclass(frozen=True, slots=True)
class Raw:
    """No scaling: the temperature is in units of score, as in LoongFlow."""

    def scale(self, scores: Floats) -> Floats:
        """Returns ``scores``."""
        return scores
