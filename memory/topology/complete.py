"""Every island next to every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complete:
    """Migrants go to all other islands, from the next one round to the one before."""

    def targets(self, island: int, n_islands: int) -> Sequence[int]:
        """Returns the other islands in cyclic order."""
        return tuple((island + step) % n_islands for step in range(1, n_islands))
