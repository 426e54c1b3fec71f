"""The figures that LoongFlow's agents read of a population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Digits of LoongFlow's figures.
_MEAN_DIGITS, _SHARE_DIGITS = 6, 2
_TOP = 3


def figures(scored: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Returns the figures of scores and iterations, the best first; zeros of none."""
    if not scored:
        return {
            "top_3_iterations": [],
            "best_score": 0.0,
            "best_iteration": 0,
            "avg_score": 0.0,
            "better_ratio": 0.0,
        }
    mean = sum(score for score, _ in scored) / len(scored)
    better = sum(score > mean for score, _ in scored)
    return {
        "top_3_iterations": [iteration for _, iteration in scored[:_TOP]],
        "best_score": scored[0][0],
        "best_iteration": scored[0][1],
        "avg_score": round(mean, _MEAN_DIGITS),
        "better_ratio": round(better / len(scored), _SHARE_DIGITS),
    }
