"""A temperature that never moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Control, Signal
from memory.records import positive


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same temperature at every step.

    Args:
        value: Temperature, positive, in units of scaled score.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` is not positive and finite.
    """

    value: float = 0.1

    stateful: ClassVar[bool] = False
    reads_diversity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("value", self.value)

    @property
    def initial(self) -> float:
        """The temperature."""
        return self.value

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the temperature, whatever the signal."""
        return Control(self.value, math.nan, math.nan, self.value, self.value, 0)
