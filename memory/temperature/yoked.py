"""A temperature that replays what another run's controller decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Control, Signal
from memory.records import positive


@dataclass(frozen=True, slots=True)
class Yoked:
    """The schedule of another run, without its feedback.

    An adaptive controller has a level, a schedule and a feedback. Replaying the
    temperatures of another run keeps level and schedule and takes the feedback away.

    Args:
        schedule: Temperature after each entry that changes the living, from the first
            on, positive; the last one stays.

    Raises:
        TypeError: ``schedule`` is no sequence of real numbers.
        ValueError: It is empty, or a temperature is not positive and finite.

    References:
        Church 1964, "Systematic effect of random error in the yoked control design".
    """

    schedule: Sequence[float]

    stateful: ClassVar[bool] = False
    reads_diversity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        schedule = self.schedule
        if isinstance(schedule, str) or not isinstance(schedule, Sequence):
            raise TypeError(f"schedule must be a list of numbers, got {schedule!r}")
        if not schedule:
            raise ValueError("schedule must not be empty, got no temperature")
        checked = tuple(
            positive(f"schedule[{index}]", value)
            for index, value in enumerate(schedule)
        )
        object.__setattr__(self, "schedule", checked)

    @property
    def initial(self) -> float:
        """The first temperature of the schedule."""
        return self.schedule[0]

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the temperature of this entry, whatever the diversity."""
        index = min(max(signal.step, 1), len(self.schedule)) - 1
        value = self.schedule[index]
        return Control(value, math.nan, math.nan, value, value, 0)
