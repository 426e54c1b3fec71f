"""LoongFlow's mapping: the more diverse, the hotter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Original:
    """Factor ``2 D``: selection cools as diversity falls.

    The source calls it a sigmoid; it is a straight line through the origin.

    References:
        LoongFlow, ``boltzmann.py``, revision 3c1edc12.
    """

    def factor(self, diversity: float) -> float:
        """Returns ``2 * diversity``."""
        return 2.0 * diversity
