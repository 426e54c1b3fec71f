"""A true sigmoid of either sign."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memory.records import real, within


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """Factor ``2 / (1 + exp(-gain (D - midpoint)))``.

    A positive gain cools selection as diversity falls, as ``Original`` does; a negative
    one heats it, as ``Inverted`` does. The factor is 1 at the midpoint.

    Args:
        gain: Steepness; its sign is the sign of the feedback, not zero.
        midpoint: Diversity at which the factor is 1, in ``[0, 1]``.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: ``gain`` is zero or not finite, or ``midpoint`` is out of range.
    """

    gain: float = 8.0
    midpoint: float = 0.5

    def __post_init__(self) -> None:
        if real("gain", self.gain) == 0.0:
            raise ValueError("gain must not be zero, got 0.0")
        within("midpoint", self.midpoint, 0.0, 1.0)

    def factor(self, diversity: float) -> float:
        """Returns the factor, in ``[0, 2]``."""
        # tanh does not overflow where exp would.
        return 1.0 + math.tanh(0.5 * self.gain * (diversity - self.midpoint))
