"""The sign-flip permutation test of task means.

Where an arm makes no difference, a task's mean difference is as likely to be ``d`` as
``-d``, because swapping the two labels of a task changes nothing. The test asks how
many of all ``2^n`` swaps give a mean at least as far from zero as the one seen. It
assumes nothing of the spread of tasks, only that each difference is symmetric about
zero (Fisher 1935, "The design of experiments", section 21).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Up to this many tasks all sign vectors are tried, beyond it some are drawn.
EXACT_TASKS = 15
#: Number of sign vectors drawn beyond.
DRAWS = 9_999

# Sums that are equal in exact arithmetic differ by rounding; this share of the sum of
# sizes is a tie.
_TIE = 1e-10
_CHUNK = 256


def sign_flip_p(means: Floats, rng: np.random.Generator | None = None) -> Floats:
    """Returns the two-sided p-value of each row of task means.

    Up to ``EXACT_TASKS`` tasks the p-value is exact, a multiple of ``2 / 2^n``; beyond,
    it is that of ``DRAWS`` drawn sign vectors with the observed one among them, ``(1 +
    k) / (1 + DRAWS)``, which is never zero and keeps its level (Phipson and Smyth 2010).

    Args:
        means: ``(..., n)`` mean differences of ``n`` tasks, in units of the metric.
        rng: Source of the drawn signs; needed beyond ``EXACT_TASKS`` tasks.

    Returns:
        ``(...)`` p-values in ``(0, 1]``.

    Raises:
        ValueError: There is no task, a mean is not finite, or ``rng`` is lacking.
    """
    n = means.shape[-1]
    if n == 0 or not np.isfinite(means).all():
        raise ValueError(f"means must be finite and not empty, got {means}")
    if n <= EXACT_TASKS:
        signs = _all_signs(n)
    elif rng is None:
        raise ValueError(
            f"rng must be given for more than {EXACT_TASKS} tasks, got {n}"
        )
    else:
        signs = np.where(rng.random((DRAWS, n)) < 0.5, 1.0, -1.0)
    rows = means.reshape(-1, n)
    counts = np.empty(len(rows))
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        least = np.abs(part.sum(axis=1)) - _TIE * np.abs(part).sum(axis=1)
        flipped = part @ signs.T
        np.abs(flipped, out=flipped)
        counts[start : start + _CHUNK] = (flipped >= least[:, None]).sum(axis=1)
    drawn = n > EXACT_TASKS
    p: Floats = (counts + drawn) / (len(signs) + drawn)
    return p.reshape(means.shape[:-1])


def smallest_p(n_tasks: int) -> float:
    """Returns the smallest p-value that ``n_tasks`` tasks can give.

    Raises:
        ValueError: ``n_tasks`` is below one.
    """
    if n_tasks < 1:
        raise ValueError(f"n_tasks must be at least 1, got {n_tasks}")
    if n_tasks <= EXACT_TASKS:
        return 2.0 ** (1 - n_tasks)
    return 1.0 / (1.0 + DRAWS)


@cache
def _all_signs(n: int) -> Floats:
    """Returns ``(2^(n-1), n)`` sign vectors, one of each pair of opposites."""
    bits = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    signs = 1.0 - 2.0 * bits.astype(np.float64)
    signs.setflags(write=False)
    return signs
