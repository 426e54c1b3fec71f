"""The mapping of the other sign: the less diverse, the hotter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inverted:
    """Factor ``2 (1 - D)``: a collapsing population is heated."""

    def factor(self, diversity: float) -> float:
        """Returns ``2 * (1 - diversity)``."""
        return 2.0 * (1.0 - diversity)
