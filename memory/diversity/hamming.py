"""Diversity by position: the mean normalised Hamming distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

import numpy as np

from memory.draws import sample
from memory.policies import Features, Integers, Tracker
from memory.records import count, utf8


@dataclass(frozen=True, slots=True)
class Hamming:
    """Mean share of positions at which two texts differ, over all pairs, in ``[0, 1]``.

    A position that only one of two texts has is one at which they differ, and shares are
    of the longest text measured; for texts of one length it is the Hamming distance.
    Instead of comparing pairs, the metric counts how often each character stands at each
    position: of ``n`` texts, ``c`` of which agree there, ``c (c - 1) / 2`` pairs match.
    The counts are whole numbers, so the mean is exact and depends on nothing but the
    texts.

    Args:
        sample_size: Number of texts to draw and average over, at least two; all of them
            if ``None``, or where there are no more.

    Raises:
        TypeError: ``sample_size`` is not an integer.
        ValueError: ``sample_size`` is below two.
    """

    sample_size: int | None = None

    def __post_init__(self) -> None:
        if self.sample_size is not None:
            count("sample_size", self.sample_size, minimum=2)

    @property
    def sampled(self) -> bool:
        """Whether ``measure`` may draw random numbers."""
        return self.sample_size is not None

    def features(self, text: str) -> Features:
        """Returns ``text`` itself.

        Raises:
            TypeError: ``text`` is not a string.
            ValueError: ``text`` holds a lone surrogate.
        """
        return utf8("text", text)

    def distance(self, first: Features, second: Features) -> float:
        """Returns the share of positions at which two texts differ, in ``[0, 1]``.

        The share is of the longer of the two, so that it equals ``measure`` of the two
        texts; zero for two empty ones.
        """
        longest = max(len(first), len(second))
        # ``map`` ends with the shorter one: what only the longer one has differs.
        matches = sum(map(eq, first, second))
        return float((longest - matches) / max(1, longest))

    def tracker(self) -> Tracker:
        """Returns a tracker with no slots."""
        return _HammingTracker(self.sample_size)

    def measure(self, texts: Sequence[str], rng: np.random.Generator) -> float:
        """Returns the diversity of ``texts``, zero if fewer than two.

        Raises:
            TypeError: ``texts`` is one string, or holds something else than strings.
            ValueError: A text holds a lone surrogate.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a sequence of strings, got {texts!r}")
        tracker = self.tracker()
        for index, text in enumerate(texts):
            tracker.append(utf8(f"texts[{index}]", text))
        return tracker.measure(rng)


class _HammingTracker:
    """Counts of each character at each position, and the number of matches.

    Takes four bytes per position and distinct character.
    """

    def __init__(self, sample_size: int | None) -> None:
        self._sample_size = sample_size
        self._texts: list[str] = []
        self._cells: list[Integers] = []
        self._lengths: Counter[int] = Counter()
        self._start(0)

    def append(self, features: Features) -> None:
        """Adds a slot at the end."""
        if len(features) > self._stride:
            self._widen(len(features))
        self._texts.append(features)
        self._cells.append(self._gained(features))
        self._lengths[len(features)] += 1

    def replace(self, slot: int, features: Features) -> None:
        """Puts another text into ``slot``.

        Raises:
            IndexError: There is no such slot.
        """
        self._check(slot)
        if len(features) > self._stride:
            self._widen(len(features))
        self._lose(slot)
        self._texts[slot] = features
        self._cells[slot] = self._gained(features)
        self._lengths[len(features)] += 1

    def remove(self, slot: int) -> None:
        """Empties ``slot`` by moving the last one into it.

        Raises:
            IndexError: There is no such slot.
        """
        self._check(slot)
        self._lose(slot)
        text, cells = self._texts.pop(), self._cells.pop()
        if slot < len(self._cells):
            self._texts[slot], self._cells[slot] = text, cells

    def measure(self, rng: np.random.Generator) -> float:
        """Returns the mean over all pairs, in ``[0, 1]``; zero if fewer than two."""
        n, matches, lengths = len(self._cells), self._matches, self._lengths
        size = self._sample_size
        if size is not None and size < n:
            members = sample(n, size, rng).tolist()
            counts = np.bincount(
                np.concatenate([self._cells[member] for member in members])
            )
            n, matches = size, int((counts * (counts - 1)).sum()) // 2
            lengths = Counter(len(self._texts[member]) for member in members)
        longest = max(lengths, default=0)
        comparisons = longest * (n * (n - 1) // 2)
        if comparisons == 0:
            return 0.0
        return (_positions_of_pairs(lengths) - matches) / comparisons

    def _gained(self, text: str) -> Integers:
        """Counts ``text`` in and returns the indices of the counts it occupies."""
        cells = self._cells_of(text)
        before = self._counts[cells]
        self._counts[cells] = before + 1
        self._matches += int(before.sum())
        return cells

    def _lose(self, slot: int) -> None:
        """Counts the text in ``slot`` out."""
        cells = self._cells[slot]
        left = self._counts[cells] - 1
        self._counts[cells] = left
        self._matches -= int(left.sum())
        length = len(self._texts[slot])
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]

    def _start(self, stride: int) -> None:
        self._stride = stride
        self._positions = np.arange(stride)
        self._counts = np.zeros(0, dtype=np.int32)
        # Index of the first count of each code point, -1 for one not seen yet.
        self._rows = np.full(128, -1, dtype=np.int64)
        self._matches = 0

    def _widen(self, length: int) -> None:
        """Makes room for texts of ``length`` and counts all texts anew."""
        # The first text sets the stride; from then on it doubles.
        self._start(max(length, 2 * self._stride if self._texts else 0))
        self._cells = [self._gained(text) for text in self._texts]

    def _cells_of(self, text: str) -> Integers:
        """Returns the indices into the counts that ``text`` occupies."""
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        if not text.isascii() and codes.max() >= self._rows.size:
            missing = 2 * int(codes.max()) - self._rows.size
            self._rows = np.pad(self._rows, (0, missing), constant_values=-1)
        rows = self._rows[codes]
        if (rows < 0).any():
            self._add_characters(np.unique(codes[rows < 0]))
            rows = self._rows[codes]
        return rows + self._positions[: codes.size]

    def _add_characters(self, codes: Integers) -> None:
        # A row of counts per character, so that a new one moves no other.
        filled = self._counts.size
        self._counts = np.pad(self._counts, (0, codes.size * self._stride))
        self._rows[codes] = filled + self._stride * np.arange(codes.size)

    def _check(self, slot: int) -> None:
        if not 0 <= slot < len(self._cells):
            raise IndexError(f"slot must lie in [0, {len(self._cells)}), got {slot}")


def _positions_of_pairs(lengths: Counter[int]) -> int:
    """Returns the sum over all pairs of the length of the longer text."""
    shorter = total = 0
    for length in sorted(lengths):
        n = lengths[length]
        total += length * (n * shorter + n * (n - 1) // 2)
        shorter += n
    return total
