"""A task: make a text of letters a palindrome."""

from dataclasses import dataclass

import numpy as np

from experiments.contracts import Anchors, Evaluation
from memory import count

LETTERS = "abcd"


@dataclass(frozen=True)
class _Problem:
    length: int

    @property
    def anchors(self) -> Anchors:
        return Anchors(0.25, 1.0, True, "a random pair agrees one time in four")

    def initial(self, rng: np.random.Generator) -> str:
        return "".join(LETTERS[int(4 * u)] for u in rng.random(self.length))

    def evaluate(self, text: str) -> Evaluation:
        if len(text) != self.length or set(text) - set(LETTERS):
            return Evaluation(None, None, f"not {self.length} letters of {LETTERS}")
        half = self.length // 2
        pairs = zip(text[:half], text[::-1][:half], strict=True)
        value = sum(a == b for a, b in pairs) / half
        return Evaluation((value - 0.25) / 0.75, value)


@dataclass(frozen=True)
class Palindrome:
    """Every pair of letters that mirror each other should agree."""

    length: int = 40

    def __post_init__(self) -> None:
        count("length", self.length, minimum=2)

    @property
    def family(self) -> str:
        return "palindrome"

    @property
    def natural_diversity(self) -> str:
        return "hamming"

    @property
    def natural_proposer(self) -> str:
        return "letters"

    def problem(self, instance: int) -> _Problem:
        return _Problem(self.length)

    def cheap(self) -> "Palindrome":
        return Palindrome(10)
