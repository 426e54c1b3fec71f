"""A proposer: change one letter."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Letters:
    """Replaces one letter by another of ``letters``."""

    letters: str = "abcd"
    failure_rate: float = 0.0
    n_parents: ClassVar[int] = 1

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns the parent with one letter changed."""
        text = parents[0]
        place = int(rng.random() * len(text))
        others = self.letters.replace(text[place], "")
        return (
            text[:place] + others[int(rng.random() * len(others))] + text[place + 1 :]
        )
