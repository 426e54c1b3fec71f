"""One island after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Solutions go round the islands in turn, whatever their parents."""

    def island(self, origin: int | None, sizes: Sequence[int], n_assigned: int) -> int:
        """Returns ``n_assigned`` modulo the number of islands."""
        return n_assigned % len(sizes)
