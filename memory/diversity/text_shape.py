"""Diversity by the shape of texts: length, lines and characters used.

The distance of two texts is the one of LoongFlow (Baidu 2026, ``boltzmann.py`` of git
3c1edc12),

    0.4 |l - l'| / max(1, l, l')        l: length in characters
  + 0.3 |n - n'| / max(1, n, n')        n: number of newlines
  + 0.3 |A ^ A'| / max(1, |A|, |A'|)    A: set of characters, ^ the symmetric difference,

which reaches 1.3, because the last ratio reaches 2. It is blind to order: texts of one
length, line count and character set have distance zero.

Sorted by length, newlines or size of set, each text is the larger one of all pairs with
those before it, so that the mean over all pairs needs no loop over pairs. A tracker keeps
that mean up to date. It rounds each of the three terms of a pair to a multiple of
``2**-44`` and adds integers: what an arrival adds, the departure takes away, and equal
slots have equal sums whatever their history. A pair is off by less than ``2**-43``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from memory.draws import sample
from memory.policies import Features, Floats, Integers, Tracker
from memory.records import count, utf8

Words = NDArray[np.uint64]

_LENGTH, _NEWLINES, _CHARACTERS = 0.4, 0.3, 0.3
# Sums of a row are 64-bit: 1.3 * 2^44 leaves room for 400,000 slots.
_FRACTION_BITS = 44
_UNITS = (
    2.0**_FRACTION_BITS * np.array([_LENGTH, _NEWLINES, _CHARACTERS])[:, None, None]
)
# Sizes of the blocks that bound the memory of temporary arrays.
_CHARACTERS_PER_BLOCK = 2**18
_PAIRS_PER_BLOCK = 2**14
_WORDS_PER_BLOCK = 16


@dataclass(frozen=True, slots=True)
class TextShape:
    """Mean pairwise distance in length, newlines and characters, in ``[0, 1.3]``.

    Samples are drawn without replacement from the texts in their order, so that a
    sampled estimate depends on the order of the slots; the exact mean does not.
    Both estimators are unbiased. Where the sample would hold every pair, the value is
    exact and nothing is drawn.

    Args:
        sample_size: How many texts or pairs to sample; ``None`` compares all pairs. At
            least two texts, or one pair.
        sample_pairs: Whether the sample is one of pairs. If not, it is one of texts, all
            pairs of which are compared: 1,225 pairs for 50 texts.

    Raises:
        TypeError: ``sample_size`` is no integer, or ``sample_pairs`` no bool.
        ValueError: ``sample_size`` is too small, or pairs are to be sampled without one.
    """

    sample_size: int | None = None
    sample_pairs: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.sample_pairs, bool):
            raise TypeError(f"sample_pairs must be a bool, got {self.sample_pairs!r}")
        if self.sample_size is not None:
            count("sample_size", self.sample_size, 1 if self.sample_pairs else 2)
        elif self.sample_pairs:
            raise ValueError("sample_pairs needs a sample_size, got None")

    @property
    def sampled(self) -> bool:
        """Whether ``measure`` may draw random numbers."""
        return self.sample_size is not None

    def n_pairs(self, n: int) -> int:
        """Returns how many pairs of ``n`` texts are compared."""
        if self.sample_size is None:
            return _pairs(n)
        if self.sample_pairs:
            return min(self.sample_size, _pairs(n))
        return _pairs(min(self.sample_size, n))

    def features(self, text: str) -> Features:
        """Returns ``[length, newlines, characters]``, the characters sorted.

        Raises:
            TypeError: ``text`` is not a string.
            ValueError: ``text`` holds a lone surrogate.
        """
        return _features("text", text)

    def distance(self, first: Features, second: Features) -> float:
        """Returns the distance of two texts by their features, in ``[0, 1.3]``.

        It equals ``measure`` of the two texts, to the last bit.
        """
        length, newlines, characters = first
        other_length, other_newlines, other_characters = second
        size, other_size = len(characters), len(other_characters)
        # Either set holds each character once.
        unlike = len(set(characters) ^ set(other_characters))
        return float(
            _LENGTH * (abs(length - other_length) / max(1, length, other_length))
            + _NEWLINES
            * (abs(newlines - other_newlines) / max(1, newlines, other_newlines))
            + _CHARACTERS * (unlike / max(1, size, other_size))
        )

    def tracker(self) -> Tracker:
        """Returns a tracker with no slots."""
        return _SampledTracker(self) if self.sampled else _ExactTracker()

    def measure(self, texts: Sequence[str], rng: np.random.Generator) -> float:
        """Returns the diversity of ``texts``, zero if fewer than two.

        LoongFlow raises where there are no texts. A tracker of the same texts differs
        by its rounding at most, below ``2**-43``.

        Raises:
            TypeError: ``texts`` is one string, or holds something else than strings.
            ValueError: A text holds a lone surrogate.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a sequence of strings, got {texts!r}")
        shapes = [_features(f"texts[{i}]", text) for i, text in enumerate(texts)]
        if self.n_pairs(len(shapes)) == _pairs(len(shapes)):
            return mean_pairwise_distance(shapes)
        tracker = self.tracker()
        for shape in shapes:
            tracker.append(shape)
        return tracker.measure(rng)


