"""Islands around a hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Star:
    """Island 0 is the hub: its migrants go to all others, theirs to it alone."""

    def targets(self, island: int, n_islands: int) -> Sequence[int]:
        """Returns all others for the hub, the hub for all others."""
        return (0,) if island else tuple(range(1, n_islands))
