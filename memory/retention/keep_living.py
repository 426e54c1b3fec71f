"""Only the living are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Dead
from memory.records import count


@dataclass(frozen=True, slots=True)
class KeepLiving:
    """The dead are forgotten ``grace`` entries after they died.

    Args:
        grace: Journal entries for which the dead are kept, not negative; at zero they are
            forgotten as they die.

    Raises:
        TypeError: ``grace`` is not an integer.
        ValueError: ``grace`` is negative.
    """

    grace: int = 0

    keeps_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "grace", count("grace", self.grace))

    def forgets(self, dead: Dead) -> bool:
        """Returns whether ``grace`` entries have come since it died."""
        return dead.entries >= self.grace
