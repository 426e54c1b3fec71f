"""The island with the fewest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Emptiest:
    """A solution goes where the fewest live, to the lowest number on ties."""

    def island(self, origin: int | None, sizes: Sequence[int], n_assigned: int) -> int:
        """Returns the first island of the smallest size."""
        return min(range(len(sizes)), key=sizes.__getitem__)
