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
from experiments.proposers.expression_edit import ExpressionEdit
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


PARENTS: list[tuple[Proposer, str]] = [
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


@pytest.mark.parametrize("proposer", [BitFlip, ExpressionEdit])
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
