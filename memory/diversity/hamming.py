"""Diversity by position: the mean normalised Hamming distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.draws import sample
from memory.policies import Features, Integers, Tracker
from memory.records import count, utf8


@dataclass(frozen=True, slots=True)
class Hamming:
    """Mean share of positions at which two texts differ, over all pairs, in ``[0, 1]``.

    All texts must have one length. Instead of comparing pairs, the metric counts how
    often each character stands at each position: of ``n`` texts, ``c`` of which agree
    there, ``c (c - 1) / 2`` pairs match. The counts are whole numbers, so the mean is
    exact and depends on nothing but the texts.

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

    def tracker(self) -> Tracker:
        """Returns a tracker with no slots."""
        return _HammingTracker(self.sample_size)

    def measure(self, texts: Sequence[str], rng: np.random.Generator) -> float:
        """Returns the diversity of ``texts``, zero if fewer than two.

        Raises:
            TypeError: ``texts`` is one string, or holds something else than strings.
            ValueError: The texts differ in length, or one holds a lone surrogate.
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
        self._cells: list[Integers] = []
        self._start(0)

    def append(self, features: Features) -> None:
        """Adds a slot at the end.

        Raises:
            ValueError: The text has another length than those in the slots.
        """
        if not self._cells:
            self._start(len(features))
        cells = self._cells_of(features)
        self._matches += int(self._counts[cells].sum())
        self._counts[cells] += 1
        self._cells.append(cells)

    def replace(self, slot: int, features: Features) -> None:
        """Puts another text into ``slot``.

        Raises:
            IndexError: There is no such slot.
            ValueError: The text has another length than those in the other slots.
        """
        self._check(slot)
        if len(self._cells) == 1 and len(features) != self._length:
            self._cells.clear()
            self.append(features)
            return
        cells, leaving = self._cells_of(features), self._cells[slot]
        counts = self._counts
        lost = counts[leaving] - 1
        counts[leaving] = lost
        gained = counts[cells]
        counts[cells] = gained + 1
        self._matches += int((gained - lost).sum())
        self._cells[slot] = cells

    def remove(self, slot: int) -> None:
        """Empties ``slot`` by moving the last one into it.

        Raises:
            IndexError: There is no such slot.
        """
        self._check(slot)
        cells, last = self._cells[slot], self._cells.pop()
        if slot < len(self._cells):
            self._cells[slot] = last
        self._counts[cells] -= 1
        self._matches -= int(self._counts[cells].sum())

    def measure(self, rng: np.random.Generator) -> float:
        """Returns the mean over all pairs, in ``[0, 1]``; zero if fewer than two."""
        n, matches = len(self._cells), self._matches
        size = self._sample_size
        if size is not None and size < n:
            members = sample(n, size, rng)
            cells = np.concatenate([self._cells[member] for member in members])
            counts = np.bincount(cells)
            n, matches = size, int((counts * (counts - 1)).sum()) // 2
        comparisons = self._length * (n * (n - 1) // 2)
        return (comparisons - matches) / comparisons if comparisons else 0.0

    def _start(self, length: int) -> None:
        self._length = length
        self._positions = np.arange(length)
        self._counts = np.zeros(0, dtype=np.int32)
        # Index of the first count of each code point, -1 for one not seen yet.
        self._rows = np.full(128, -1, dtype=np.int64)
        self._matches = 0

    def _cells_of(self, text: str) -> Integers:
        """Returns the ``(length,)`` indices into the counts that ``text`` occupies."""
        if len(text) != self._length:
            raise ValueError(
                f"texts must have one length, got {len(text)} characters where the "
                f"others have {self._length}"
            )
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        if not text.isascii() and codes.max() >= self._rows.size:
            missing = 2 * int(codes.max()) - self._rows.size
            self._rows = np.pad(self._rows, (0, missing), constant_values=-1)
        rows = self._rows[codes]
        if (rows < 0).any():
            self._add_characters(np.unique(codes[rows < 0]))
            rows = self._rows[codes]
        return rows + self._positions

    def _add_characters(self, codes: Integers) -> None:
        # A row of counts per character, so that a new one moves no other.
        filled = self._counts.size
        self._counts = np.pad(self._counts, (0, codes.size * self._length))
        self._rows[codes] = filled + self._length * np.arange(codes.size)

    def _check(self, slot: int) -> None:
        if not 0 <= slot < len(self._cells):
            raise IndexError(f"slot must lie in [0, {len(self._cells)}), got {slot}")
