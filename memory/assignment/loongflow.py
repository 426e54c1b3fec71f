"""LoongFlow's rule: fill what is empty, then follow the parent, then go round slowly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.records import count


@dataclass(frozen=True, slots=True)
class LoongFlow:
    """An empty island first, else the parent's, else one after the other.

    LoongFlow asks it for every solution that names no island, and takes island 0 for
    none. Its ``n_per_island`` is its population size divided by its islands. The way
    round goes on only with roots that found no island empty.

    Args:
        n_per_island: Roots that go to one island before the next one's turn, at least 1.

    Raises:
        TypeError: ``n_per_island`` is not an integer.
        ValueError: It is below one.

    References:
        LoongFlow, ``in_memory.py``, revision 3c1edc12.
    """

    n_per_island: int = 33

    def __post_init__(self) -> None:
        n_per_island = count("n_per_island", self.n_per_island, minimum=1)
        object.__setattr__(self, "n_per_island", n_per_island)

    def island(self, origin: int | None, sizes: Sequence[int], n_assigned: int) -> int:
        """Returns the first empty island, else ``origin``, else that whose turn it is."""
        for island, size in enumerate(sizes):
            if size == 0:
                return island
        return (
            n_assigned // self.n_per_island % len(sizes) if origin is None else origin
        )

    def counts(self, origin: int | None, sizes: Sequence[int]) -> bool:
        """Returns whether a placement takes a turn: that of a root, no island empty."""
        return origin is None and min(sizes) > 0
