"""Continuous tasks: ioh against COCO's definitions and published values."""

from __future__ import annotations

import math
from collections.abc import Callable

import ioh
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.tasks import bbob
from experiments.tasks.bbob import FUNCTIONS, Bbob, BbobProblem

#: f_opt of the first instance, the same in every dimension, as the data of COCO have it.
OPTIMA = {
    "Sphere": 79.48,
    "Rastrigin": -462.09,
    "Rosenbrock": 149.15,
    "Schaffers": -16.94,
    "Gallagher": 40.78,
}
#: f(0, 0) and f(1, 2) of the first instance in two dimensions, as a Scala port of the
#: functions tests them; its rotations have six digits, so F17 agrees to four.
PUBLISHED = {
    "Sphere": (80.88209408, 90.00369408),
    "Rastrigin": (-383.06427743867573, -440.5552734899663),
    "Rosenbrock": (155.776101642076185, 223.032372285276267),
    "Schaffers": (23.800347975772173, 5.904389055594255),
}


def raw(function: str, dimension: int, instance: int) -> ioh.problem.BBOB:
    name, _ = FUNCTIONS[function]
    return ioh.get_problem(
        name, instance, dimension, problem_class=ioh.ProblemClass.BBOB
    )


def written(numbers: np.ndarray) -> str:
    return "\n".join(f"{number:+.6f}" for number in numbers)


def value_of(problem: BbobProblem, numbers: np.ndarray) -> float:
    value = problem.evaluate(written(numbers)).value
    assert value is not None
    return value


@pytest.mark.parametrize("dimension", [2, 5, 20])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_optimum_of_the_first_instance_is_that_of_coco(
    function: str, dimension: int
) -> None:
    problem = raw(function, dimension, 1)
    assert problem.meta_data.problem_id == FUNCTIONS[function][1]
    assert problem.optimum.y == pytest.approx(OPTIMA[function], abs=1e-9)
    assert problem(problem.optimum.x) == pytest.approx(OPTIMA[function], abs=1e-9)


@pytest.mark.parametrize("function", PUBLISHED)
def test_values_elsewhere_are_those_that_were_published(function: str) -> None:
    problem = Bbob(function, 2).problem(1)
    values = [value_of(problem, np.array(x)) for x in ([0.0, 0.0], [1.0, 2.0])]
    found = [10.0**value + OPTIMA[function] for value in values]
    tolerance = 1e-4 if function == "Schaffers" else 1e-9
    assert found == pytest.approx(PUBLISHED[function], rel=tolerance)


def sphere(x: np.ndarray) -> float:
    return float(x @ x)


def rosenbrock(x: np.ndarray) -> float:
    z = max(1.0, math.sqrt(x.size) / 8.0) * x + 1.0
    head, tail = z[:-1], z[1:]
    return float(np.sum(100.0 * (head**2 - tail) ** 2 + (head - 1.0) ** 2))


def rastrigin(x: np.ndarray) -> float:
    """The separable one, bent by T_osz and T_asy and stretched by Lambda."""
    size = np.log(np.abs(x))
    c1, c2 = np.where(x > 0.0, 10.0, 5.5), np.where(x > 0.0, 7.9, 3.1)
    z = np.sign(x) * np.exp(size + 0.049 * (np.sin(c1 * size) + np.sin(c2 * size)))
    place = np.arange(x.size) / (x.size - 1)
    root = np.sqrt(np.maximum(z, 0.0))
    z = np.where(z > 0.0, np.abs(z) ** (1.0 + 0.2 * place * root), z)
    z = 10.0 ** (0.5 * place) * z
    return float(10.0 * (x.size - np.cos(2.0 * np.pi * z).sum()) + z @ z)


FORMULAS: dict[str, Callable[[np.ndarray], float]] = {
    "Sphere": sphere,
    "Rastrigin": rastrigin,
    "Rosenbrock": rosenbrock,
}