def mean_pairwise_distance(features: Sequence[Features]) -> float:
    """Returns the mean distance over all pairs, in ``[0, 1.3]``; zero if fewer than two.

    Takes ``O(n log n)`` and once the characters; the order of ``features`` does not
    change a bit of the result.

    Args:
        features: ``[length, newlines, characters]`` of ``n`` texts.
    """
    n = len(features)
    if n < 2:
        return 0.0
    lengths = np.array([shape[0] for shape in features], dtype=np.int64)
    newlines = np.array([shape[1] for shape in features], dtype=np.int64)
    total = (
        _LENGTH * _sum_of_relative_gaps(lengths)
        + _NEWLINES * _sum_of_relative_gaps(newlines)
        + _CHARACTERS * _sum_of_set_distances([shape[2] for shape in features])
    )
    return total / _pairs(n)


def _features(name: str, text: object) -> list[int | str]:
    text = utf8(name, text)
    return [len(text), text.count("\n"), "".join(sorted(set(text)))]


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _codes(characters: str) -> Integers:
    points = np.frombuffer(characters.encode("utf-32-le"), dtype=np.uint32)
    return points.astype(np.int64)


def _sum_of_relative_gaps(values: Integers) -> float:
    """Returns the sum of ``|v - v'| / max(1, v, v')`` over all pairs of ``(n,)``."""
    values = np.sort(values)
    before = np.cumsum(values) - values
    gaps = values * np.arange(values.size) - before
    return float((gaps / np.maximum(values, 1)).sum())


