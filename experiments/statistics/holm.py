"""One family of planned contrasts: p-values adjusted by Holm's step-down rule.

Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian
Journal of Statistics 6. The chance of any false claim in the family stays below alpha,
whatever the dependence between its tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from statsmodels.stats.multitest import multipletests

from experiments.statistics.permutation import EXACT_TASKS, smallest_p


def adjusted(p_values: Sequence[float]) -> tuple[float, ...]:
    """Returns the Holm-adjusted p-values, in the order given.

    Raises:
        ValueError: A p-value lies outside ``[0, 1]`` or is NaN.
    """
    for p in p_values:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p_values must lie in [0, 1], got {p}")
    if len(p_values) < 2:
        return tuple(p_values)
    return tuple(float(p) for p in multipletests(list(p_values), method="holm")[1])


def can_pass(n_tasks: int, n_contrasts: int, alpha: float = 0.05) -> bool:
    """Returns whether ``n_tasks`` tasks can pass a family of ``n_contrasts`` at all.

    The smallest p-value of a family is multiplied by its size, so a study whose smallest
    reachable p-value exceeds ``alpha / n_contrasts`` can never claim anything.

    Raises:
        ValueError: ``n_tasks`` or ``n_contrasts`` is below one, or ``alpha`` lies
            outside ``(0, 1)``.
    """
    if n_contrasts < 1:
        raise ValueError(f"n_contrasts must be at least 1, got {n_contrasts}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha}")
    return smallest_p(n_tasks) * n_contrasts <= alpha


def least_tasks(n_contrasts: int, alpha: float = 0.05) -> int | None:
    """Returns the least number of tasks that can pass a family of ``n_contrasts``.

    ``None`` if no number can, as even drawn sign flips have a smallest p-value.

    Raises:
        ValueError: As ``can_pass``.
    """
    candidates = range(1, EXACT_TASKS + 1)
    return next((n for n in candidates if can_pass(n, n_contrasts, alpha)), None)
