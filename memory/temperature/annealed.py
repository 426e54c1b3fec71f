"""A temperature that falls on a schedule, without feedback."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Control, Signal
from memory.records import positive, within


@dataclass(frozen=True, slots=True)
class Annealed:
    """Geometric cooling ``T' = rate T``, held at a minimum.

    The schedule advances once per journal entry that changes the living.

    Args:
        start: Temperature before the first entry, in units of scaled score.
        rate: Factor per entry, in ``[0, 1]``; 1 never cools.
        minimum: Lowest temperature, positive, at most ``start``.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: A parameter is out of range, or ``minimum`` exceeds ``start``.

    References:
        Kirkpatrick, Gelatt and Vecchi 1983, "Optimization by simulated annealing".
    """

    start: float = 0.5
    rate: float = 0.99
    minimum: float = 0.01

    stateful: ClassVar[bool] = True
    reads_diversity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("start", self.start)
        within("rate", self.rate, 0.0, 1.0)
        if positive("minimum", self.minimum) > self.start:
            raise ValueError(
                f"minimum must not exceed start, got {self.minimum} > {self.start}"
            )

    @property
    def initial(self) -> float:
        """The temperature before the first entry."""
        return self.start

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the next temperature of the schedule."""
        raw = self.rate * state
        temperature = max(self.minimum, raw)
        clamp = -1 if raw <= self.minimum else 0
        return Control(temperature, math.nan, math.nan, raw, temperature, clamp)
