"""The dead are remembered for so long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Dead
from memory.records import real


@dataclass(frozen=True, slots=True)
class MaxAge:
    """The dead are forgotten when they are older than an age.

    An age in entries counts from its death, one in time from when it was made. The dead are
    forgotten in the order in which they died, so that one made early waits for those that
    died before it.

    Args:
        age: Highest age that is kept, in ``unit``, not negative.
        unit: ``"entries"`` of the journal, or ``"time"`` in the caller's unit.

    Raises:
        TypeError: ``age`` is not a real number.
        ValueError: ``age`` is negative or not finite, or ``unit`` is unknown.
    """

    age: float = 10_000.0
    unit: str = "entries"

    keeps_all: ClassVar[bool] = False

    def __post_init__(self) -> None:
        age = real("age", self.age)
        if age < 0.0:
            raise ValueError(f"age must not be negative, got {age!r}")
        object.__setattr__(self, "age", age)
        if self.unit not in ("entries", "time"):
            raise ValueError(f"unit must be entries or time, got {self.unit!r}")

    def forgets(self, dead: Dead) -> bool:
        """Returns whether it is older than ``age``."""
        return (dead.entries if self.unit == "entries" else dead.time) > self.age
