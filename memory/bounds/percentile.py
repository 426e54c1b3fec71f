"""Bins that divide a sample of values evenly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from memory.records import count, real


@dataclass(frozen=True, slots=True)
class Percentile:
    """Bins whose edges are the quantiles of a configured sample, whoever arrives first.

    Edge ``i`` is the smallest value that at least a share ``i / n_bins`` of the sample does
    not exceed (the inverse of the empirical distribution function). A bin holds its upper
    edge, so that bins of a sample without ties hold equally many of its values, to one.
    Tied edges leave bins empty; their number stays.

    Args:
        sample: Values of the descriptor, at least one; their order does not matter and is
            not kept.
        n_bins: Number of bins, at least one.

    Raises:
        TypeError: ``sample`` is no list of real numbers, or ``n_bins`` no integer.
        ValueError: ``sample`` is empty or not finite, or ``n_bins`` is below one.

    References:
        Hyndman and Fan 1996, "Sample quantiles in statistical packages", definition 1.
    """

    sample: Sequence[float]
    n_bins: int = 10

    def __post_init__(self) -> None:
        sample = self.sample
        if isinstance(sample, str) or not isinstance(sample, Sequence):
            raise TypeError(f"sample must be a list of numbers, got {sample!r}")
        if not sample:
            raise ValueError("sample must not be empty, got no value")
        checked = (
            real(f"sample[{index}]", value) for index, value in enumerate(sample)
        )
        object.__setattr__(self, "sample", tuple(sorted(checked)))
        object.__setattr__(self, "n_bins", count("n_bins", self.n_bins, minimum=1))

    def bin(self, value: float) -> int:
        """Returns the bin of a finite value, in ``[0, n_bins)``."""
        below = bisect_left(self.sample, value)
        # Whole numbers, so that no rounding decides.
        return min(below * self.n_bins // len(self.sample), self.n_bins - 1)
