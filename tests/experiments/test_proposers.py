"""Proposers: laws of their edits, and that a plain hill climb gets somewhere."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from experiments.contracts import Problem, Proposer
from experiments.expressions import Limits, parse
from experiments.proposers.bit_flip import BitFlip
from experiments.proposers.crossover import Crossover
from experiments.proposers.expression_edit import ExpressionEdit
from experiments.proposers.gaussian_lines import GaussianLines
from experiments.tasks.bbob import Bbob
from experiments.tasks.expression import Expression
from experiments.tasks.pbo import Pbo

ROOT = Path(__file__).resolve().parents[2]
SIGNIFICANCE = 1e-6
DRAWS = 20_000
WIDE = Limits(nodes=3_000, depth=100, lines=1_000, characters=10_000)
N_BITS = 10

bits = st.text(alphabet="01", min_size=1, max_size=80)
seeds = st.integers(0, 2**32 - 1)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def distance(first: str, second: str) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


@given(parent=bits, seed=seeds, rate=st.floats(1e-6, 100.0))
def test_a_flipped_text_has_its_length_and_is_another(
    parent: str, seed: int, rate: float
) -> None:
    child = BitFlip(rate_per_text=rate).propose((parent,), seeded(seed))
    assert set(child) <= {"0", "1"}
    assert distance(parent, child) >= 1


def flip_counts(rate: float) -> np.ndarray:
    rng, proposer = seeded(1), BitFlip(rate_per_text=rate)
    parent = "0110100101"
    flips = [distance(parent, proposer.propose((parent,), rng)) for _ in range(DRAWS)]
    return np.bincount(np.minimum(flips, 5), minlength=6)[1:]


def expected_flip_counts(rate: float) -> np.ndarray:
    law = stats.binom(N_BITS, rate / N_BITS).pmf(np.arange(N_BITS + 1))
    law[1] += law[0]
    return DRAWS * np.append(law[1:5], law[5:].sum())


def test_the_number_of_flips_is_binomial_with_zero_moved_to_one() -> None:
    result = stats.chisquare(flip_counts(1.0), expected_flip_counts(1.0))
    assert result.pvalue > SIGNIFICANCE


def test_the_test_of_the_number_of_flips_has_power() -> None:
    result = stats.chisquare(flip_counts(1.2), expected_flip_counts(1.0))
    assert result.pvalue < SIGNIFICANCE


@pytest.mark.parametrize("rate", [1e-9, 1.0])
def test_every_position_flips_equally_often(rate: float) -> None:
    rng, proposer = seeded(2), BitFlip(rate_per_text=rate)
    parent = "0" * N_BITS
    flips = np.zeros(N_BITS)
    for _ in range(DRAWS):
        child = proposer.propose((parent,), rng)
        # One flip a draw, the first of a rotated text, keeps the draws independent.
        if child.count("1") == 1:
            flips[child.index("1")] += 1
    assert stats.chisquare(flips).pvalue > SIGNIFICANCE


def test_from_a_rate_of_n_on_every_bit_flips() -> None:
    assert BitFlip(rate_per_text=6.0).propose(("001011",), seeded(0)) == "110100"


@pytest.mark.parametrize(
    "parents", [(), ("01", "10"), ("",), ("012",), ("0 1",), ("0\u0661",)]
)
def test_a_parent_must_be_one_string_of_bits(parents: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="parents must be one string of zeros and"):
        BitFlip().propose(parents, seeded(0))


@pytest.mark.parametrize("target", ["nguyen_5", "nguyen_9", "keijzer_4", "keijzer_12"])
def test_edits_along_a_lineage_are_valid_and_differ(target: str) -> None:
    problem, proposer, rng = Expression(target).problem(1), ExpressionEdit(), seeded(3)
    n_valid = n_proposals = 0
    for _ in range(30):
        parent = problem.initial(rng)
        for _ in range(30):
            child = proposer.propose((parent,), rng)
            assert child != parent
            n_proposals += 1
            if problem.evaluate(child).value is not None:
                n_valid += 1
                parent = child
    assert n_valid >= 0.95 * n_proposals


def test_a_proposal_differs_even_where_few_edits_change_anything() -> None:
    rng, parent = seeded(14), "def f(x):\n    return x"
    proposer = ExpressionEdit(max_nodes=1)
    assert all(proposer.propose((parent,), rng) != parent for _ in range(1_000))


def test_edits_keep_the_limits_of_the_proposer() -> None:
    small = Limits(nodes=12, depth=5, lines=3)
    proposer = ExpressionEdit(max_nodes=12, max_depth=5, max_lines=3)
    rng, parent, n_within = seeded(4), "def f(x):\n    return x * x + 1", 0
    for _ in range(500):
        parent = proposer.propose((parent,), rng)
        program = parse(parent, WIDE)
        n_within += parse_fits(parent, small)
        assert program.parameters == ("x",)
    assert n_within >= 0.98 * 500


def parse_fits(text: str, limits: Limits) -> bool:
    try:
        parse(text, limits)
    except ValueError:
        return False
    return True


def test_edits_reach_every_kind_of_change() -> None:
    proposer = ExpressionEdit(further_edit_probability=0.0)
    parent = "def f(x):\n    a = x + 2\n    return sin(a) * x"
    rng = seeded(5)
    children = {proposer.propose((parent,), rng) for _ in range(5_000)}
    assert {
        "def f(x):\n    a = x - 2\n    return sin(a) * x",  # operator
        "def f(x):\n    a = x + 2\n    return cos(a) * x",  # function
        "def f(x):\n    a = x + 2\n    return sin(x) * x",  # variable
        "def f(x):\n    a = x + 2\n    return exp(sin(a)) * x",  # wrapped by a function
        "def f(x):\n    a = x + 2\n    return sin(a) * x + x",  # a term more
        "def f(x):\n    a = x + 2\n    return a * x",  # deleted
        "def f(x):\n    b = x + 2\n    a = b\n    return sin(a) * x",  # a line more
        "def f(x):\n    return sin(x + 2) * x",  # a line less
        "def f(x):\n    return sin(x) * x",  # a line less, its name replaced
    } <= children
    moved = [child for child in children if "a = x + 2.0" in child]
    assert len(moved) > 10


def test_an_edit_of_a_program_of_two_variables_keeps_both() -> None:
    rng, parent = seeded(6), "def f(x, y):\n    return x * y"
    for _ in range(100):
        parent = ExpressionEdit().propose((parent,), rng)
        assert parent.startswith("def f(x, y):\n")


@pytest.mark.parametrize("header", ["def f(x):", "def f( x ,y ):"])
def test_a_broken_parent_gives_way_to_a_new_program(header: str) -> None:
    rng = seeded(7)
    for _ in range(50):
        child = ExpressionEdit().propose((f"{header}\n    return x +",), rng)
        program = parse(child, Limits(21, 4, 3))
        assert len(program.parameters) == header.count(",") + 1


def test_a_parent_beyond_the_limits_is_still_edited() -> None:
    parent = "def f(x):\n    return " + " + ".join(["x"] * 40)
    child = ExpressionEdit().propose((parent,), seeded(8))
    assert parse_fits(child, WIDE)
    assert child != parent


@settings(max_examples=300)
@given(
    parent=st.one_of(
        st.text(),
        st.text(alphabet="xyaf()+-*/=.:, \n0123sindefreturn").map(
            lambda tail: f"def f(x):\n    return {tail}"
        ),
    ),
    seed=seeds,
)
def test_any_text_is_edited_without_an_exception(parent: str, seed: int) -> None:
    child = ExpressionEdit().propose((parent,), seeded(seed))
    assert child != parent
    assert parse_fits(child, WIDE)


@pytest.mark.parametrize("size", [1_000, 3_000, 1_000_000])
@pytest.mark.parametrize("token", ["(", "-", "sin(", "x**", "-(", "a=", "\x00"])
def test_deep_or_huge_parents_are_survived(token: str, size: int) -> None:
    parent = "def f(x):\n    return " + token * (size // len(token))
    assert parse_fits(ExpressionEdit().propose((parent,), seeded(9)), Limits())


def numbers(text: str) -> np.ndarray:
    return np.array([float(line) for line in text.split("\n")])


def decimals(*values: float) -> str:
    return "\n".join(f"{value:+.6f}" for value in values)


points = st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=8).map(
    lambda values: decimals(*values)
)


@given(
    parent=points, seed=seeds, sd=st.floats(1e-12, 1e12), rate=st.floats(1e-6, 100.0)
)
def test_moved_numbers_stay_within_bounds_and_are_others(
    parent: str, seed: int, sd: float, rate: float
) -> None:
    child = GaussianLines(sd=sd, rate_per_text=rate).propose((parent,), seeded(seed))
    assert len(child) == len(parent)
    assert np.abs(numbers(child)).max() <= 5.0
    assert (numbers(child) != numbers(parent)).any()


@pytest.mark.parametrize(
    ("parent", "children"),
    [
        ("+5.000000", {"+4.999999"}),
        ("-5.000000", {"-4.999999"}),
        ("+4.999999", {"+4.999998", "+5.000000"}),
        ("-0.000000", {"-0.000001", "+0.000001"}),
    ],
)
def test_the_smallest_step_is_one_unit_of_the_last_digit(
    parent: str, children: set[str]
) -> None:
    rng, proposer = seeded(15), GaussianLines(sd=1e-9)
    assert {proposer.propose((parent,), rng) for _ in range(50)} == children


def steps(sd: float, n: int = DRAWS) -> np.ndarray:
    rng, proposer = seeded(16), GaussianLines(sd=sd)
    parent = decimals(0.0)
    return np.array([numbers(proposer.propose((parent,), rng))[0] for _ in range(n)])


def test_a_step_is_normal() -> None:
    assert stats.kstest(steps(0.3), stats.norm(0.0, 0.3).cdf).pvalue > SIGNIFICANCE


def test_the_test_of_the_step_has_power() -> None:
    assert stats.kstest(steps(0.33), stats.norm(0.0, 0.3).cdf).pvalue < SIGNIFICANCE


def test_a_step_beyond_a_bound_is_reflected() -> None:
    rng, proposer = seeded(17), GaussianLines(sd=1.0, low=-5.0, high=5.0)
    sample = [numbers(proposer.propose((decimals(4.5),), rng))[0] for _ in range(4_000)]
    normal = stats.norm(4.5, 1.0)

    def folded(x: np.ndarray) -> np.ndarray:
        return normal.cdf(x) + normal.sf(10.0 - x)

    assert stats.kstest(sample, folded).pvalue > SIGNIFICANCE


def test_the_number_of_moved_lines_is_binomial_with_zero_moved_to_one() -> None:
    rng, proposer = seeded(18), GaussianLines(rate_per_text=1.0)
    parent = decimals(*range(-5, 5))
    lines = parent.split("\n")
    counts = np.zeros(5)
    places = np.zeros(N_BITS)
    for _ in range(DRAWS):
        child = proposer.propose((parent,), rng).split("\n")
        moved = [a != b for a, b in zip(child, lines, strict=True)]
        counts[min(sum(moved), 5) - 1] += 1
        if sum(moved) == 1:
            places[moved.index(True)] += 1
    assert stats.chisquare(counts, expected_flip_counts(1.0)).pvalue > SIGNIFICANCE
    assert stats.chisquare(counts, expected_flip_counts(1.2)).pvalue < SIGNIFICANCE
    assert stats.chisquare(places).pvalue > SIGNIFICANCE


def test_lines_that_do_not_move_stay_as_they_are() -> None:
    parent = "1\n-2.5\n+3.000000"
    child = GaussianLines(rate_per_text=1e-9).propose((parent,), seeded(19))
    pairs = list(zip(child.split("\n"), parent.split("\n"), strict=True))
    assert sum(a == b for a, b in pairs) == 2


@pytest.mark.parametrize("function", ["Sphere", "Gallagher"])
def test_moved_numbers_are_texts_of_the_task(function: str) -> None:
    problem = Bbob(function, 5).problem(2)
    texts = lineage(GaussianLines(sd=3.0), problem.initial(seeded(20)))
    assert all(problem.evaluate(text).score is not None for text in texts)


@pytest.mark.parametrize(
    "parents",
    [
        (),
        ("+1.0", "+2.0"),
        ("",),
        ("+1.0\n",),
        ("nan",),
        ("inf",),
        ("1e400",),
        ("1_0",),
        ("\u0661",),
        ("9" * 5_000,),
    ],
)
def test_a_parent_must_be_decimal_lines(parents: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="parents must be one text of decimal numbers"):
        GaussianLines().propose(parents, seeded(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sd": 0.0}, "sd must be positive"),
        ({"sd": float("inf")}, "sd must be a finite"),
        ({"rate_per_text": 0.0}, "rate_per_text must be positive"),
        ({"low": 0.0, "high": 0.5}, "high must be at least one above low"),
        ({"low": float("nan")}, "low must be a finite"),
        ({"high": "5"}, "high must be a finite"),
    ],
)
def test_parameters_of_a_step_are_checked(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        GaussianLines(**options)


class Unmoved:
    """A mutation that changes nothing."""

    failure_rate = 0.0
    n_parents = 1

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        return parents[0]


def crossed(first: str, second: str, n: int = 2_000) -> list[str]:
    rng, proposer = seeded(21), Crossover(mutation=Unmoved())
    return [proposer.propose((first, second), rng) for _ in range(n)]


def test_bits_are_crossed_one_by_one() -> None:
    children = crossed("0" * 4, "1" * 4, DRAWS)
    counts = np.bincount([int(child, 2) for child in children], minlength=16)
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_what_both_parents_agree_on_stays() -> None:
    children = set(crossed("0011", "0101"))
    assert children == {"0001", "0011", "0101", "0111"}


def test_numbers_are_crossed_line_by_line() -> None:
    children = set(crossed("+1.5\n+2.5", "-1.5\n-2.5"))
    assert children == {"+1.5\n+2.5", "+1.5\n-2.5", "-1.5\n+2.5", "-1.5\n-2.5"}


def test_texts_of_unequal_length_are_crossed_at_one_cut() -> None:
    assert set(crossed("a\nb\nc", "x\ny")) == {"a\ny", "a\nb"}
    assert set(crossed("x\ny", "a\nb\nc")) == {"x\nb\nc", "x\ny\nc"}
    assert set(crossed("ab", "xyz")) == {"ayz", "abz"}
    assert set(crossed("a", "x\ny")) == {"a\ny"}
    counts = [crossed("a\nb\nc", "x\ny").count(child) for child in ("a\ny", "a\nb")]
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_the_child_is_mutated_and_so_is_a_parent_alone() -> None:
    text = "0110" * 4
    for parents in ((text, text), (text,)):
        child = Crossover().propose(parents, seeded(22))
        assert distance(child, text) >= 1
    alone = Crossover(mutation=BitFlip(rate_per_text=3.0)).propose((text,), seeded(23))
    assert alone == BitFlip(rate_per_text=3.0).propose((text,), seeded(23))


def test_numbers_and_programs_can_be_crossed() -> None:
    problem, rng = Bbob("Sphere", 5).problem(1), seeded(24)
    proposer = Crossover(mutation=GaussianLines())
    for _ in range(50):
        parents = (problem.initial(rng), problem.initial(rng))
        assert problem.evaluate(proposer.propose(parents, rng)).score is not None
    expression, proposer = Expression().problem(1), Crossover(ExpressionEdit())
    found = [
        expression.evaluate(
            proposer.propose((expression.initial(rng), expression.initial(rng)), rng)
        )
        for _ in range(200)
    ]
    assert sum(evaluation.score is not None for evaluation in found) > 150


@pytest.mark.parametrize("parents", [(), ("0", "1", "0")])
def test_a_crossover_needs_one_or_two_parents(parents: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="parents must be one or two texts, got"):
        Crossover().propose(parents, seeded(0))


def test_a_crossover_needs_a_mutation_of_one_parent() -> None:
    with pytest.raises(TypeError, match="mutation must be a proposer, got 'bit_flip'"):
        Crossover(mutation="bit_flip")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mutation must be a proposer of one parent"):
        Crossover(mutation=Crossover())


PARENTS: list[tuple[Proposer, str]] = [
    (GaussianLines(), decimals(0.5, -4.0, 3.0)),
    (Crossover(), "0110" * 16),
    (BitFlip(), "0110" * 16),
    (ExpressionEdit(), "def f(x, y):\n    a = x * y\n    return sin(a) - 0.5"),
    (ExpressionEdit(), "not a program"),
]


def lineage(proposer: Proposer, parent: str, n: int = 200) -> list[str]:
    rng, texts = seeded(10), [parent]
    for _ in range(n):
        texts.append(proposer.propose((texts[-1],), rng))
    return texts


@pytest.mark.parametrize(("proposer", "parent"), PARENTS)
def test_equal_generators_give_equal_proposals(proposer: Proposer, parent: str) -> None:
    assert lineage(proposer, parent) == lineage(proposer, parent)


@pytest.mark.parametrize(("proposer", "parent"), PARENTS)
def test_proposals_never_touch_global_randomness(
    proposer: Proposer, parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("global randomness was used")

    expected = lineage(proposer, parent)
    for module in (np.random, random):
        for name in ("random", "randint", "choice", "uniform", "shuffle", "seed"):
            monkeypatch.setattr(module, name, refuse)
    state = random.getstate()
    assert lineage(proposer, parent) == expected
    assert random.getstate() == state


class Doubles:
    """A generator that has nothing but ``random``."""

    def __init__(self) -> None:
        self.random: Callable[..., Any] = seeded(11).random


@pytest.mark.parametrize(("proposer", "parent"), PARENTS)
def test_proposals_are_made_of_doubles_alone(proposer: Proposer, parent: str) -> None:
    for _ in range(50):
        parent = proposer.propose((parent,), Doubles())  # type: ignore[arg-type]


def test_proposals_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from experiments.proposers.expression_edit import ExpressionEdit\n"
        "rng, text = np.random.default_rng(12), ''\n"
        "for _ in range(300): text = ExpressionEdit().propose((text,), rng)\n"
        "print(text)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert runs[0].startswith("def f(x")
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "proposer", [BitFlip, ExpressionEdit, GaussianLines, Crossover]
)
@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", True])
def test_a_failure_rate_is_a_probability(proposer: Any, rate: object) -> None:
    with pytest.raises((TypeError, ValueError), match="failure_rate must"):
        proposer(failure_rate=rate)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), "1", True])
def test_a_rate_per_text_is_positive(rate: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="rate_per_text must"):
        BitFlip(rate_per_text=rate)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("further_edit_probability", 1.5),
        ("max_nodes", 0),
        ("max_depth", "16"),
        ("max_depth", 101),
        ("max_lines", True),
    ],
)
def test_parameters_of_an_edit_are_checked(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} must"):
        ExpressionEdit(**{name: value})


def climbed(
    problem: Problem, proposer: Proposer, n_evaluations: int
) -> tuple[float, float]:
    """Returns the first and the last score of a hill climb that accepts equals."""
    rng = seeded(13)
    text = problem.initial(rng)
    first = score = problem.evaluate(text).score
    assert first is not None
    assert score is not None
    for _ in range(n_evaluations):
        child = proposer.propose((text,), rng)
        found = problem.evaluate(child).score
        if found is not None and found >= score:
            text, score = child, found
    return first, score


def test_a_hill_climb_solves_one_max() -> None:
    first, last = climbed(Pbo("OneMax", 64).problem(3), BitFlip(), 2_000)
    assert first < 0.5
    assert last == 1.0


def test_a_hill_climb_is_caught_by_the_trap() -> None:
    _, last = climbed(Pbo("ConcatenatedTrap", 50).problem(3), BitFlip(), 2_000)
    assert 0.5 < last < 1.0


@pytest.mark.parametrize("target", ["nguyen_5", "nguyen_9"])
def test_a_hill_climb_approaches_a_target(target: str) -> None:
    first, last = climbed(Expression(target).problem(1), ExpressionEdit(), 2_000)
    assert first < 0.4
    assert last > 0.6


@pytest.mark.parametrize(("function", "least"), [("Sphere", 0.8), ("Rosenbrock", 0.2)])
def test_a_hill_climb_of_numbers_descends(function: str, least: float) -> None:
    problem = Bbob(function, 2).problem(3)
    first, last = climbed(problem, GaussianLines(sd=0.1), 2_000)
    assert first < 0.1
    assert last > least
