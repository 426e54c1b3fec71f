"""Normal steps of decimal numbers, one a line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from memory import positive, real, within

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_STANDARD = NormalDist()
#: The inverse of the distribution function needs a number above zero.
_LEAST = 2.0**-54
#: The last digit that is written.
_UNIT = 1e-6


@dataclass(frozen=True, slots=True)
class GaussianLines:
    """Moves each of ``n`` numbers with probability ``rate_per_text / n``, one at least.

    A step is normal; a number that would leave ``[low, high]`` is reflected back into
    it. Where no number would move, one that is chosen uniformly does; a step that six
    decimals do not show becomes one unit of the last, so a proposal is never its parent.

    Args:
        sd: Standard deviation of a step, in the unit of the numbers, positive.
        rate_per_text: Expected number of moved lines before the rule above, positive;
            from ``n`` on every line moves.
        low: Least number that is written.
        high: Largest number that is written, at least one above ``low``. Texts keep one
            length as long as both lie in ``(-10, 10)``.
        failure_rate: Probability that a proposal fails, in ``[0, 1]``; the caller
            draws it.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: A parameter is out of range.
    """

    sd: float = 0.3
    rate_per_text: float = 1.0
    low: float = -5.0
    high: float = 5.0
    failure_rate: float = 0.0

    n_parents: ClassVar[int] = 1

    def __post_init__(self) -> None:
        positive("sd", self.sd)
        positive("rate_per_text", self.rate_per_text)
        if real("high", self.high) < real("low", self.low) + 1.0:
            raise ValueError(
                f"high must be at least one above low, got {self.high} and {self.low}"
            )
        within("failure_rate", self.failure_rate, 0.0, 1.0)

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns the only parent with at least one number moved.

        Lines that do not move stay as they are; one that does is written with a sign and
        six decimals.

        Args:
            parents: One text, a decimal number in each of its ``n`` lines.
            rng: Source of ``n`` numbers, of one more where none of them moves a line,
                and of one per step.

        Raises:
            ValueError: ``parents`` is not one such text.
        """
        lines = parents[0].split("\n") if len(parents) == 1 else []
        if not lines or not all(map(_NUMBER.fullmatch, lines)):
            raise ValueError(
                f"parents must be one text of decimal numbers, got {parents!r}"
            )
        n = len(lines)
        moves = rng.random(n) < self.rate_per_text / n
        if not moves.any():
            moves[int(rng.random() * n)] = True
        for place in moves.nonzero()[0].tolist():
            step = self.sd * _STANDARD.inv_cdf(max(rng.random(), _LEAST))
            lines[place] = self._moved(lines[place], step)
        return "\n".join(lines)

    def _moved(self, line: str, step: float) -> str:
        number = float(line)
        moved = self._written(number + step)
        if float(moved) == number:
            moved = self._written(number + (_UNIT if step > 0.0 else -_UNIT))
        return moved

    def _written(self, number: float) -> str:
        """Returns ``number``, reflected into ``[low, high]``, with six decimals."""
        width = self.high - self.low
        beyond = (number - self.low) % (2.0 * width)
        return f"{self.low + min(beyond, 2.0 * width - beyond):+.6f}"
