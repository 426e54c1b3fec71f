"""Pseudo-Boolean benchmark functions: the text is a string of bits.

The functions are those of IOHprofiler (Doerr, Ye, Horesh, Wang, Shir and Baeck 2020,
"Benchmarking discrete optimization heuristics with IOHprofiler", Applied Soft
Computing 88), computed by the package ``ioh``. Its instances above one transform the
bits (2 to 50 flip some of them, 51 to 100 permute them) and also shift and stretch the
value. The bits stay transformed; the value is read before the shift and the stretch, so
that every instance has the same values, optimum and anchors as the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import ioh
import numpy as np

from experiments.contracts import Anchors, Evaluation
from memory import count

#: Beyond these, ioh leaves the bits as they are: a further instance would repeat the
#: first one.
N_INSTANCES = 100

_ASCII_ZERO = 48
_BITS = bytes.maketrans(b"01", b"\x00\x01")

#: Least energy of a sequence of 3, 4, ... 66 bits, by exhaustive search: Packebusch and
#: Mertens 2016, "Low autocorrelation binary sequences", Journal of Physics A 49, 165001.
LABS_ENERGIES = (
    *(1, 2, 2, 7, 3, 8, 12, 13, 5, 10, 6, 19, 15, 24, 32, 25, 29, 26, 26, 39, 47, 36),
    *(36, 45, 37, 50, 62, 59, 67, 64, 64, 65, 73, 82, 86, 87, 99, 108, 108, 101, 109),
    *(122, 118, 131, 135, 140, 136, 153, 153, 166, 170, 175, 171, 192, 188, 197, 205),
    *(218, 226, 235, 207, 208, 240, 257),
)
#: Mean merit factor of 3, 4, ... 66 random bits, which has no closed form: over all
#: strings up to 25 bits, over 30 million of them beyond (standard error below 0.0001).
LABS_RANDOM = (
    *(2.7, 2.4762, 2.0833, 1.6933, 1.8495, 1.6397, 1.5394, 1.4887, 1.4632, 1.4287),
    *(1.402, 1.3713, 1.3481, 1.3255, 1.3064, 1.2904, 1.2756, 1.2626, 1.2509, 1.2403),
    *(1.2305, 1.2216, 1.2133, 1.2056, 1.1985, 1.1919, 1.1857, 1.1799, 1.1746, 1.1695),
    *(1.1649, 1.1603, 1.156, 1.152, 1.1482, 1.1443, 1.1412, 1.1379, 1.1347, 1.1317),
    *(1.1288, 1.1261, 1.1235, 1.121, 1.1187, 1.1163, 1.114, 1.112, 1.11, 1.1079),
    *(1.1061, 1.1042, 1.1025, 1.1009, 1.0991, 1.0976, 1.096, 1.0946, 1.093, 1.0917),
    *(1.0903, 1.089, 1.0877, 1.0864),
)
_SHORTEST_LABS = 3
_LONGEST_LABS = _SHORTEST_LABS + len(LABS_ENERGIES) - 1


class Function(NamedTuple):
    """What is known of a function of ``n`` bits, of its first instance where it matters.

    Attributes:
        rule: What the dimension must be.
        fits: Whether a dimension is that.
        random: Mean value of uniformly random bits, as a function of ``n``.
        best: Value of the optimum, as a function of ``n``.
        source: Where both come from, in one line.
        optimum: ``n`` zeros and ones that have the best value; ``None`` where no such
            string is stored.
        denominator: Values are whole multiples of one over this; zero if they are not.
        cheap: Largest dimension of the cheap task.
    """

    rule: str
    fits: Callable[[int], bool]
    random: Callable[[int], float]
    best: Callable[[int], float]
    source: str
    optimum: Callable[[int], Sequence[int]] | None = None
    denominator: int = 1
    cheap: int = 20


def _ones(n: int) -> list[int]:
    return [1] * n


class Landscape(NamedTuple):
    """What a sum of terms of one or two bits each is, once it is known entirely.

    Attributes:
        mean: Mean value over all strings.
        best: Largest value.
        optimum: ``(n,)`` zeros and ones that have it.
    """

    mean: float
    best: float
    optimum: tuple[int, ...]


@cache
def nk_landscape(n: int) -> Landscape:
    """Returns mean and optimum of NKLandscapes of ``n`` bits.

    In ioh each bit has one neighbour (K = 1), drawn uniformly from all bits, itself
    included, and a random value for each of their four states; the function is minus
    the mean of the values. It is therefore a polynomial of degree two, which values at
    strings of at most two ones give away. As each bit brings one pair, some bit always
    has at most two partners; maximising it out leaves a term of these two, so that all
    bits go in turn and the optimum is exact.
    """
    problem = _ioh_problem("NKLandscapes", 1, n)

    def value(*ones: int) -> float:
        return float(problem([int(bit in ones) for bit in range(n)]))

    constant = value()
    linear = [value(bit) - constant for bit in range(n)]
    pairs: list[dict[int, float]] = [{} for _ in range(n)]
    for i in range(n):
        for j in range(i):
            weight = value(i, j) - constant - linear[i] - linear[j]
            # Rounding leaves 1e-16 where there is no term.
            if abs(weight) > 1e-12:
                pairs[i][j] = pairs[j][i] = weight
    mean = constant + math.fsum(linear) / 2
    mean += math.fsum(weight for row in pairs for weight in row.values()) / 8
    optimum = _maximiser(linear, pairs)
    best = float(problem(list(optimum)))
    return Landscape(mean, best, optimum)


def _maximiser(
    linear: Sequence[float], pairs: Sequence[dict[int, float]]
) -> tuple[int, ...]:
    """Returns the ``(n,)`` bits that maximise a polynomial of degree two.

    Args:
        linear: ``(n,)`` weights of single bits.
        pairs: For each bit its partners, with the weight of both being one; some bit
            has at most two partners, whichever others are taken away.
    """
    gains, partners = list(linear), [dict(row) for row in pairs]
    left = list(range(len(gains)))
    choices: list[tuple[int, float, dict[int, float]]] = []
    while left:
        bit = min(left, key=lambda item: len(partners[item]))
        left.remove(bit)
        gain, weights = gains[bit], partners[bit]
        choices.append((bit, gain, weights))
        for other in weights:
            del partners[other][bit]
        alone = max(0.0, gain)
        shares = {other: max(0.0, gain + w) - alone for other, w in weights.items()}
        for other, share in shares.items():
            gains[other] += share
        if len(weights) == 2:
            first, second = weights
            both = max(0.0, gain + weights[first] + weights[second]) - alone
            joint = both - shares[first] - shares[second]
            total = partners[first].get(second, 0.0) + joint
            partners[first][second] = partners[second][first] = total
    bits = [0] * len(gains)
    for bit, gain, weights in reversed(choices):
        gain += sum(weight for other, weight in weights.items() if bits[other])
        bits[bit] = int(gain > 0.0)
    return tuple(bits)


def _side(n: int) -> int:
    return math.isqrt(n)


def _random_queens(n: int) -> float:
    """Returns the mean value of ``n`` random squares.

    A line of ``m`` squares with ``q`` queens costs ``max(0, q - 1)`` times the side, on
    average ``m / 2 - 1 + 2^-m``.
    """
    side = _side(n)

    def cost(squares: int) -> float:
        return squares / 2 - 1 + 2.0**-squares

    straight = 2 * side * cost(side)
    diagonal = 2 * cost(side) + 4 * sum(cost(squares) for squares in range(2, side))
    return n / 2 - side * (straight + diagonal)


def queens(n: int) -> list[int]:
    """Returns a board of ``n`` squares, row by row, with a queen in every row.

    The construction is that of Hoffman, Loessi and Moore 1969, "Constructions for the
    solution of the m queens problem", Mathematics Magazine 42, for a side of four or
    more.
    """
    side = _side(n)
    even = side - side % 2
    half = even // 2
    places = [(row, 2 * row) for row in range(1, half + 1)]
    places += [(half + row, 2 * row - 1) for row in range(1, half + 1)]
    if even % 6 == 2:
        shifted = [(row, 1 + (2 * row + half - 3) % even) for row in range(1, half + 1)]
        places = shifted + [(even + 1 - row, even + 1 - line) for row, line in shifted]
    if side % 2:
        places.append((side, side))
    board = [0] * n
    for row, line in places:
        board[(row - 1) * side + line - 1] = 1
    return board


def _labs(table: Sequence[float], n: int) -> float:
    return table[n - _SHORTEST_LABS]


FUNCTIONS: dict[str, Function] = {
    "OneMax": Function(
        rule="at least 1",
        fits=lambda n: True,
        random=lambda n: n / 2,
        best=float,
        source="random n/2, each bit counts half the time; optimum n, all ones",
        optimum=_ones,
    ),
    "LeadingOnes": Function(
        rule="at least 1",
        fits=lambda n: True,
        random=lambda n: 1.0 - 2.0**-n,
        best=float,
        source="random 1 - 2^-n, the sum of 2^-k for k = 1..n; optimum n, all ones",
        optimum=_ones,
    ),
    # A block of five with u ones is worth 1 if u = 5, else (4 - u) / 5. ioh declares an
    # optimum that cannot be reached where a block is left incomplete.
    "ConcatenatedTrap": Function(
        rule="a multiple of 5",
        fits=lambda n: n % 5 == 0,
        random=lambda n: n / 5 * (54 / 160),
        best=lambda n: n / 5,
        source="random 54/160 a block of five, by enumeration; optimum n/5, all ones",
        optimum=_ones,
        denominator=5,
    ),
    # The merit factor n^2 / (2 E) of Golay, E the sum of squared autocorrelations.
    "LABS": Function(
        rule=f"in [{_SHORTEST_LABS}, {_LONGEST_LABS}]",
        fits=lambda n: _SHORTEST_LABS <= n <= _LONGEST_LABS,
        random=lambda n: _labs(LABS_RANDOM, n),
        best=lambda n: n * n / 2.0 / _labs(LABS_ENERGIES, n),
        source="random measured over all or 3e7 strings; optimum n^2/(2E) by exhaustive "
        "search, Packebusch and Mertens 2016",
        denominator=0,
    ),
    # Neighbours on the ring that agree.
    "IsingRing": Function(
        rule="at least 3",
        fits=lambda n: n >= 3,
        random=lambda n: n / 2,
        best=float,
        source="random n/2, two bits agree half the time; optimum n, all bits equal",
        optimum=_ones,
    ),
    # Queens, less the side of the board times the surplus queens of every line. A random
    # board is crowded, so that even the empty one scores nearly 1.
    "NQueens": Function(
        rule="a square of at least 16",
        fits=lambda n: n >= 16 and _side(n) ** 2 == n,
        random=_random_queens,
        best=lambda n: float(_side(n)),
        source="random exact, line by line; optimum sqrt(n), one queen a row, placed by "
        "Hoffman, Loessi and Moore 1969",
        optimum=queens,
        cheap=16,
    ),
    "NKLandscapes": Function(
        rule="at least 2",
        fits=lambda n: n >= 2,
        random=lambda n: nk_landscape(n).mean,
        best=lambda n: nk_landscape(n).best,
        source="both exact: K = 1, so the function is a polynomial of degree two whose "
        "bits are eliminated in turn",
        optimum=lambda n: nk_landscape(n).optimum,
        denominator=0,
    ),
}


@dataclass(frozen=True, slots=True)
class Pbo:
    """A pseudo-Boolean function of ``dimension`` bits, maximised.

    Args:
        function: Name of the function, one of ``FUNCTIONS``.
        dimension: Number of bits: a multiple of 5 for ConcatenatedTrap, in ``[3, 66]``
            for LABS, at least 3 for IsingRing, a square of at least 16 for NQueens, at
            least 2 for NKLandscapes, at least 1 for OneMax and LeadingOnes.

    Raises:
        TypeError: ``dimension`` is not an integer.
        ValueError: ``function`` is unknown, or ``dimension`` is not what it needs.
    """

    function: str = "OneMax"
    dimension: int = 64

    def __post_init__(self) -> None:
        if not isinstance(self.function, str) or self.function not in FUNCTIONS:
            raise ValueError(
                f"function must be one of {', '.join(FUNCTIONS)}, got {self.function!r}"
            )
        known = FUNCTIONS[self.function]
        if not known.fits(count("dimension", self.dimension, minimum=1)):
            raise ValueError(
                f"dimension must be {known.rule} for {self.function}, "
                f"got {self.dimension}"
            )

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "pbo"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of bits."""
        return "hamming"

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer that flips bits."""
        return "bit_flip"

    def problem(self, instance: int) -> PboProblem:
        """Returns instance ``instance``.

        Args:
            instance: In ``[1, 100]``: 1 is the function itself, 2 to 50 flip some bits
                beforehand, 51 to 100 permute them.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: ``instance`` is out of range.
        """
        if count("instance", instance, minimum=1) > N_INSTANCES:
            raise ValueError(f"instance must be at most {N_INSTANCES}, got {instance}")
        return PboProblem(self.function, self.dimension, instance)

    def cheap(self) -> Pbo:
        """Returns the same function of at most 20 bits, 16 for NQueens."""
        cheap = FUNCTIONS[self.function].cheap
        return replace(self, dimension=min(self.dimension, cheap))


class PboProblem:
    """One instance; it cannot be pickled, because ``ioh`` objects cannot.

    Args:
        function: Name of the function, one of ``FUNCTIONS``.
        dimension: Number of bits.
        instance: Number of the instance, in ``[1, 100]``.

    Raises:
        RuntimeError: The installed ``ioh`` does not reach the optimum that is known.
    """

    __slots__ = ("_anchors", "_denominator", "_dimension", "_problem", "_range")

    def __init__(self, function: str, dimension: int, instance: int) -> None:
        known = FUNCTIONS[function]
        self._anchors = Anchors(
            known.random(dimension), known.best(dimension), True, known.source
        )
        self._dimension = dimension
        self._denominator = known.denominator
        self._range = self._anchors.best - self._anchors.random
        self._problem = _ioh_problem(function, instance, dimension)
        if known.optimum is not None:
            self._check(
                _carried(known.optimum(dimension), instance), function, instance
            )

    @property
    def anchors(self) -> Anchors:
        """The anchors; the same for every instance."""
        return self._anchors

    def initial(self, rng: np.random.Generator) -> str:
        """Returns uniformly random bits."""
        bits = (rng.random(self._dimension) < 0.5).view(np.uint8)
        return (bits + _ASCII_ZERO).tobytes().decode("ascii")

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of a string of ``dimension`` zeros and ones.

        The value is exactly that of the function, without the shift and the stretch of
        the instance; where it is a whole multiple of one over a denominator, it is
        rounded to it.
        """
        # ioh gives NaN for a wrong length and accepts a bit of 2.
        if (
            not isinstance(text, str)
            or len(text) != self._dimension
            or text.strip("01")
        ):
            return Evaluation(None, None, _complaint(text, self._dimension))
        # A translation of bytes is ten times as fast as int() on each character.
        self._problem(list(text.encode("ascii").translate(_BITS)))
        value = float(self._problem.state.current_internal.y)
        if self._denominator:
            value = round(value * self._denominator) / self._denominator
        return Evaluation((value - self._anchors.random) / self._range, value)

    def _check(self, optimum: str, function: str, instance: int) -> None:
        value = self.evaluate(optimum).value
        if value != self._anchors.best:
            raise RuntimeError(
                f"ioh gives {value} at the optimum of {function}, "
                f"instance {instance}, where {self._anchors.best} is known"
            )


