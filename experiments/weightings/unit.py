"""Every solution weighs the same."""

from __future__ import annotations

from dataclasses import dataclass

import memory


@dataclass(frozen=True, slots=True)
class Unit:
    """A weight of one for everybody."""

    def weight(
        self, parent: memory.Solution | None, score: float, progress: float
    ) -> float:
        """Returns one."""
        return 1.0