def _sum_of_set_distances(sets: Sequence[str]) -> float:
    """Returns the sum of ``|A ^ A'| / max(1, |A|, |A'|)`` over all pairs of sets.

    The sets come in order of size. ``members`` counts how many sets so far hold each
    character, so that the characters which a block shares with those before it, and
    within itself, follow from the counts before and after it.
    """
    highest = max(ord(max(characters, default="\0")) for characters in sets)
    members = np.zeros(1 + highest, dtype=np.int64)
    total, n_before, size_before = 0.0, 0, 0
    for size, group in groupby(sorted(sets, key=len), key=len):
        same_size = list(group)
        n_rows = max(1, _CHARACTERS_PER_BLOCK // max(1, size))
        gaps = 0
        for start in range(0, len(same_size), n_rows):
            block = same_size[start : start + n_rows]
            codes = _codes("".join(block))
            before = int(members[codes].sum())
            np.add.at(members, codes, 1)
            within = (int(members[codes].sum()) - before - codes.size) // 2
            n = len(block)
            gaps += n * (n_before * size + size_before) + 2 * size * _pairs(n)
            gaps -= 2 * (before + within)
            n_before, size_before = n_before + n, size_before + n * size
        total += gaps / max(1, size)
    return total


def _unpacked_bit_count(words: Words) -> NDArray[np.uint64]:
    bits = np.unpackbits(words.view(np.uint8)).reshape(*words.shape, 64)
    counts: NDArray[np.uint64] = bits.sum(axis=-1, dtype=np.uint64)
    return counts


# NumPy counts bits since 2.0.
_bit_count: Callable[[Words], NDArray[np.unsignedinteger]] = getattr(
    np, "bitwise_count", _unpacked_bit_count
)


def _distances(numbers: Floats, words: Words, others: Floats, masks: Words) -> Integers:
    """Returns ``(k, m)`` distances of pairs, in units of ``2**-44``.

    Every step is one correctly rounded operation and symmetric in the two texts, so that
    a pair has one distance wherever it stands.

    Args:
        numbers: ``(3, k, 1)`` or ``(3, 1, m)`` lengths, newlines and sizes of sets.
        words: Sets of characters in ``w`` words of bits: ``(w, k, 1)`` or ``(w, 1, m)``.
        others: ``(3, 1, m)`` numbers of the other texts.
        masks: ``(w, 1, m)`` sets of the other texts.
    """
    terms = np.abs(numbers - others)
    terms[2] = 0.0
    for start in range(0, len(words), _WORDS_PER_BLOCK):
        block = slice(start, start + _WORDS_PER_BLOCK)
        terms[2] += _bit_count(words[block] ^ masks[block]).sum(axis=0)
    terms /= np.maximum(np.maximum(numbers, 1.0), others)
    terms *= _UNITS
    # Whole numbers below 2^53, whose sum is exact in floats too.
    sums: Integers = np.rint(terms, out=terms).sum(axis=0).astype(np.int64)
    return sums


class _Alphabet:
    """The characters seen so far, each with a bit of its own."""

    def __init__(self) -> None:
        self._bits = np.full(128, -1, dtype=np.int64)
        self._n_bits = 0

    def words(self, characters: str) -> Words:
        """Returns ``(w,)`` words with the bits of ``characters``, which are sorted."""
        codes = _codes(characters)
        if characters and ord(characters[-1]) >= self._bits.size:
            missing = 2 * ord(characters[-1]) - self._bits.size
            self._bits = np.pad(self._bits, (0, missing), constant_values=-1)
        bits = self._bits[codes]
        unseen = bits < 0
        if unseen.any():
            news = codes[unseen]
            self._bits[news] = np.arange(self._n_bits, self._n_bits + news.size)
            self._n_bits += news.size
            bits = self._bits[codes]
        flags = np.zeros(64 * -(-self._n_bits // 64), dtype=np.uint8)
        flags[bits] = 1
        return np.packbits(flags).view(np.uint64)


class _Slots:
    """Shapes in contiguous slots; an array doubles when it is full."""

    def __init__(self) -> None:
        self._n = 0
        self._alphabet = _Alphabet()
        self._numbers = np.zeros((3, 16))
        self._words = np.zeros((1, 16), dtype=np.uint64)

    def append(self, features: Features) -> None:
        """Adds a slot at the end."""
        length, newlines, characters = features
        words = self._alphabet.words(characters)
        missing = max(0, words.size - len(self._words))
        full = self._n if self._n == self._numbers.shape[1] else 0
        if missing or full:
            self._numbers = np.pad(self._numbers, ((0, 0), (0, full)))
            self._words = np.pad(self._words, ((0, missing), (0, full)))
        self._numbers[:, self._n] = length, newlines, len(characters)
        self._words[:, self._n] = 0
        self._words[: words.size, self._n] = words
        self._n += 1

    def replace(self, slot: int, features: Features) -> None:
        """Puts another text into ``slot``."""
        self._check(slot)
        self.append(features)
        self.remove(slot)

    def remove(self, slot: int) -> None:
        """Empties ``slot`` by moving the last one into it."""
        self._check(slot)
        self._n -= 1
        self._numbers[:, slot] = self._numbers[:, self._n]
        self._words[:, slot] = self._words[:, self._n]

    def _check(self, slot: int) -> None:
        if not 0 <= slot < self._n:
            raise IndexError(f"slot must lie in [0, {self._n}), got {slot}")


class _ExactTracker(_Slots):
    """Keeps the sum over all pairs; a change costs one or two rows of distances."""

    def __init__(self) -> None:
        super().__init__()
        self._total = 0

    def append(self, features: Features) -> None:
        """Adds a slot at the end."""
        super().append(features)
        self._total += sum(self._rows(self._n - 1))

    def replace(self, slot: int, features: Features) -> None:
        """Puts another text into ``slot``."""
        self._check(slot)
        super().append(features)
        # The distance of the newcomer from the one who leaves is in both and cancels.
        leaving, coming = self._rows(slot, self._n - 1)
        self._total += coming - leaving
        super().remove(slot)

    def remove(self, slot: int) -> None:
        """Empties ``slot`` by moving the last one into it."""
        self._check(slot)
        self._total -= sum(self._rows(slot))
        super().remove(slot)

    def measure(self, rng: np.random.Generator) -> float:
        """Returns the mean over all pairs, zero if fewer than two."""
        if self._n < 2:
            return 0.0
        return self._total / (_pairs(self._n) << _FRACTION_BITS)

    def _rows(self, *slots: int) -> list[int]:
        """Returns the sum of the distances of each of ``slots`` from all slots."""
        distances = _distances(
            self._numbers.take(slots, axis=1)[:, :, None],
            self._words.take(slots, axis=1)[:, :, None],
            self._numbers[:, None, : self._n],
            self._words[:, None, : self._n],
        )
        sums: list[int] = distances.sum(axis=1).tolist()
        return sums


class _SampledTracker(_Slots):
    """Compares only the sample, and only when it is asked."""

    def __init__(self, metric: TextShape) -> None:
        super().__init__()
        self._metric = metric

    def measure(self, rng: np.random.Generator) -> float:
        """Returns the mean over the sampled pairs, zero if fewer than two slots."""
        n = self._n
        if n < 2:
            return 0.0
        n_pairs = self._metric.n_pairs(n)
        members, pairs = np.arange(n), np.arange(n_pairs)
        if n_pairs < _pairs(n):
            if self._metric.sample_pairs:
                pairs = sample(_pairs(n), n_pairs, rng)
            else:
                members = sample(n, self._metric.sample_size or n, rng)
        total = 0
        for start in range(0, n_pairs, _PAIRS_PER_BLOCK):
            total += self._sum(members, pairs[start : start + _PAIRS_PER_BLOCK])
        return total / (n_pairs << _FRACTION_BITS)

    def _sum(self, members: Integers, pairs: Integers) -> int:
        """Returns the sum of the distances of ``pairs`` of the slots ``members``."""
        first, second = (members.take(end) for end in _endpoints(pairs))
        distances = _distances(
            self._numbers.take(first, axis=1)[:, None, :],
            self._words.take(first, axis=1)[:, None, :],
            self._numbers.take(second, axis=1)[:, None, :],
            self._words.take(second, axis=1)[:, None, :],
        )
        return int(distances.sum())


def _endpoints(pairs: Integers) -> tuple[Integers, Integers]:
    """Returns the two slots of each pair: pair ``j (j - 1) / 2 + i`` is ``i < j``."""
    j = ((1.0 + np.sqrt(1.0 + 8.0 * pairs)) / 2.0).astype(np.int64)
    return pairs - j * (j - 1) // 2, j
