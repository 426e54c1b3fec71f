"""Islands in a ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.records import flag


@dataclass(frozen=True, slots=True)
class Ring:
    """Migrants go to the next island, and to the one before where both ways are open.

    Args:
        both_ways: Whether the island before is a target too.

    Raises:
        TypeError: ``both_ways`` is no bool.
    """

    both_ways: bool = False

    def __post_init__(self) -> None:
        flag("both_ways", self.both_ways)

    def targets(self, island: int, n_islands: int) -> Sequence[int]:
        """Returns the neighbours, the next one first; of two islands the other, once."""
        following, preceding = (island + 1) % n_islands, (island - 1) % n_islands
        if self.both_ways and preceding != following:
            return (following, preceding)
        return (following,)
