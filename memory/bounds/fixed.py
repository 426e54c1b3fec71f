"""Bins of one width."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memory.records import count, real


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bins of one width from ``minimum`` to ``maximum``.

    What lies beyond the bounds is in the bins at the ends. A bin holds its lower edge, and
    the last one its upper edge too.

    Args:
        minimum: Lower edge of the first bin, in units of the descriptor.
        maximum: Upper edge of the last bin, above ``minimum``.
        n_bins: Number of bins, at least one.

    Raises:
        TypeError: An edge is not a real number, or ``n_bins`` not an integer.
        ValueError: ``maximum`` is not above ``minimum``, their difference is not finite,
            or ``n_bins`` is below one.
    """

    minimum: float = 0.0
    maximum: float = 1.0
    n_bins: int = 10

    def __post_init__(self) -> None:
        minimum, maximum = real("minimum", self.minimum), real("maximum", self.maximum)
        if not 0.0 < maximum - minimum < math.inf:
            raise ValueError(
                "maximum must be above minimum by a finite difference, got "
                f"{maximum!r} and {minimum!r}"
            )
        object.__setattr__(self, "minimum", minimum)
        object.__setattr__(self, "maximum", maximum)
        object.__setattr__(self, "n_bins", count("n_bins", self.n_bins, minimum=1))

    def bin(self, value: float) -> int:
        """Returns the bin of a finite value, in ``[0, n_bins)``."""
        if value <= self.minimum:
            return 0
        if value >= self.maximum:
            return self.n_bins - 1
        share = (value - self.minimum) / (self.maximum - self.minimum)
        # The product may round to the number of bins.
        return min(int(share * self.n_bins), self.n_bins - 1)
