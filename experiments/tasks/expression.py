"""Symbolic regression: the text is a small Python function, see ``expressions``.

Targets are Nguyen 1-10 (Uy, Hoai, O'Neill, McKay and Galvan-Lopez 2011,
"Semantically-based crossover in genetic programming", Genetic Programming and Evolvable
Machines 12) and seven of Keijzer's (2003, "Improving symbolic regression with interval
arithmetic and linear scaling", EuroGP), under the names and domains of the table of
McDermott et al. 2012, "Genetic programming needs better benchmarks", GECCO. Keijzer 6,
a sum whose length is the variable, cannot be written in the language and is left out.

Points are drawn uniformly from the published domain. For Nguyen and Keijzer 11-15 that
is the published rule (20 points; 100 for Nguyen 9 and 10); Keijzer 1, 4 and 9 were
published on a grid over the same domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from experiments.contracts import Anchors, Evaluation
from experiments.expressions import (
    DEEPEST,
    ExpressionError,
    Floats,
    Limits,
    evaluate,
    fits,
    parse,
    random_program,
    render,
)
from memory import KeyedRandom, count

_CHEAP_POINTS = 10


class Target(NamedTuple):
    """A function to be found.

    Attributes:
        formula: The function in the language.
        low: Lower end of the domain of every variable.
        high: Upper end of the domain of every variable.
        random: Mean value of random initial texts, over instances of 20 points;
            ``test_the_random_anchor_is_the_mean_of_initial_texts`` measures it again.
        n_variables: One or two.
    """

    formula: str
    low: float
    high: float
    random: float
    n_variables: int = 1

    @property
    def text(self) -> str:
        """The function as a program."""
        names = "x" if self.n_variables == 1 else "x, y"
        return f"def f({names}):\n    return {self.formula}"


TARGETS: dict[str, Target] = {
    "nguyen_1": Target("x**3 + x**2 + x", -1.0, 1.0, 0.4141),
    "nguyen_2": Target("x**4 + x**3 + x**2 + x", -1.0, 1.0, 0.4078),
    "nguyen_3": Target("x**5 + x**4 + x**3 + x**2 + x", -1.0, 1.0, 0.4298),
    "nguyen_4": Target("x**6 + x**5 + x**4 + x**3 + x**2 + x", -1.0, 1.0, 0.4331),
    "nguyen_5": Target("sin(x**2) * cos(x) - 1", -1.0, 1.0, 0.1201),
    "nguyen_6": Target("sin(x) + sin(x + x**2)", -1.0, 1.0, 0.4173),
    "nguyen_7": Target("log(x + 1) + log(x**2 + 1)", 0.0, 2.0, 0.3507),
    "nguyen_8": Target("sqrt(x)", 0.0, 4.0, 0.2299),
    "nguyen_9": Target("sin(x) + sin(y**2)", -1.0, 1.0, 0.3412, 2),
    "nguyen_10": Target("2 * sin(x) * cos(y)", -1.0, 1.0, 0.3859, 2),
    "keijzer_1": Target("0.3 * x * sin(6.283185307179586 * x)", -1.0, 1.0, 0.1319),
    "keijzer_4": Target(
        "x**3 * exp(-x) * cos(x) * sin(x) * (sin(x)**2 * cos(x) - 1)", 0.0, 10.0, 0.1532
    ),
    "keijzer_9": Target("log(x + sqrt(x**2 + 1))", 0.0, 100.0, 0.1257),
    "keijzer_11": Target("x * y + sin((x - 1) * (y - 1))", -3.0, 3.0, 0.3971, 2),
    "keijzer_12": Target("x**4 - x**3 + y**2 / 2 - y", -3.0, 3.0, 0.4217, 2),
    "keijzer_14": Target("8 / (2 + x**2 + y**2)", -3.0, 3.0, 0.2501, 2),
    "keijzer_15": Target("x**3 / 5 + y**3 / 2 - y - x", -3.0, 3.0, 0.4181, 2),
}

_SOURCE = (
    "random: mean over initial texts that did not fail, measured; optimum 1: an error "
    "cannot be negative, and the target itself has none"
)


@dataclass(frozen=True, slots=True)
class Expression:
    """Symbolic regression of a named target, maximised.

    The value of a text is ``1 / (1 + e)`` in ``(0, 1]``, with ``e`` the root mean
    square of its error on the points over the standard deviation of the target there.

    Args:
        target: Name of the target, one of ``TARGETS``.
        n_points: Number of points, at least five.
        max_nodes: Most nodes of a program: numbers, variables, operators and functions.
        max_depth: Most nodes on a path through one expression, at most 100.
        max_lines: Most lines of a program, the return included; whatever the limits,
            a text has at most 2,000 characters.

    Raises:
        TypeError: A number is not an integer.
        ValueError: ``target`` is unknown, ``n_points`` is below five, ``max_depth``
            is above 100, or the limits shut out the target or some initial text (21
            nodes, depth 4, 3 lines).
    """

    target: str = "nguyen_5"
    n_points: int = 20
    max_nodes: int = 64
    max_depth: int = 16
    max_lines: int = 8

    def __post_init__(self) -> None:
        if not isinstance(self.target, str) or self.target not in TARGETS:
            raise ValueError(
                f"target must be one of {', '.join(TARGETS)}, got {self.target!r}"
            )
        count("n_points", self.n_points, minimum=5)
        count("max_nodes", self.max_nodes, minimum=21)
        if count("max_depth", self.max_depth, minimum=4) > DEEPEST:
            raise ValueError(
                f"max_depth must be at most {DEEPEST}, got {self.max_depth}"
            )
        count("max_lines", self.max_lines, minimum=3)
        if not fits(parse(TARGETS[self.target].text, Limits()), self.limits):
            raise ValueError(
                f"max_nodes and max_depth must leave room for {self.target} itself, "
                f"{TARGETS[self.target].formula}, got {self.max_nodes} and "
                f"{self.max_depth}"
            )

    @property
    def limits(self) -> Limits:
        """The limits of a program."""
        return Limits(self.max_nodes, self.max_depth, self.max_lines)

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "expression"

    @property
    def natural_diversity(self) -> str:
        """Name of the diversity metric of programs."""
        return "text_shape"

    @property
    def natural_proposer(self) -> str:
        """Name of the proposer that edits programs."""
        return "expression_edit"

    def problem(self, instance: int) -> ExpressionProblem:
        """Returns instance ``instance``: its own sample of the points.

        Raises:
            TypeError: ``instance`` is not an integer.
            ValueError: ``instance`` is below one.
        """
        count("instance", instance, minimum=1)
        return ExpressionProblem(self.target, self.n_points, self.limits, instance)

    def cheap(self) -> Expression:
        """Returns the same target on at most ten points."""
        return replace(self, n_points=min(self.n_points, _CHEAP_POINTS))


class ExpressionProblem:
    """One sample of the points of a target.

    Args:
        target: Name of the target, one of ``TARGETS``.
        n_points: Number of points.
        limits: Limits of a program.
        instance: Number of the sample, from one.
    """

    __slots__ = (
        "_anchors",
        "_columns",
        "_deviation",
        "_limits",
        "_observed",
        "_parameters",
    )

    def __init__(
        self, target: str, n_points: int, limits: Limits, instance: int
    ) -> None:
        known = TARGETS[target]
        program = parse(known.text, Limits())
        self._parameters = program.parameters
        self._limits = limits
        self._anchors = Anchors(known.random, 1.0, True, _SOURCE)
        rng = KeyedRandom("expression", target, instance).generator("instance", 0)
        uniform = rng.random((n_points, known.n_variables))
        points = known.low + (known.high - known.low) * uniform
        self._columns = tuple(np.ascontiguousarray(column) for column in points.T)
        self._observed: Floats = evaluate(program, self._columns)
        self._deviation = float(self._observed.std())

    @property
    def anchors(self) -> Anchors:
        """The anchors; the same for every instance."""
        return self._anchors

    def initial(self, rng: np.random.Generator) -> str:
        """Returns a random program of one to three lines."""
        return render(random_program(self._parameters, rng))

    def evaluate(self, text: str) -> Evaluation:
        """Returns the evaluation of a program.

        The value has twelve significant digits: the last bits of ``sin`` or ``exp``
        differ between processors, and a search must not.
        """
        if not isinstance(text, str):
            return Evaluation(
                None, None, f"text must be a string, got a {type(text).__name__}"
            )
        try:
            program = parse(text, self._limits)
        except ExpressionError as error:
            return Evaluation(None, None, str(error))
        if program.parameters != self._parameters:
            names = ", ".join(self._parameters)
            return Evaluation(None, None, f"text must start with def f({names}):")
        distance = self._normalised_error(evaluate(program, self._columns))
        if not math.isfinite(distance):
            return Evaluation(
                None, None, "a predicted value is not finite or too large"
            )
        value = float(f"{1.0 / (1.0 + distance):.12g}")
        random = self._anchors.random
        return Evaluation((value - random) / (1.0 - random), value)

    def _normalised_error(self, predicted: Floats) -> float:
        with np.errstate(all="ignore"):
            residuals = predicted - self._observed
            mean_square = float(np.add.reduce(residuals * residuals)) / residuals.size
        return math.sqrt(mean_square) / self._deviation
