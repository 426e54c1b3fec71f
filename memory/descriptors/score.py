"""The score itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """The score of the solution as it was first evaluated."""

    def value(self, text: str, score: float) -> float:
        """Returns ``score``."""
        return score
