"""Uniform selection: the baseline without pressure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.draws import checked_temperature, eligible, located, spread
from memory.policies import Floats, Pick, View


@dataclass(frozen=True, slots=True)
class Uniform:
    """Selects every solution of positive weight with the same probability."""

    closed_form: ClassVar[bool] = True

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
        law = np.full(scores.size, 1.0 / scores.size)
        return spread(law, places, view.scores.size)

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
        return Pick(located(int(u * scores.size), places), False, u)
