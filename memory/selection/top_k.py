"""Truncation selection: uniform over the few best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.draws import checked_temperature, eligible, inverse, located, spread
from memory.policies import Floats, Pick, View
from memory.records import count


@dataclass(frozen=True, slots=True)
class TopK:
    """Selects uniformly among the ``k`` best solutions of positive weight.

    Those above the ``k``-th best score get ``1 / k`` each; those that equal it share
    what is left, so that the order of the population does not matter. With fewer than
    ``k`` eligible solutions it is uniform over them.

    Args:
        k: Number of the best that are selected from, at least one.

    Raises:
        TypeError: ``k`` is not an integer.
        ValueError: ``k`` is below one.
    """

    k: int = 5

    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", count("k", self.k, minimum=1))

    def probabilities(self, view: View, temperature: float) -> Floats:
        """Returns the ``(n,)`` probabilities of selection; they sum to one.

        Args:
            view: The living, at least one with a positive weight.
            temperature: Positive temperature; it is checked and does not matter.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        checked_temperature(temperature)
        scores, _, places = eligible(view)
        return spread(self._law(scores), places, view.scores.size)

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns a parent drawn from ``probabilities`` with one uniform number.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        checked_temperature(temperature)
        scores, _, places = eligible(view)
        u = rng.random()
        return Pick(located(inverse(self._law(scores), u), places), False, u)

    def _law(self, scores: Floats) -> Floats:
        slots = min(self.k, scores.size)
        border = np.partition(scores, scores.size - slots)[scores.size - slots]
        above, at = scores > border, scores == border
        left = slots - np.count_nonzero(above)
        law: Floats = (above + at * (left / np.count_nonzero(at))) / slots
        return law
