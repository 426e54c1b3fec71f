"""Pseudo-Boolean tasks: values against formulas worked out here, bit by bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import ioh
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.tasks.pbo import FUNCTIONS, Pbo
from memory.randomness import KeyedRandom

INSTANCES = (*range(1, 11), 49, 50, 51, 60, 99, 100)


def one_max(bits: str) -> float:
    return float(bits.count("1"))


def leading_ones(bits: str) -> float:
    return float(len(bits) - len(bits.lstrip("1")))


def concatenated_trap(bits: str) -> float:
    blocks = [bits[start : start + 5].count("1") for start in range(0, len(bits), 5)]
    fifths = sum(5 if ones == 5 else 4 - ones for ones in blocks)
    return fifths / 5


FORMULAS: dict[str, Callable[[str], float]] = {
    "OneMax": one_max,
    "LeadingOnes": leading_ones,
    "ConcatenatedTrap": concatenated_trap,
}


def some_bits(dimension: int, n: int, *names: str | int) -> list[str]:
    """Returns random strings of all densities, and the two constant ones."""
    keyed = KeyedRandom("test_pbo", *names)
    texts = ["0" * dimension, "1" * dimension]
    for index in range(n):
        numbers = keyed.generator("initial", index).random(dimension + 1)
        texts.append("".join("01"[int(u < numbers[0])] for u in numbers[1:]))
    return texts


def test_every_function_has_a_formula_here() -> None:
    assert set(FORMULAS) == set(FUNCTIONS)


@pytest.mark.parametrize("dimension", [5, 20, 25, 64, 100])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_first_instance_is_the_function_itself(
    function: str, dimension: int
) -> None:
    dimension -= dimension % FUNCTIONS[function].block
    problem = Pbo(function, dimension).problem(1)
    for text in some_bits(dimension, 50, function, dimension):
        assert problem.evaluate(text).value == FORMULAS[function](text)


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_instance_has_exactly_the_values_of_the_first(
    function: str, instance: int
) -> None:
    dimension = 10
    raw = ioh.get_problem(
        function, instance, dimension, problem_class=ioh.ProblemClass.PBO
    )
    problem = Pbo(function, dimension).problem(instance)
    texts = ["".join(bits) for bits in itertools.product("01", repeat=dimension)]
    values = [problem.evaluate(text).value for text in texts]
    assert sorted(values) == sorted(map(FORMULAS[function], texts))
    # The order of ioh's own values is kept, so the bits are transformed as it says.
    shown = np.array([raw([int(bit) for bit in text]) for text in texts])
    assert np.corrcoef(shown, values)[0, 1] == pytest.approx(1.0, abs=1e-9)
    optimum = "".join(map(str, raw.optimum.x))
    assert problem.evaluate(optimum).score == 1.0


@pytest.mark.parametrize("instance", range(1, 101))
def test_a_large_instance_flips_or_permutes_the_bits_only(instance: int) -> None:
    problem = Pbo("OneMax", 64).problem(instance)
    raw = ioh.get_problem("OneMax", instance, 64, problem_class=ioh.ProblemClass.PBO)
    optimum = "".join(map(str, raw.optimum.x))
    for text in some_bits(64, 10, instance):
        agreeing = sum(a == b for a, b in zip(text, optimum, strict=True))
        assert problem.evaluate(text).value == agreeing


def test_instances_differ() -> None:
    text = "10110" * 4
    values = [
        Pbo("LeadingOnes", 20).problem(i).evaluate(text).value for i in range(1, 101)
    ]
    assert len(set(values)) > 3


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_random_anchor_is_the_mean_over_all_strings(function: str) -> None:
    problem = Pbo(function, 10).problem(1)
    texts = ["".join(bits) for bits in itertools.product("01", repeat=10)]
    evaluations = [problem.evaluate(text) for text in texts]
    mean = np.mean([evaluation.value for evaluation in evaluations])
    assert mean == pytest.approx(problem.anchors.random, rel=1e-12)
    assert np.mean([e.score for e in evaluations]) == pytest.approx(0.0, abs=1e-12)
    assert max(e.value for e in evaluations) == problem.anchors.best
    assert problem.anchors.best_is_optimum


def test_initial_texts_are_uniform_bits() -> None:
    problem = Pbo("OneMax", 64).problem(1)
    rng = np.random.default_rng(20_251_130)
    texts = [problem.initial(rng) for _ in range(2_000)]
    ones = np.array([[bit == "1" for bit in text] for text in texts])
    assert ones.shape == (2_000, 64)
    # 64 columns of 2,000 fair bits, each within 5.5 standard deviations.
    assert np.abs(ones.mean(axis=0) - 0.5).max() < 5.5 * 0.5 / np.sqrt(2_000)
    scores = [problem.evaluate(text).score for text in texts]
    assert abs(np.mean(scores)) < 5.0 * 0.125 / np.sqrt(2_000)


@given(text=st.text(alphabet="012 x\n\u0661\uff11", max_size=22))
def test_a_text_that_is_not_twenty_bits_fails(text: str) -> None:
    evaluation = Pbo("OneMax", 20).problem(2).evaluate(text)
    good = len(text) == 20 and all(bit in "01" for bit in text)
    assert (evaluation.score is not None) == good
    assert (evaluation.failure == "") == good


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("01" * 9, "got 18 characters"),
        ("0" * 19 + "2", "got '2' at position 19"),
        ("0" + "\u0661" + "0" * 18, r"got '\\u0661' at position 1"),
        ("0" * 19 + "\ud800", r"got '\\ud800' at position 19"),
        (None, "got a NoneType"),
        (b"0" * 20, "got a bytes"),
        ([0] * 20, "got a list"),
    ],
)
def test_a_failure_says_why_in_one_line(text: object, reason: str) -> None:
    evaluation = Pbo("OneMax", 20).problem(1).evaluate(text)  # type: ignore[arg-type]
    assert evaluation[:2] == (None, None)
    assert evaluation.failure.isascii()
    assert evaluation.failure.startswith("text must be 20 characters, each 0 or 1")
    assert evaluation.failure.endswith(reason.replace("\\\\", "\\"))
    assert "\n" not in evaluation.failure


@pytest.mark.parametrize("function", ["onemax", "", None, ["OneMax"]])
def test_an_unknown_function_is_refused_with_the_choices(function: object) -> None:
    with pytest.raises(
        ValueError, match=r"function must be one of OneMax, .*ConcatenatedTrap"
    ):
        Pbo(function)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dimension", "error"),
    [("64", TypeError), (True, TypeError), (6.4, TypeError), (0, ValueError)],
)
def test_a_dimension_is_a_positive_integer(
    dimension: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match="dimension must be"):
        Pbo("OneMax", dimension)  # type: ignore[arg-type]


def test_a_trap_of_incomplete_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension must be a multiple of 5"):
        Pbo("ConcatenatedTrap", 64)


@pytest.mark.parametrize("instance", [0, -1, 101])
def test_there_are_a_hundred_instances(instance: int) -> None:
    with pytest.raises(ValueError, match="instance must be at"):
        Pbo().problem(instance)


def test_beyond_a_hundred_ioh_repeats_the_first() -> None:
    raw = ioh.get_problem("LeadingOnes", 101, 20, problem_class=ioh.ProblemClass.PBO)
    broken_at = [raw([int(bit != place) for bit in range(20)]) for place in range(20)]
    assert np.all(np.diff(broken_at) > 0.0)


def test_the_cheap_task_has_at_most_twenty_bits() -> None:
    assert Pbo("ConcatenatedTrap", 100).cheap() == Pbo("ConcatenatedTrap", 20)
    assert Pbo("OneMax", 12).cheap() == Pbo("OneMax", 12)


def test_the_task_names_what_is_natural_to_bits() -> None:
    task = Pbo()
    assert task.family == "pbo"
    assert task.natural_diversity == "hamming"
    assert task.natural_proposer == "bit_flip"
