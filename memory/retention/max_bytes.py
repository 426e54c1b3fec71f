"""The bodies of all records take no more than so many bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Dead
from memory.records import count


@dataclass(frozen=True, slots=True)
class MaxBytes:
    """The dead are forgotten while the bodies of dead and living exceed ``n_bytes``.

    The living stay whatever they take: where they alone exceed it, all dead are forgotten.

    Args:
        n_bytes: Highest number of bytes of all bodies together, not negative.

    Raises:
        TypeError: ``n_bytes`` is not an integer.
        ValueError: ``n_bytes`` is negative.
    """

    n_bytes: int = 1_000_000_000

    keeps_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_bytes", count("n_bytes", self.n_bytes))

    def forgets(self, dead: Dead) -> bool:
        """Returns whether the bodies take more than ``n_bytes``."""
        return dead.dead_bytes + dead.living_bytes > self.n_bytes