def _ioh_problem(function: str, instance: int, dimension: int) -> Any:  # noqa: ANN401
    return ioh.get_problem(
        function, instance, dimension, problem_class=ioh.ProblemClass.PBO
    )


def _carried(bits: Sequence[int], instance: int) -> str:
    """Returns the text that ``instance`` turns into ``bits``.

    The transformation depends on the number of the instance alone, and LeadingOnes
    shows it plainly: its optimum becomes all ones, and with one bit of it flipped, the
    value is the place of that bit.
    """
    problem = _ioh_problem("LeadingOnes", instance, len(bits))
    ones = [int(bit) for bit in problem.optimum.x]
    text = []
    for index, one in enumerate(ones):
        problem([*ones[:index], 1 - one, *ones[index + 1 :]])
        place = round(problem.state.current_internal.y)
        text.append(one if bits[place] else 1 - one)
    return "".join(map(str, text))


def _complaint(text: object, dimension: int) -> str:
    """Returns in one line why ``text`` is not a string of ``dimension`` bits."""
    rule = f"text must be {dimension} characters, each 0 or 1, got"
    if not isinstance(text, str):
        return f"{rule} a {type(text).__name__}"
    if len(text) != dimension:
        return f"{rule} {len(text)} characters"
    place = next(index for index, bit in enumerate(text) if bit not in "01")
    return f"{rule} {text[place]!a} at position {place}"
