"""Diversity as the share of distinct texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np


class _Tracker:
    def __init__(self) -> None:
        self._texts: list[str] = []
        self._counts: Counter[str] = Counter()

    def append(self, features: str) -> None:
        self._texts.append(features)
        self._counts[features] += 1

    def replace(self, slot: int, features: str) -> None:
        self.append(features)
        self.remove(slot)

    def remove(self, slot: int) -> None:
        gone = self._texts[slot]
        self._counts[gone] -= 1
        if not self._counts[gone]:
            del self._counts[gone]
        self._texts[slot] = self._texts[-1]
        self._texts.pop()

    def measure(self, rng: np.random.Generator) -> float:
        n = len(self._texts)
        return 0.0 if n < 2 else (len(self._counts) - 1) / (n - 1)


@dataclass(frozen=True)
class Distinct:
    """0 if all texts are the same, 1 if no two are."""

    sampled: ClassVar[bool] = False

    def features(self, text: str) -> str:
        """Returns the text."""
        return text

    def tracker(self) -> _Tracker:
        """Returns a tracker with no slots."""
        return _Tracker()

    def measure(self, texts: Sequence[str], rng: np.random.Generator) -> float:
        """Returns the share of distinct texts."""
        tracker = _Tracker()
        for text in texts:
            tracker.append(text)
        return tracker.measure(rng)

    def distance(self, first: str, second: str) -> float:
        """Returns 0 for equal texts, else 1."""
        return float(first != second)