@pytest.mark.parametrize("instance", [1, 2, 15])
@pytest.mark.parametrize("dimension", [2, 5, 20])
@pytest.mark.parametrize("function", FORMULAS)
def test_values_follow_the_definition_of_coco(
    function: str, dimension: int, instance: int
) -> None:
    problem = Bbob(function, dimension).problem(instance)
    optimum = np.array(raw(function, dimension, instance).optimum.x)
    rng = np.random.default_rng(dimension)
    for point in rng.uniform(-5.0, 5.0, (20, dimension)).round(6):
        expected = math.log10(FORMULAS[function](point - optimum))
        assert value_of(problem, point) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("instance", [*range(1, 16), 1000])
@pytest.mark.parametrize("dimension", [2, 5, 40])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_written_optimum_scores_exactly_one(
    function: str, dimension: int, instance: int
) -> None:
    problem = Bbob(function, dimension).problem(instance)
    optimum = np.array(raw(function, dimension, instance).optimum.x)
    assert problem.evaluate(written(optimum)) == (1.0, -8.0, "", None)
    assert problem.anchors.best == -8.0
    assert problem.anchors.best_is_optimum


def test_a_value_counts_orders_of_magnitude() -> None:
    problem = Bbob("Sphere", 2).problem(1)
    optimum = np.array(raw("Sphere", 2, 1).optimum.x)
    right = np.array([1.0, 0.0])
    found = [problem.evaluate(written(optimum + s * right)) for s in (1, 0.1, 1e-2)]
    assert [evaluation.value for evaluation in found] == pytest.approx([0, -2, -4])
    scores = np.array([evaluation.score for evaluation in found])
    assert np.diff(scores, 2) == pytest.approx(0.0, abs=1e-12)
    # What the sum with f_opt would have rounded away is still there.
    near = value_of(problem, optimum + 2e-4 * right)
    assert near == pytest.approx(math.log10(4e-8), abs=1e-9)
    assert value_of(problem, optimum + 5e-5 * right) == -8.0


@pytest.mark.parametrize("dimension", [2, 5])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_random_anchor_is_the_mean_of_initial_texts(
    function: str, dimension: int
) -> None:
    problem = Bbob(function, dimension).problem(3)
    rng = np.random.default_rng(20_251_202)
    values = [problem.evaluate(problem.initial(rng)).value for _ in range(3_000)]
    # The anchor has an error of its own, from a third as many texts.
    error = np.std(values) * math.sqrt(1 / 3_000 + 1 / 1_000)
    assert abs(np.mean(values) - problem.anchors.random) < 5.0 * error


def test_the_anchors_are_the_same_wherever_they_are_computed() -> None:
    anchors = [Bbob(f, 5).problem(1).anchors.random for f in FUNCTIONS]
    assert anchors == RANDOM_ANCHORS
    assert Bbob("Sphere", 5).problem(2).anchors.random != anchors[0]


RANDOM_ANCHORS = [1.67346, 2.44032, 4.64592, 1.56058, 1.76225]


