"""LoongFlow's MAP-Elites grid, in numbers: bins that depend on who came first.

Three dimensions: the length of a text, its score, and its mean difference from a set of
reference texts. Each value widens running bounds and is then put into a bin between them,
so that equal texts may land in different cells, and old cells are never cut anew. The
reference set is made anew until it has twenty texts, and stays as it is from then on.
LoongFlow's grid decides who takes whose place in its elite archive, and nothing else.

None of our policies uses this module. It reproduces LoongFlow's coordinates for those who
compare runs (``InMemory(feature_binning="running")``); ``memory.grid`` is ours.

References:
    LoongFlow, ``base_memory.py`` and ``in_memory.py``, revision 3c1edc12.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from memory.records import count, real

DIMENSIONS = ("complexity", "diversity", "score")
METHODS = ("minmax", "percentile")
REFERENCES = 20
VALUES_KEPT = 1_000
MEASURED_KEPT = 1_000

#: Weights of the difference of two texts: per character, per line break, per letter.
_LENGTH, _NEWLINES, _LETTERS = 0.1, 10.0, 0.5


def default_feature_bins(elite_size: int, n_dimensions: int) -> int:
    """Returns LoongFlow's number of bins: the root of the archive's size, rounded up.

    Args:
        elite_size: Largest number of elites, not negative; of none there is one bin.
        n_dimensions: Number of dimensions, at least one.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: An argument is out of range.
    """
    count("elite_size", elite_size)
    count("n_dimensions", n_dimensions, minimum=1)
    # Its own way of rounding up, which a root just above a whole number escapes.
    return max(1, int(elite_size ** (1.0 / n_dimensions) + 0.99))


def pair_difference(first: str, second: str) -> float:
    """Returns how much two texts differ, not negative and without an upper bound.

    A tenth per character of length, ten per line break, and a half for each letter of the
    longer text that the other one lacks; of equally long ones ``first`` counts as longer,
    so that the difference depends on the order.
    """
    if first == second:
        return 0.0
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return (
        _LENGTH * abs(len(first) - len(second))
        + _NEWLINES * abs(first.count("\n") - second.count("\n"))
        + _LETTERS * len(set(longer) - set(shorter))
    )


def reference_set(texts: Sequence[str], size: int = REFERENCES) -> list[str]:
    """Returns at most ``size`` of ``texts`` that differ much from each other.

    All of them where they are few enough. Else the first of the pairs that differ most,
    then again and again the first of those whose least difference from the chosen is
    largest.

    Args:
        texts: The population, in the order of arrival.
        size: Size of the set, at least two.
    """
    if len(texts) <= size:
        return list(texts)
    n = len(texts)
    best, chosen = -1.0, [0, 1]
    for i in range(n):
        for j in range(i + 1, n):
            difference = pair_difference(texts[i], texts[j])
            if difference > best:
                best, chosen = difference, [i, j]
    nearest = [
        min(pair_difference(text, texts[one]) for one in chosen) for text in texts
    ]
    while len(chosen) < size:
        rest = (place for place in range(n) if place not in chosen)
        farthest = max(rest, key=nearest.__getitem__)
        chosen.append(farthest)
        for place in range(n):
            difference = pair_difference(texts[place], texts[farthest])
            nearest[place] = min(nearest[place], difference)
    return [texts[place] for place in chosen]


def mean_difference(text: str, references: Sequence[str]) -> float:
    """Returns the mean difference of ``text`` from the references unlike it; 0 if none."""
    others = [reference for reference in references if reference != text]
    if not others:
        return 0.0
    return sum(pair_difference(text, other) for other in others) / len(others)


class RunningBins:
    """One dimension whose bounds widen with every value.

    Args:
        n_bins: Number of bins, at least one.
        method: ``"percentile"`` for the share of the last ``VALUES_KEPT`` values that a
            value is not below; whatever else it says, the place between the bounds.

    Raises:
        TypeError: ``n_bins`` is not an integer.
        ValueError: It is below one.
    """

    def __init__(self, n_bins: int, method: str = "minmax") -> None:
        self.n_bins = count("n_bins", n_bins, minimum=1)
        self._percentile = method == "percentile"
        self._values: deque[float] = deque(maxlen=VALUES_KEPT)
        self._sorted: list[float] = []
        self.minimum = math.inf
        self.maximum = -math.inf

    @property
    def values(self) -> list[float]:
        """The last ``VALUES_KEPT`` values, the newest last."""
        return list(self._values)

    def bin(self, value: float) -> int:
        """Returns the bin of ``value``, in ``[0, n_bins)``, once it has widened the bounds.

        Raises:
            TypeError: ``value`` is not a real number.
            ValueError: It is not finite; in LoongFlow one NaN spoils the bounds for ever.
        """
        value = real("value", value)
        self._widen(value)
        return min(max(int(self._share(value) * self.n_bins), 0), self.n_bins - 1)

    def _widen(self, value: float) -> None:
        if len(self._values) == VALUES_KEPT:
            self._sorted.remove(self._values[0])
        self._values.append(value)
        insort(self._sorted, value)
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)

    def _share(self, value: float) -> float:
        if self._percentile:
            return bisect_right(self._sorted, value) / len(self._sorted)
        if self.minimum == self.maximum:
            return 0.5
        return (value - self.minimum) / (self.maximum - self.minimum)


class RunningGrid:
    """LoongFlow's cells and elites, as a fold over additions and removals.

    Args:
        dimensions: Names out of ``DIMENSIONS``, at least one, each once.
        n_bins: Bins of each dimension.
        method: As for ``RunningBins``.
        islands: Number of islands, each with cells of its own.
        elite_size: Largest number of elites, of all islands together.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range.
    """

    def __init__(
        self,
        dimensions: Sequence[str] = DIMENSIONS,
        n_bins: int = 4,
        method: str = "minmax",
        *,
        islands: int = 1,
        elite_size: int = 50,
    ) -> None:
        self.dimensions = require_dimensions(dimensions)
        self.bins = {name: RunningBins(n_bins, method) for name in self.dimensions}
        self._maps: list[dict[str, str]] = [
            {} for _ in range(count("islands", islands, minimum=1))
        ]
        self._elite_size = count("elite_size", elite_size)
        self._scores: dict[str, float] = {}
        self._texts: dict[str, str] = {}
        self._elites: dict[str, None] = {}
        self._references: list[str] = []
        # A text that comes again keeps the difference that it was given first.
        self._measured: dict[str, float] = {}

    @property
    def feature_maps(self) -> list[dict[str, str]]:
        """For each island, who is in which cell."""
        return [dict(map_) for map_ in self._maps]

    @property
    def elites(self) -> list[str]:
        """Ids of the elites."""
        return list(self._elites)

    @property
    def references(self) -> list[str]:
        """The reference set, final once it has ``REFERENCES`` texts."""
        return list(self._references)

    def add(self, id: str, text: str, score: float, island: int = 0) -> dict[str, int]:
        """Adds a solution and returns its coordinates, one bin per dimension.

        Raises:
            TypeError: ``score`` is not a real number.
            ValueError: ``score`` is not finite.
        """
        score = real("score", score)
        coordinates = {
            name: self._coordinate(name, text, score) for name in self.dimensions
        }
        self._scores[id], self._texts[id] = score, text
        self._take_cell(id, key_of(coordinates, self.dimensions), self._maps[island])
        self._admit(id)
        return coordinates

    def copy(self, id: str, text: str, score: float) -> None:
        """Adds a migrated copy: one of the population, in no cell and never an elite."""
        self._scores[id], self._texts[id] = real("score", score), text

    def remove(self, id: str) -> None:
        """Forgets a solution that left the population; a cell that it held is empty."""
        self._texts.pop(id, None)
        self._scores.pop(id, None)
        self._elites.pop(id, None)
        for cells in self._maps:
            for key in [key for key, holder in cells.items() if holder == id]:
                del cells[key]

    def _coordinate(self, name: str, text: str, score: float) -> int:
        if name != "diversity":
            value = float(len(text)) if name == "complexity" else score
            return self.bins[name].bin(value)
        if len(self._texts) < 2:
            # Nothing to differ from: the lowest bin, and no value that was measured.
            return 0
        if text not in self._measured:
            if len(self._references) < REFERENCES:
                self._references = reference_set(list(self._texts.values()))
            if len(self._measured) == MEASURED_KEPT:
                del self._measured[next(iter(self._measured))]
            self._measured[text] = mean_difference(text, self._references)
        return self.bins[name].bin(self._measured[text])

    def _take_cell(self, id: str, key: str, cells: dict[str, str]) -> None:
        holder = cells.get(key)
        if holder is None:
            cells[key] = id
        elif self._better(id, holder):
            cells[key] = id
            if holder in self._elites:
                del self._elites[holder]
                self._elites[id] = None

    def _admit(self, id: str) -> None:
        if id in self._elites or self._elite_size == 0:
            return
        if len(self._elites) >= self._elite_size:
            lowest = min(self._elites, key=self._scores.__getitem__)
            if not self._better(id, lowest):
                return
            del self._elites[lowest]
        self._elites[id] = None

    def _better(self, id: str, other: str) -> bool:
        return self._scores[id] > self._scores[other]


def coordinates_of(
    texts: Mapping[str, tuple[str, float]],
    dimensions: Sequence[str],
    n_bins: int,
    method: str,
    diversity: Callable[[str], float],
) -> dict[str, dict[str, int]]:
    """Returns the coordinates of a population by its present bounds, whoever came first.

    This is what ``InMemory`` shows by default: the bins of one dimension divide the range
    between the lowest and the highest of the living, so equal populations have equal
    coordinates.

    Args:
        texts: Text and score of each of the living, by id.
        dimensions: Names out of ``DIMENSIONS``.
        n_bins: Bins of each dimension.
        method: ``"minmax"`` or ``"percentile"``.
        diversity: Returns how unlike the others a text is.
    """
    found: dict[str, dict[str, int]] = {id_: {} for id_ in texts}
    for name in dimensions:
        values = {
            id_: float(len(text))
            if name == "complexity"
            else score
            if name == "score"
            else diversity(text)
            for id_, (text, score) in texts.items()
        }
        ordered = sorted(values.values())
        for id_, value in values.items():
            share = _share(value, ordered, method)
            found[id_][name] = min(int(share * n_bins), n_bins - 1)
    return found


def key_of(coordinates: Mapping[str, int], dimensions: Sequence[str]) -> str:
    """Returns the name of a cell: its bins, joined by hyphens."""
    return "-".join(str(coordinates[name]) for name in dimensions)


def require_dimensions(dimensions: object) -> tuple[str, ...]:
    """Returns ``dimensions`` as a tuple.

    Raises:
        TypeError: It is no list of strings.
        ValueError: It is empty, names one twice, or one that is none of ``DIMENSIONS``.
    """
    if isinstance(dimensions, str) or not isinstance(dimensions, Sequence):
        raise TypeError(
            f"feature_dimensions must be a list of names, got {dimensions!r}"
        )
    names = tuple(dimensions)
    if not names or any(name not in DIMENSIONS for name in names):
        raise ValueError(
            f"feature_dimensions must be some of {', '.join(DIMENSIONS)}, got {names!r}"
        )
    if any(first == second for first, second in pairwise(sorted(names))):
        raise ValueError(f"feature_dimensions must differ, got {names!r}")
    return names


def _share(value: float, ordered: Sequence[float], method: str) -> float:
    if method == "percentile":
        return bisect_right(ordered, value) / len(ordered)
    low, high = ordered[0], ordered[-1]
    return 0.5 if low == high else (value - low) / (high - low)
