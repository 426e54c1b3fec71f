"""Pseudo-Boolean tasks: values against formulas worked out here, bit by bit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import ioh
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.tasks import pbo
from experiments.tasks.pbo import FUNCTIONS, Pbo, nk_landscape, queens
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


def labs(bits: str) -> float:
    """The merit factor of Golay."""
    n, signs = len(bits), [2 * int(bit) - 1 for bit in bits]
    sums = [sum(signs[i] * signs[i + k] for i in range(n - k)) for k in range(1, n)]
    return n * n / 2 / sum(c * c for c in sums)


def ising_ring(bits: str) -> float:
    rotated = bits[-1] + bits[:-1]
    return float(sum(a == b for a, b in zip(bits, rotated, strict=True)))


def n_queens(bits: str) -> float:
    side = math.isqrt(len(bits))
    lines: dict[tuple[str, int], int] = {}
    for square in [square for square, bit in enumerate(bits) if bit == "1"]:
        row, column = divmod(square, side)
        for line in (
            ("row", row),
            ("column", column),
            ("falling", row - column),
            ("rising", row + column),
        ):
            lines[line] = lines.get(line, 0) + 1
    surplus = sum(n_queens - 1 for n_queens in lines.values())
    return float(bits.count("1") - side * surplus)


#: NKLandscapes has none: its table of random numbers is ioh's own.
FORMULAS: dict[str, Callable[[str], float]] = {
    "OneMax": one_max,
    "LeadingOnes": leading_ones,
    "ConcatenatedTrap": concatenated_trap,
    "LABS": labs,
    "IsingRing": ising_ring,
    "NQueens": n_queens,
}
SMALL = {function: 16 if function == "NQueens" else 10 for function in FUNCTIONS}

#: Sequences of least energy, found by a tabu search that was given the published one.
BEST_SEQUENCES = {
    20: 0xFA2C6,
    27: 0x5A44478,
    32: 0xCE6DF82A,
    40: 0x2223DC3A5A,
    48: 0xBFD52749CC3C,
    54: 0xFF99E3A2995AD,
    55: 0x7FC9392F1B1CAA,
}


def all_texts(dimension: int) -> list[str]:
    return ["".join(bits) for bits in itertools.product("01", repeat=dimension)]


@cache
def all_values(function: str, instance: int) -> tuple[float, ...]:
    """Returns the values of all strings of the small dimension."""
    problem = Pbo(function, SMALL[function]).problem(instance)
    values = [problem.evaluate(text).value for text in all_texts(SMALL[function])]
    return tuple(value for value in values if value is not None)


def some_bits(dimension: int, n: int, *names: str | int) -> list[str]:
    """Returns random strings of all densities, and the two constant ones."""
    keyed = KeyedRandom("test_pbo", *names)
    texts = ["0" * dimension, "1" * dimension]
    for index in range(n):
        numbers = keyed.generator("initial", index).random(dimension + 1)
        texts.append("".join("01"[int(u < numbers[0])] for u in numbers[1:]))
    return texts


def test_every_function_has_a_formula_here() -> None:
    assert {*FORMULAS, "NKLandscapes"} == set(FUNCTIONS)


@pytest.mark.parametrize("dimension", [5, 16, 20, 25, 60, 64, 100])
@pytest.mark.parametrize("function", FORMULAS)
def test_the_first_instance_is_the_function_itself(
    function: str, dimension: int
) -> None:
    if not FUNCTIONS[function].fits(dimension):
        with pytest.raises(ValueError, match="dimension must be"):
            Pbo(function, dimension)
        return
    problem = Pbo(function, dimension).problem(1)
    for text in some_bits(dimension, 50, function, dimension):
        assert problem.evaluate(text).value == FORMULAS[function](text)


@pytest.mark.parametrize(
    ("function", "instance"),
    # All 65,536 boards take half a second.
    [(f, i) for f in FUNCTIONS for i in ((7, 99) if f == "NQueens" else INSTANCES)],
)
def test_every_instance_has_exactly_the_values_of_the_first(
    function: str, instance: int
) -> None:
    dimension = SMALL[function]
    values = all_values(function, instance)
    assert sorted(values) == sorted(all_values(function, 1))
    # The order of ioh's own values is kept, so the bits are transformed as it says.
    raw = ioh.get_problem(
        function, instance, dimension, problem_class=ioh.ProblemClass.PBO
    )
    shown = [raw([int(bit) for bit in text]) for text in all_texts(dimension)]
    assert np.corrcoef(shown, values)[0, 1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("function", FORMULAS)
def test_the_values_of_the_first_instance_follow_the_formula(function: str) -> None:
    texts = all_texts(SMALL[function])
    assert all_values(function, 1) == tuple(map(FORMULAS[function], texts))


@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize(
    "function", ["OneMax", "LeadingOnes", "ConcatenatedTrap", "IsingRing"]
)
def test_an_optimum_that_ioh_declares_rightly_scores_one(
    function: str, instance: int
) -> None:
    raw = ioh.get_problem(function, instance, 60, problem_class=ioh.ProblemClass.PBO)
    optimum = "".join(map(str, raw.optimum.x))
    assert Pbo(function, 60).problem(instance).evaluate(optimum).score == 1.0


def test_the_optimum_of_queens_that_ioh_declares_is_none() -> None:
    raw = ioh.get_problem("NQueens", 1, 64, problem_class=ioh.ProblemClass.PBO)
    assert raw.optimum.y == 8.0
    assert raw(list(raw.optimum.x)) < 8.0


@pytest.mark.parametrize("side", range(4, 33))
def test_queens_can_be_placed_on_every_board(side: int) -> None:
    board = "".join(map(str, queens(side * side)))
    assert n_queens(board) == side
    assert Pbo("NQueens", side * side).problem(1).evaluate(board).score == 1.0


def test_an_empty_board_is_nearly_as_good_as_the_optimum() -> None:
    score = Pbo("NQueens", 64).problem(1).evaluate("0" * 64).score
    assert score is not None
    assert 0.98 < score < 0.99


@pytest.mark.parametrize("dimension", range(3, 15))
def test_the_tables_of_labs_are_right_where_all_strings_can_be_tried(
    dimension: int,
) -> None:
    problem = Pbo("LABS", dimension).problem(1)
    evaluations = [problem.evaluate(text) for text in all_texts(dimension)]
    values = [e.value for e in evaluations if e.value is not None]
    assert max(values) == problem.anchors.best
    assert np.mean(values) == pytest.approx(problem.anchors.random, abs=5.1e-5)
    assert max(e.score for e in evaluations if e.score is not None) == 1.0


@pytest.mark.parametrize("dimension", BEST_SEQUENCES)
def test_the_published_energy_is_reached(dimension: int) -> None:
    bits = f"{BEST_SEQUENCES[dimension]:0{dimension}b}"
    assert Pbo("LABS", dimension).problem(1).evaluate(bits).score == 1.0


def test_the_tables_of_labs_end_at_66_bits() -> None:
    assert Pbo("LABS", 66).problem(1).anchors.best == 66 * 66 / 2 / 257
    assert len(pbo.LABS_ENERGIES) == len(pbo.LABS_RANDOM) == 64
    assert np.all(np.diff(pbo.LABS_RANDOM[5:]) < 0.0)


@pytest.mark.parametrize("dimension", [26, 40, 54, 66])
def test_the_sampled_anchors_of_labs_can_be_measured_again(dimension: int) -> None:
    problem = Pbo("LABS", dimension).problem(1)
    rng = np.random.default_rng(20_251_201)
    values = [problem.evaluate(problem.initial(rng)).value for _ in range(4_000)]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - problem.anchors.random) < 5.0 * error


@pytest.mark.parametrize("dimension", [*range(2, 13), 15])
def test_the_landscape_of_nk_is_exact(dimension: int) -> None:
    known = nk_landscape(dimension)
    problem = Pbo("NKLandscapes", dimension).problem(1)
    values = [problem.evaluate(text).value for text in all_texts(dimension)]
    assert max(values) == known.best
    assert np.mean(values) == pytest.approx(known.mean, abs=1e-13)
    assert problem.evaluate("".join(map(str, known.optimum))).score == 1.0


@pytest.mark.parametrize("instance", [1, 30, 70])
def test_no_climb_leads_beyond_the_optimum_of_nk(instance: int) -> None:
    problem = Pbo("NKLandscapes", 40).problem(instance)
    rng, tops = np.random.default_rng(instance), []
    for _ in range(15):
        text, top = problem.initial(rng), -math.inf
        while True:
            near = [
                text[:place] + "10"[int(bit)] + text[place + 1 :]
                for place, bit in enumerate(text)
            ]
            scores = [problem.evaluate(other).score for other in near]
            if max(scores) <= top:
                break
            top = max(scores)
            text = near[scores.index(top)]
        tops.append(top)
    assert 0.8 < max(tops) <= 1.0


def test_an_ioh_that_misses_the_known_optimum_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = FUNCTIONS["NQueens"]._replace(best=lambda n: 5.0)
    monkeypatch.setitem(pbo.FUNCTIONS, "NQueens", wrong)
    with pytest.raises(RuntimeError, match=r"ioh gives 4\.0 at the optimum of NQueens"):
        Pbo("NQueens", 16).problem(60)


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
    anchors = Pbo(function, SMALL[function]).problem(1).anchors
    values = np.array(all_values(function, 1))
    measured = function == "LABS"
    assert values.mean() == pytest.approx(
        anchors.random, rel=1e-12, abs=5.1e-5 if measured else 0.0
    )
    assert values.max() == anchors.best
    assert anchors.best_is_optimum
    assert "random" in anchors.source or "both" in anchors.source


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


@pytest.mark.parametrize(
    ("function", "dimension", "rule"),
    [
        ("ConcatenatedTrap", 64, "a multiple of 5"),
        ("LABS", 2, r"in \[3, 66\]"),
        ("LABS", 67, r"in \[3, 66\]"),
        ("IsingRing", 2, "at least 3"),
        ("NQueens", 9, "a square of at least 16"),
        ("NQueens", 20, "a square of at least 16"),
        ("NKLandscapes", 1, "at least 2"),
    ],
)
def test_a_dimension_that_does_not_fit_is_refused(
    function: str, dimension: int, rule: str
) -> None:
    with pytest.raises(
        ValueError, match=f"dimension must be {rule} for {function}, got {dimension}"
    ):
        Pbo(function, dimension)


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
    assert Pbo("NQueens", 100).cheap() == Pbo("NQueens", 16)


def test_the_task_names_what_is_natural_to_bits() -> None:
    task = Pbo()
    assert task.family == "pbo"
    assert task.natural_diversity == "hamming"
    assert task.natural_proposer == "bit_flip"
