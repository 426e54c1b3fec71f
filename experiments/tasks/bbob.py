"""Continuous benchmark functions: the text is one decimal number a line.

The functions are five of the noiseless ones of COCO (Hansen, Finck, Ros and Auger 2009,
"Real-parameter black-box optimization benchmarking 2009: noiseless functions
definitions", RR-6829), computed by the package ``ioh``, with COCO's instances.

A number is written as ``+1.234567``: a sign, one digit, a point and six digits. All
texts of a dimension therefore have one length, and the Hamming distance compares digits
of the same weight; a text written otherwise fails.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ioh
import numpy as np

from experiments.contracts import Anchors, Evaluation
from memory import KeyedRandom, count

#: Name in ``ioh`` and number in COCO of every function.
FUNCTIONS: dict[str, tuple[str, int]] = {
    "Sphere": ("Sphere", 1),
    "Rastrigin": ("Rastrigin", 3),
    "Rosenbrock": ("Rosenbrock", 8),
    "Schaffers": ("Schaffers10", 17),
    "Gallagher": ("Gallagher101", 21),
}
#: Every coordinate lies in ``[-BOUND, BOUND]``.
BOUND = 5.0
#: The last target of COCO: a function value this near to the optimum has solved it.
TARGET = 1e-8

_MOST_DIMENSIONS = 40
_MOST_INSTANCES = 1000
_CHEAP_DIMENSION = 2
_SAMPLE = 1000
_NUMBER = re.compile(r"[+-][0-9]\.[0-9]{6}")

_SOURCE = (
    "random: mean over 1,000 keyed random texts of the instance; optimum: log10 of 1e-8, "
    "the last target of COCO, reached at its x_opt (Hansen et al. 2009)"
)


@dataclass(frozen=True, slots=True)
class Bbob:
    """A function of COCO of ``dimension`` real numbers in ``[-5, 5]``, minimised.

    The value of a text is ``log10(max(f(x) - f_opt, 1e-8))``, so that a regret counts
    orders of magnitude: it is the share of them that is still to go between random
    texts and the last target of COCO. A unit score of one is that target.

    Args:
        function: Sphere (1), Rastrigin (3), Rosenbrock (8), Schaffers (17, condition
            10) or Gallagher (21, 101 peaks); in brackets the numbers of COCO.
        dimension: Number of coordinates, in ``[2, 40]``.

    Raises:
        TypeError: ``dimension`` is not an integer.
        ValueError: ``function`` is unknown, or ``dimension`` is out of range.
    """

    function: str = "Rastrigin"
    dimension: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.function, str) or self.function not in FUNCTIONS:
            raise ValueError(
                f"function must be one of {', '.join(FUNCTIONS)}, got {self.function!r}"
            )
        if count("dimension", self.dimension, minimum=2) > _MOST_DIMENSIONS:
            raise ValueError(
                f"dimension must be at most {_MOST_DIMENSIONS}, got {self.dimension}"
            )

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "bbob"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of texts of one length."""
        return "hamming"

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer that moves the numbers of some lines."""
        return "gaussian_lines"

    def problem(self, instance: int) -> BbobProblem:
        """Returns instance ``instance`` of COCO: its own optimum and rotations.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: ``instance`` is not in ``[1, 1000]``.
        """
        if count("instance", instance, minimum=1) > _MOST_INSTANCES:
            raise ValueError(
                f"instance must be at most {_MOST_INSTANCES}, got {instance}"
            )
        return BbobProblem(self.function, self.dimension, instance)

    def cheap(self) -> Bbob:
        """Returns the same function of two coordinates."""
        return replace(self, dimension=_CHEAP_DIMENSION)


class BbobProblem:
    """One instance; it cannot be pickled, because ``ioh`` objects cannot.

    Args:
        function: Name of the function, one of ``FUNCTIONS``.
        dimension: Number of coordinates.
        instance: Number of the instance, in ``[1, 1000]``.

    Raises:
        RuntimeError: The installed ``ioh`` does not reach the optimum that it declares.
    """

    __slots__ = ("_anchors", "_dimension", "_problem", "_range")

    def __init__(self, function: str, dimension: int, instance: int) -> None:
        self._dimension = dimension
        self._problem = _ioh_problem(function, dimension, instance)
        random = _random_anchor(function, dimension, instance)
        best = _value(self._problem, self._problem.optimum.x)
        if best != math.log10(TARGET):
            raise RuntimeError(
                f"ioh gives {best} at the optimum of {function}, dimension "
                f"{dimension}, instance {instance}, where {math.log10(TARGET)} is known"
            )
        self._anchors = Anchors(random, best, True, _SOURCE)
        self._range = random - best

    @property
    def anchors(self) -> Anchors:
        """The anchors of this instance."""
        return self._anchors

    def initial(self, rng: np.random.Generator) -> str:
        """Returns uniformly random numbers in ``[-5, 5]``."""
        numbers = BOUND * (2.0 * rng.random(self._dimension) - 1.0)
        return "\n".join(f"{number:+.6f}" for number in numbers.tolist())

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of ``dimension`` lines.

        The value has twelve significant digits: the last bit of a logarithm differs
        between processors, and a search must not.
        """
        lines = text.split("\n") if isinstance(text, str) else []
        if len(lines) != self._dimension or not all(map(_NUMBER.fullmatch, lines)):
            return Evaluation(None, None, _complaint(text, self._dimension))
        numbers = [float(line) for line in lines]
        if max(numbers) > BOUND or min(numbers) < -BOUND:
            return Evaluation(None, None, _outside(numbers))
        value = _value(self._problem, numbers)
        return Evaluation((self._anchors.random - value) / self._range, value)


