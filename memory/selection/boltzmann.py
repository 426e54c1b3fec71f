"""Boltzmann (softmax) selection over the whole population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.draws import (
    boltzmann_factors,
    checked_temperature,
    eligible,
    exponent,
    inverse,
    located,
    spread,
)
from memory.policies import Floats, Pick, View
from memory.records import flag, within


@dataclass(frozen=True, slots=True)
class Boltzmann:
    """Selects with probability proportional to ``exp(score / T) * weight^power``.

    The law over the ``m`` eligible solutions, those of positive weight, is

        p = exploration / m + (1 - exploration) * softmax(score / T + power * log w).

    It is invariant to a shift of all scores and, jointly with the temperature, to their
    scale. As the temperature falls to zero the softmax becomes proportional to
    ``weight^power`` over the best; as it grows, over all eligible.

    Args:
        exploration: Probability of a uniform choice among the eligible, in ``[0, 1]``.
        weighted: Whether the weights multiply the probabilities. A weight of zero
            means never even where they do not.
        power: Exponent of the weights, in ``[0, 1e300]``.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A parameter lies outside its range.
    """

    exploration: float = 0.0
    weighted: bool = True
    power: float = 1.0

    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        exploration = within("exploration", self.exploration, 0.0, 1.0)
        object.__setattr__(self, "exploration", exploration)
        object.__setattr__(self, "power", exponent("power", self.power))
        flag("weighted", self.weighted)

    def probabilities(self, view: View, temperature: float) -> Floats:
        """Returns the ``(n,)`` probabilities of selection; they sum to one.

        Args:
            view: The living, at least one with a positive weight.
            temperature: Positive temperature, in units of scaled score.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        temperature = checked_temperature(temperature)
        scores, weights, places = eligible(view)
        factors = self._factors(scores, weights, temperature)
        law = self.exploration / scores.size + (1.0 - self.exploration) * (
            factors / factors.sum()
        )
        return spread(law, places, view.scores.size)

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns a parent drawn from ``probabilities`` with one uniform number.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        temperature = checked_temperature(temperature)
        scores, weights, places = eligible(view)
        exploration = self.exploration
        u = rng.random()
        if u < exploration:
            # The quotient may round to one.
            index = min(int(u / exploration * scores.size), scores.size - 1)
            return Pick(located(index, places), True, u)
        factors = self._factors(scores, weights, temperature)
        index = inverse(factors, (u - exploration) / (1.0 - exploration))
        return Pick(located(index, places), False, u)

    def _factors(self, scores: Floats, weights: Floats, temperature: float) -> Floats:
        return boltzmann_factors(
            scores, temperature, weights if self.weighted else None, self.power
        )
