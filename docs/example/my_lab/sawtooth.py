"""A temperature that falls and is thrown back, again and again."""

from dataclasses import dataclass
from typing import ClassVar

from memory import Control, Signal, count, positive


@dataclass(frozen=True)
class Sawtooth:
    """Falls linearly from ``high`` to ``low`` over ``period`` entries, then starts anew."""

    high: float = 0.5
    low: float = 0.02
    period: int = 50
    stateful: ClassVar[bool] = False
    reads_diversity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("low", self.low)
        positive("high", self.high)
        count("period", self.period, minimum=1)

    @property
    def initial(self) -> float:
        """The temperature at the start."""
        return self.high

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the temperature of this entry."""
        phase = (signal.step % self.period) / self.period
        value = self.high + (self.low - self.high) * phase
        return Control(value, float("nan"), float("nan"), value, value, 0)
