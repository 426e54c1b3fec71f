"""Pseudo-Boolean benchmark functions: the text is a string of bits.

The functions are those of IOHprofiler (Doerr, Ye, Horesh, Wang, Shir and Baeck 2020,
"Benchmarking discrete optimization heuristics with IOHprofiler", Applied Soft
Computing 88), computed by the package ``ioh``. Its instances above one transform the
bits (2 to 50 flip some of them, 51 to 100 permute them) and also shift and stretch the
value. The bits stay transformed; the value is brought back, so that every instance has
the same values, optimum and anchors as the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ioh
import numpy as np

from experiments.contracts import Anchors, Evaluation
from memory import count

#: Beyond these, ioh leaves the bits as they are: a further instance would repeat the
#: first one.
N_INSTANCES = 100

_CHEAP_DIMENSION = 20
_ASCII_ZERO = 48
_BITS = bytes.maketrans(b"01", b"\x00\x01")


class Function(NamedTuple):
    """What is known of a function of ``n`` bits.

    Attributes:
        block: The dimension must be a multiple of this.
        denominator: Values are whole multiples of one over this.
        random: Mean value of uniformly random bits, as a function of ``n``.
        best: Best known value, as a function of ``n``.
        best_is_optimum: Whether the best known value is proved to be the optimum.
        source: Where both come from, in one line.
    """

    block: int
    denominator: int
    random: Callable[[int], float]
    best: Callable[[int], float]
    best_is_optimum: bool
    source: str


FUNCTIONS: dict[str, Function] = {
    "OneMax": Function(
        block=1,
        denominator=1,
        random=lambda n: n / 2,
        best=float,
        best_is_optimum=True,
        source="random n/2, each bit counts half the time; optimum n, all ones",
    ),
    "LeadingOnes": Function(
        block=1,
        denominator=1,
        random=lambda n: 1.0 - 2.0**-n,
        best=float,
        best_is_optimum=True,
        source="random 1 - 2^-n, the sum of 2^-k for k = 1..n; optimum n, all ones",
    ),
    # A block of five with u ones is worth 1 if u = 5, else (4 - u) / 5. ioh declares an
    # optimum that cannot be reached where a block is left incomplete.
    "ConcatenatedTrap": Function(
        block=5,
        denominator=5,
        random=lambda n: n / 5 * (54 / 160),
        best=lambda n: n / 5,
        best_is_optimum=True,
        source="random 54/160 a block of five, by enumeration; optimum n/5, all ones",
    ),
}


@dataclass(frozen=True, slots=True)
class Pbo:
    """A pseudo-Boolean function of ``dimension`` bits, maximised.

    Args:
        function: Name of the function, one of ``FUNCTIONS``.
        dimension: Number of bits, at least one; a multiple of 5 for ConcatenatedTrap.

    Raises:
        TypeError: ``dimension`` is not an integer.
        ValueError: ``function`` is unknown, or ``dimension`` is below one or not a
            multiple of what the function needs.
    """

    function: str = "OneMax"
    dimension: int = 64

    def __post_init__(self) -> None:
        if not isinstance(self.function, str) or self.function not in FUNCTIONS:
            raise ValueError(
                f"function must be one of {', '.join(FUNCTIONS)}, got {self.function!r}"
            )
        count("dimension", self.dimension, minimum=1)
        block = FUNCTIONS[self.function].block
        if self.dimension % block:
            raise ValueError(
                f"dimension must be a multiple of {block} for {self.function}, "
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
        """Returns the same function of at most 20 bits."""
        return replace(self, dimension=min(self.dimension, _CHEAP_DIMENSION))


class PboProblem:
    """One instance; it cannot be pickled, because ``ioh`` objects cannot.

    Args:
        function: Name of the function, one of ``FUNCTIONS``.
        dimension: Number of bits.
        instance: Number of the instance, in ``[1, 100]``.

    Raises:
        RuntimeError: The installed ``ioh`` does not reach the optimum that is known.
    """

    __slots__ = (
        "_anchors",
        "_denominator",
        "_dimension",
        "_range",
        "_shift",
        "_stretch",
        "_value",
    )

    def __init__(self, function: str, dimension: int, instance: int) -> None:
        known = FUNCTIONS[function]
        self._anchors = Anchors(
            known.random(dimension),
            known.best(dimension),
            known.best_is_optimum,
            known.source,
        )
        self._dimension = dimension
        self._denominator = known.denominator
        self._range = self._anchors.best - self._anchors.random
        self._value = _ioh_problem(function, dimension, instance)
        self._shift, stretch = _value_transformation(dimension, instance)
        self._stretch = known.denominator / stretch
        if known.best_is_optimum:
            self._check_optimum(function, instance)

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

        The value has no rounding error: it is the nearest multiple of one over the
        function's denominator.
        """
        # ioh gives NaN for a wrong length and accepts a bit of 2.
        if (
            not isinstance(text, str)
            or len(text) != self._dimension
            or text.strip("01")
        ):
            return Evaluation(None, None, _complaint(text, self._dimension))
        # A translation of bytes is ten times as fast as int() on each character.
        raw = self._value(list(text.encode("ascii").translate(_BITS)))
        value = round((raw - self._shift) * self._stretch) / self._denominator
        return Evaluation((value - self._anchors.random) / self._range, value)

    def _check_optimum(self, function: str, instance: int) -> None:
        optimum = "".join(map(str, self._value.optimum.x))
        value = self.evaluate(optimum).value
        if value != self._anchors.best:
            raise RuntimeError(
                f"ioh gives {value} at the optimum of {function}, "
                f"instance {instance}, where {self._anchors.best} is known"
            )


def _ioh_problem(function: str, dimension: int, instance: int) -> Any:  # noqa: ANN401
    return ioh.get_problem(
        function, instance, dimension, problem_class=ioh.ProblemClass.PBO
    )


def _value_transformation(dimension: int, instance: int) -> tuple[float, float]:
    """Returns shift and stretch of the values of ``instance``.

    They depend on the number of the instance alone, and OneMax shows them plainly: its
    true value is the dimension at its optimum and zero at the complement.
    """
    one_max = _ioh_problem("OneMax", dimension, instance)
    optimum = [int(bit) for bit in one_max.optimum.x]
    shift = float(one_max([1 - bit for bit in optimum]))
    return shift, (float(one_max(optimum)) - shift) / dimension


def _complaint(text: object, dimension: int) -> str:
    """Returns in one line why ``text`` is not a string of ``dimension`` bits."""
    rule = f"text must be {dimension} characters, each 0 or 1, got"
    if not isinstance(text, str):
        return f"{rule} a {type(text).__name__}"
    if len(text) != dimension:
        return f"{rule} {len(text)} characters"
    place = next(index for index, bit in enumerate(text) if bit not in "01")
    return f"{rule} {text[place]!a} at position {place}"
