"""Tournament selection, with replacement."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import Pick, View, count


@dataclass(frozen=True)
class Tournament:
    """The best of ``size`` solutions drawn uniformly; the first in the view on ties."""

    size: int = 3
    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count("size", self.size, minimum=1)

    def probabilities(self, view: View, temperature: float) -> np.ndarray:
        """Returns the law: P(rank r wins) = ((n-r)/n)^size - ((n-r-1)/n)^size."""
        n = view.scores.size
        order = np.argsort(-view.scores, kind="stable")
        left = (n - np.arange(n)) / n
        law = np.empty(n)
        law[order] = left**self.size - (left - 1 / n) ** self.size
        return law

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns the winner of one tournament."""
        n = view.scores.size
        order = np.argsort(-view.scores, kind="stable")
        u = rng.random(self.size)
        return Pick(int(order[int(u.min() * n)]), False, float(u.min()))