def test_initial_texts_are_uniform_and_of_one_length() -> None:
    problem = Bbob("Sphere", 5).problem(1)
    rng = np.random.default_rng(20_251_203)
    texts = [problem.initial(rng) for _ in range(2_000)]
    assert {len(text) for text in texts} == {49}
    numbers = np.array([[float(line) for line in text.split("\n")] for text in texts])
    assert np.abs(numbers).max() <= 5.0
    deciles = np.histogram(numbers, bins=10, range=(-5.0, 5.0))[0]
    assert np.abs(deciles - 1_000).max() < 5.5 * math.sqrt(900)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "got 1 lines"),
        ("+1.000000", "got 1 lines"),
        ("+1.000000\n+1.000000\n", "got 3 lines"),
        ("+1.000000\n", "got '' in line 2"),
        ("+1.000000\n1.000000", "got '1.000000' in line 2"),
        ("+1.000000\n+1.00000", "got '+1.00000' in line 2"),
        ("+1.000000\n+1.0000000", "got '+1.0000000' in line 2"),
        ("+1.000000\r\n+1.000000", r"got '+1.000000\r' in line 1"),
        (" +1.00000\n+1.000000", "got ' +1.00000' in line 1"),
        ("nan\n+1.000000", "got 'nan' in line 1"),
        ("+inf\n+1.000000", "got '+inf' in line 1"),
        ("1e400\n+1.000000", "got '1e400' in line 1"),
        ("+1_000000\n+1.000000", "got '+1_000000' in line 1"),
        ("+\u0661.000000\n+1.000000", r"got '+\u0661.000000' in line 1"),
        ("+\ud800.00000\n+1.000000", r"got '+\ud800.00000' in line 1"),
        ("+1.000000\n" + "9" * 10_000, f"got '{'9' * 20}' in line 2"),
        ("+1.000000\n+5.000001", "got +5.000001 in line 2"),
        ("-9.999999\n+1.000000", "got -9.999999 in line 1"),
        (None, "got a NoneType"),
        (b"+1.000000\n+1.000000", "got a bytes"),
    ],
)
def test_a_text_that_is_not_two_numbers_fails_and_says_why(
    text: object, reason: str
) -> None:
    evaluation = Bbob("Sphere", 2).problem(1).evaluate(text)  # type: ignore[arg-type]
    assert evaluation[:2] == (None, None)
    assert evaluation.failure.endswith(reason)
    assert evaluation.failure.isascii()
    assert "\n" not in evaluation.failure


@given(text=st.text(alphabet="+-.0159\n e\u0661", max_size=22))
def test_no_text_raises(text: str) -> None:
    evaluation = Bbob("Schaffers", 2).problem(1).evaluate(text)
    assert (evaluation.score is None) == bool(evaluation.failure)


@given(st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=2))
def test_every_written_point_within_the_bounds_has_a_score(numbers: list) -> None:
    evaluation = Bbob("Gallagher", 2).problem(4).evaluate(written(np.array(numbers)))
    assert evaluation.score is not None
    assert evaluation.score <= 1.0


def test_minus_zero_is_zero() -> None:
    problem = Bbob("Rosenbrock", 2).problem(1)
    assert problem.evaluate("-0.000000\n+0.000000").value == value_of(
        problem, np.zeros(2)
    )


@pytest.mark.parametrize("function", ["sphere", "", None, ["Sphere"]])
def test_an_unknown_function_is_refused_with_the_choices(function: object) -> None:
    with pytest.raises(ValueError, match="function must be one of Sphere, Rastrigin"):
        Bbob(function)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dimension", "error"),
    [("5", TypeError), (True, TypeError), (1, ValueError), (41, ValueError)],
)
def test_a_dimension_out_of_range_is_refused(
    dimension: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match="dimension must be"):
        Bbob("Sphere", dimension)  # type: ignore[arg-type]


@pytest.mark.parametrize("instance", [0, -1, 1001])
def test_an_instance_out_of_range_is_refused(instance: int) -> None:
    with pytest.raises(ValueError, match="instance must be at"):
        Bbob().problem(instance)


def test_an_ioh_that_misses_its_own_optimum_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bbob, "_value", lambda problem, numbers: 2.0)
    with pytest.raises(RuntimeError, match=r"ioh gives 2\.0 at the optimum of Sphere"):
        Bbob("Sphere", 7).problem(1)
    bbob._random_anchor.cache_clear()


def test_the_task_names_what_is_natural_to_numbers() -> None:
    task = Bbob("Gallagher", 20)
    assert task.family == "bbob"
    assert task.natural_diversity == "hamming"
    assert task.natural_proposer == "gaussian_lines"
    assert task.cheap() == Bbob("Gallagher", 2)