def _ioh_problem(function: str, dimension: int, instance: int) -> Any:  # noqa: ANN401
    name, _ = FUNCTIONS[function]
    return ioh.get_problem(
        name, instance, dimension, problem_class=ioh.ProblemClass.BBOB
    )


def _value(problem: Any, numbers: Any) -> float:  # noqa: ANN401
    """Returns ``log10(max(f(x) - f_opt, 1e-8))`` to twelve significant digits."""
    problem(numbers)
    # This is f(x) - f_opt before f_opt is added, which would swallow its last digits.
    precision = float(problem.state.current_internal.y)
    return float(f"{math.log10(max(precision, TARGET)):.12g}")


@cache
def _random_anchor(function: str, dimension: int, instance: int) -> float:
    """Returns the mean value of random texts, to six significant digits.

    No closed form is known. Its standard error is below 0.03 of an order of magnitude;
    what matters is that it is the same number wherever it is computed.
    """
    problem = _ioh_problem(function, dimension, instance)
    names = ("bbob", function, dimension, instance)
    rng = KeyedRandom(*names).generator("instance", 0)
    points = BOUND * (2.0 * rng.random((_SAMPLE, dimension)) - 1.0)
    values = [_value(problem, point) for point in points.round(6).tolist()]
    return float(f"{math.fsum(values) / _SAMPLE:.6g}")


def _complaint(text: object, dimension: int) -> str:
    """Returns in one line why ``text`` is not ``dimension`` numbers."""
    rule = f"text must be {dimension} lines, each a number such as +1.234567, got"
    if not isinstance(text, str):
        return f"{rule} a {type(text).__name__}"
    lines = text.split("\n")
    if len(lines) != dimension:
        return f"{rule} {len(lines)} lines"
    wrong = next(n for n, line in enumerate(lines) if not _NUMBER.fullmatch(line))
    return f"{rule} {lines[wrong][:20]!a} in line {wrong + 1}"


def _outside(numbers: list[float]) -> str:
    wrong = next(n for n, number in enumerate(numbers) if abs(number) > BOUND)
    return (
        f"every number must lie in [{-BOUND:g}, {BOUND:g}], got {numbers[wrong]:+.6f} "
        f"in line {wrong + 1}"
    )
