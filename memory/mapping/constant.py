"""A mapping that ignores diversity."""

from __future__ import annotations

from dataclasses import dataclass

from memory.records import within


@dataclass(frozen=True, slots=True)
class Constant:
    """The same factor at every diversity: the control of the mapping.

    Args:
        value: The factor, in ``[0, 2]``.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` is out of range.
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        within("value", self.value, 0.0, 2.0)

    def factor(self, diversity: float) -> float:
        """Returns ``value``."""
        return self.value
