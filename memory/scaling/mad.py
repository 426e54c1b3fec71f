"""Scores in robust standard deviations from their median."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.policies import Floats

#: What makes either a standard deviation where scores are normal: one over the upper
#: quartile of the normal law, and the root of half of pi.
_OF_MEDIAN, _OF_MEAN = 1.4826, 1.2533
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Mad:
    """``(score - median) / (1.4826 * MAD)``, MAD the median absolute deviation.

    The median is at 0, and outliers do not carry the unit away while they are fewer than
    half of the living. Where more than half have one score, the MAD is zero, and the unit
    is 1.2533 times the mean absolute deviation from the median instead, so that the others
    keep their order. What lies beyond the floats is put at their end.

    References:
        Iglewicz and Hoaglin 1993, "How to detect and handle outliers", ASQC 16.
    """

    def scale(self, scores: Floats) -> Floats:
        """Returns ``(n,)`` finite robust scores; zeros where all are equal."""
        if max(-scores.min(), scores.max()) > 0.25 * _LARGEST:
            # Quartered, the deviations of huge scores of both signs are finite.
            scores = 0.25 * scores
        deviations = scores - np.median(scores)
        sizes = np.abs(deviations)
        largest = sizes.max()
        if largest == 0.0:
            return np.zeros(scores.size)
        unit = _OF_MEDIAN * np.median(sizes)
        if unit == 0.0:
            # Shares of the largest, whose sum neither overflows nor vanishes.
            shares: Floats = deviations / largest
            shares /= _OF_MEAN * np.abs(shares).mean()
            return shares
        with np.errstate(over="ignore"):
            robust = deviations / unit
        bounded: Floats = np.clip(robust, -_LARGEST, _LARGEST)
        return bounded
