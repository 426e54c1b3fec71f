"""Two one-sided tests: is a difference smaller than a margin?

Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power
approach for assessing the equivalence of average bioavailability", Journal of
Pharmacokinetics and Biopharmaceutics 15. Both tests reject at ``alpha`` exactly if the
interval of level ``1 - 2 alpha`` lies inside the margin, which is the form used here: it
is defined for differences that do not vary, too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from experiments.statistics.aggregate import Interval
from experiments.statistics.paired import t_interval

Floats = NDArray[np.float64]


def equivalence_interval(means: Floats, alpha: float = 0.05) -> Interval:
    """Returns the t interval of level ``1 - 2 alpha`` of ``(n,)`` task means.

    There is none of a single task.
    """
    return t_interval(means, 1.0 - 2.0 * alpha)


def inside(interval: Interval, margin: float) -> bool:
    """Returns whether an interval lies inside ``(-margin, margin)``; none does not.

    Raises:
        ValueError: ``margin`` is not positive and finite.
    """
    if not 0.0 < margin < math.inf:
        raise ValueError(f"margin must be positive and finite, got {margin}")
    return -margin < interval.low and interval.high < margin
