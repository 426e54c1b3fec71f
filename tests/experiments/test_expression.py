"""Symbolic regression: targets against NumPy, the language against its own grammar."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.expressions import (
    DEEPEST,
    FUNCTIONS,
    OPERATORS,
    PARAMETERS,
    Apply,
    ExpressionError,
    Limits,
    Node,
    Number,
    Program,
    Variable,
    evaluate,
    fits,
    parse,
    random_program,
    render,
)
from experiments.tasks.expression import TARGETS, Expression
from memory.randomness import KeyedRandom

LIMITS = Limits()

# The published formulas once more, written without the language.
FORMULAS: dict[str, Callable[..., Any]] = {
    "nguyen_1": lambda x: x**3 + x**2 + x,
    "nguyen_2": lambda x: x**4 + x**3 + x**2 + x,
    "nguyen_3": lambda x: x**5 + x**4 + x**3 + x**2 + x,
    "nguyen_4": lambda x: x**6 + x**5 + x**4 + x**3 + x**2 + x,
    "nguyen_5": lambda x: np.sin(x**2) * np.cos(x) - 1,
    "nguyen_6": lambda x: np.sin(x) + np.sin(x + x**2),
    "nguyen_7": lambda x: np.log(x + 1) + np.log(x**2 + 1),
    "nguyen_8": lambda x: np.sqrt(x),
    "nguyen_9": lambda x, y: np.sin(x) + np.sin(y**2),
    "nguyen_10": lambda x, y: 2 * np.sin(x) * np.cos(y),
    "keijzer_1": lambda x: 0.3 * x * np.sin(2 * np.pi * x),
    "keijzer_4": lambda x: (
        x**3 * np.exp(-x) * np.cos(x) * np.sin(x) * (np.sin(x) ** 2 * np.cos(x) - 1)
    ),
    "keijzer_9": lambda x: np.arcsinh(x),
    "keijzer_11": lambda x, y: x * y + np.sin((x - 1) * (y - 1)),
    "keijzer_12": lambda x, y: x**4 - x**3 + y**2 / 2 - y,
    "keijzer_14": lambda x, y: 8 / (2 + x**2 + y**2),
    "keijzer_15": lambda x, y: x**3 / 5 + y**3 / 2 - y - x,
}


def value_of(expression: str, x: float, y: float = 0.0) -> float:
    """Returns what ``expression`` is at one point."""
    program = parse(f"def f(x, y):\n    return {expression}", LIMITS)
    return float(evaluate(program, (np.array([x]), np.array([y])))[0])


def refused(text: str, limits: Limits = LIMITS) -> str:
    with pytest.raises(ExpressionError) as error:
        parse(text, limits)
    return str(error.value)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x + 2 * 3", 8.0),
        ("-x**2", -4.0),
        ("(-x)**2", 4.0),
        ("x**-1", 0.5),
        ("2**3**x", 512.0),
        ("10 - x - 3", 5.0),
        ("--x", 2.0),
        ("1.5e1 / x", 7.5),
        ("cos(x - 2)", 1.0),
        ("exp(log(x))", 2.0),
        ("x / 0", 1.0),
        ("0 / 0", 1.0),
        ("log(x - 2)", 0.0),
        ("log(-x) - log(x)", 0.0),
        ("sqrt(-x * 2)", 2.0),
        ("(-4)**0.5", 2.0),
        ("(-2)**3", -8.0),
        ("(x - 2)**-1", 1.0),
        ("0**0", 1.0),
    ],
)
def test_expressions_mean_what_the_language_says(
    expression: str, expected: float
) -> None:
    assert value_of(expression, 2.0) == pytest.approx(expected, rel=1e-12)


def test_protection_works_element_by_element() -> None:
    program = parse("def f(x):\n    return x**-0.5", LIMITS)
    values = evaluate(program, (np.array([-4.0, 0.0, 4.0]),))
    np.testing.assert_array_equal(values, [0.5, 1.0, 0.5])


def test_lines_are_evaluated_in_order_and_names_may_be_assigned_again() -> None:
    program = parse(
        "def f(x):\n    a = x + 1\n    x = a * a\n    a = x - 1\n    return a", LIMITS
    )
    np.testing.assert_array_equal(evaluate(program, (np.array([1.0, 2.0]),)), [3, 8])


def test_a_program_without_variables_is_constant() -> None:
    program = parse("def f(x):\n    return 2 / 4", LIMITS)
    np.testing.assert_array_equal(evaluate(program, (np.zeros(3),)), [0.5] * 3)


numbers = st.floats(0.0, 1e6, allow_nan=False).map(lambda value: Number(abs(value)))
leaves = st.one_of(numbers, st.sampled_from([Variable("x"), Variable("y")]))


def applications(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    unary = st.sampled_from([*FUNCTIONS, "-"])
    binary = st.sampled_from(OPERATORS)
    return st.one_of(
        st.builds(lambda head, node: Apply(head, (node,)), unary, nodes),
        st.builds(lambda head, a, b: Apply(head, (a, b)), binary, nodes, nodes),
    )


expressions = st.recursive(leaves, applications, max_leaves=20)


@given(first=expressions, result=expressions)
def test_a_rendered_program_parses_to_itself(first: Node, result: Node) -> None:
    program = Program(("x", "y"), (("a", first),), Apply("+", (result, Variable("a"))))
    text = render(program)
    assert parse(text, Limits(500, 100, 8, 10_000)) == program


def test_rendering_adds_no_needless_brackets() -> None:
    text = "def f(x):\n    a = -x**2 - (x - 1) * 3\n    return a**-x / (2 / x)"
    assert render(parse(text, LIMITS)) == text


@pytest.mark.parametrize("seed", range(300))
def test_random_programs_are_small_and_valid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parameters = PARAMETERS[seed % 2]
    program = random_program(parameters, rng)
    assert fits(program, Limits(nodes=21, depth=4, lines=3))
    assert parse(render(program), Limits(21, 4, 3)) == program
    assert program.parameters == parameters


@pytest.mark.parametrize(
    "line",
    [
        "x = __import__('os')",
        "return x.real",
        "return x if x else 1",
        "return lambda x: x",
        "return x // 2",
        "return +x",
        "return x == 1",
        "return abs(x)",
        "return sin(x, x)",
        "return sin()",
        "return sin(*x)",
        "return sin",
        "return f(x)",
        "return z",
        "return",
        "return (x, x)",
        "return True",
        "return None",
        "return 1j",
        "return 1_000",
        "return 1e400",
        "return 1000001",
        "return 0777",
        "return 1if x else 2",
        "return '\\d'",
        "return (a := 1)",
        "sin = 1",
        "f = x",
        "a, b = 1, 2",
        "a = b = x",
        "a: x = 1",
        "a += 1",
        "global a",
        "pass",
        "return x\n    return x",
        "return \uff58",
        "return x # a comment",
    ],
)
def test_what_the_language_does_not_name_is_refused(line: str) -> None:
    assert refused(f"def f(x):\n    {line}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "\ud800",
        "x",
        "def g(x):\n    return x",
        "def f():\n    return 1",
        "def f(y):\n    return y",
        "def f(x, y, z):\n    return x",
        "def f(x=1):\n    return x",
        "def f(x, /):\n    return x",
        "def f(*x):\n    return 1",
        "def f(x, *, y):\n    return x",
        "def f(x, **y):\n    return x",
        "def f(x: x):\n    return x",
        "async def f(x):\n    return x",
        "def f(x):\n    return x\ndef f(x):\n    return x",
        "def f(x):\n    a = x",
    ],
)
def test_a_program_is_one_function_of_one_or_two_variables(text: str) -> None:
    assert "\n" not in refused(text)


def test_each_limit_holds_at_its_edge() -> None:
    text = "def f(x):\n    a = x + 1\n    return a * 2 - x"
    exact = Limits(nodes=8, depth=3, lines=2, characters=len(text))
    assert parse(text, exact)
    for name, value in exact._asdict().items():
        assert str(value - 1) in refused(text, exact._replace(**{name: value - 1}))


@pytest.mark.parametrize("n", [400, 1_900, 4_000, 20_000])
@pytest.mark.parametrize("token", ["(", "-", "sin(", "x**", "x+"])
def test_deep_nesting_fails_cleanly(token: str, n: int) -> None:
    closed = ")" * (n * token.count("("))
    text = f"def f(x):\n    return {token * n}x{closed}"
    assert refused(text)
    assert refused(text, Limits(10**6, DEEPEST, 8, 10**6))


def test_a_huge_text_is_refused_before_it_is_parsed() -> None:
    assert "at most 2000 characters" in refused("-" * 10_000_000)


def test_every_target_has_a_formula_here() -> None:
    assert set(FORMULAS) == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_its_published_formula_over_its_domain(target: str) -> None:
    known = TARGETS[target]
    rng = np.random.default_rng(5)
    points = rng.uniform(known.low, known.high, (known.n_variables, 200))
    values = evaluate(parse(known.text, LIMITS), tuple(points))
    np.testing.assert_allclose(values, FORMULAS[target](*points), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("instance", [1, 2, 17])
@pytest.mark.parametrize("target", TARGETS)
def test_the_target_itself_is_the_optimum(target: str, instance: int) -> None:
    problem = Expression(target).problem(instance)
    evaluation = problem.evaluate(TARGETS[target].text)
    assert evaluation.value == pytest.approx(1.0, abs=1e-9)
    assert evaluation.score == pytest.approx(1.0, abs=1e-9)
    assert problem.anchors.best == 1.0
    assert problem.anchors.best_is_optimum


def test_the_value_is_one_over_one_plus_the_normalised_error() -> None:
    problem = Expression("nguyen_8").problem(1)
    x = 4.0 * KeyedRandom("expression", "nguyen_8", 1).generator("instance", 0).random(
        20
    )
    error = math.sqrt(np.mean((x / 2 - np.sqrt(x)) ** 2)) / np.sqrt(x).std()
    evaluation = problem.evaluate("def f(x):\n    return x / 2")
    assert evaluation.value == pytest.approx(1.0 / (1.0 + error), rel=1e-11)
    random = problem.anchors.random
    expected = (evaluation.value - random) / (1.0 - random)
    assert evaluation.score == pytest.approx(expected, rel=1e-12)


def test_the_best_constant_has_the_value_one_half() -> None:
    x = 4.0 * KeyedRandom("expression", "nguyen_8", 1).generator("instance", 0).random(
        20
    )
    text = f"def f(x):\n    return {np.sqrt(x).mean()!r}".replace("np.float64", "")
    evaluation = Expression("nguyen_8").problem(1).evaluate(text)
    assert evaluation.value == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_the_random_anchor_is_the_mean_of_initial_texts(target: str) -> None:
    # The stored numbers are means over instances 1 to 20 with 2,000 texts each.
    keyed = KeyedRandom("test_expression", "anchor", target)
    values, n_failed = [], 0
    for instance in range(1, 21):
        problem = Expression(target).problem(instance)
        for index in range(100):
            text = problem.initial(keyed.generator("initial", index, instance))
            evaluation = problem.evaluate(text)
            if evaluation.value is None:
                n_failed += 1
            else:
                values.append(evaluation.value)
    # Four standard errors are about 0.015 of the value.
    standard_error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - TARGETS[target].random) < 4.0 * standard_error
    assert standard_error < 0.005
    assert n_failed < 0.03 * len(values)


def test_instances_are_samples_of_their_own_and_repeat() -> None:
    text = "def f(x):\n    return x"
    values = [Expression().problem(i).evaluate(text).value for i in range(1, 30)]
    again = [Expression().problem(i).evaluate(text).value for i in range(1, 30)]
    assert len(set(values)) == 29
    assert values == again


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("exp(exp(exp(9)))", "not finite"),
        ("exp(999) - exp(999)", "not finite"),
        ("exp(500) + x", "too large"),
        ("y", "y is not defined"),
    ],
)
def test_a_prediction_that_is_no_number_fails(expression: str, reason: str) -> None:
    evaluation = Expression().problem(1).evaluate(f"def f(x):\n    return {expression}")
    assert evaluation[:2] == (None, None)
    assert reason in evaluation.failure


def test_a_huge_error_keeps_a_positive_value() -> None:
    value = Expression().problem(1).evaluate("def f(x):\n    return exp(300)").value
    assert value is not None
    assert 0.0 < value < 1e-100


def test_the_parameters_must_be_those_of_the_target() -> None:
    one, two = Expression("nguyen_5").problem(1), Expression("nguyen_9").problem(1)
    assert one.evaluate("def f(x, y):\n    return x").failure.endswith("def f(x):")
    assert two.evaluate("def f(x):\n    return x").failure.endswith("def f(x, y):")


@pytest.mark.parametrize("text", [None, 1, b"def f(x):\n    return x"])
def test_what_is_no_string_fails(text: object) -> None:
    evaluation = Expression().problem(1).evaluate(text)  # type: ignore[arg-type]
    assert evaluation.failure.startswith("text must be a string")


def checked(text: str) -> None:
    """Checks that ``text`` is evaluated or fails with a reason of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation = Expression(n_points=5).problem(1).evaluate(text)
    if evaluation.value is None:
        assert evaluation.score is None
        assert evaluation.failure
        assert "\n" not in evaluation.failure
    else:
        assert 0.0 < evaluation.value <= 1.0
        assert evaluation.score is not None
        assert evaluation.failure == ""


@given(text=st.text(max_size=200))
def test_any_text_is_evaluated_without_an_exception(text: str) -> None:
    checked(text)


pieces = st.sampled_from(
    [
        *("x", "y", "a", "f", "def", "return", "if", "else", "lambda", "for", "in"),
        *("sin", "log", "(", ")", "((", "))", ":", ",", "=", "\n", "\n    ", " "),
        *("+", "-", "*", "/", "**", "0", "1", "2.5", "1e9", ".5", "1e", "'", "\\", "#"),
        *("[", "]", "{", "}", "@", "_", "\t", "\r", "\f", ";", "\u00b2", "x" * 90),
    ]
)


@settings(max_examples=300)
@given(parts=st.lists(pieces, max_size=40))
def test_text_that_looks_like_code_is_evaluated_without_an_exception(
    parts: list[str],
) -> None:
    checked("".join(parts))
    checked("def f(x):\n    return " + "".join(parts))


@given(node=expressions)
def test_every_expression_is_evaluated_without_a_warning(node: Node) -> None:
    text = render(Program(("x", "y"), (), node)).replace("y", "x").replace("x, x", "x")
    checked(text)


@pytest.mark.parametrize("target", ["nguyen_11", "", None, ["nguyen_1"]])
def test_an_unknown_target_is_refused_with_the_choices(target: object) -> None:
    with pytest.raises(ValueError, match=r"target must be one of nguyen_1, .*keijzer"):
        Expression(target)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in ("n_points", "max_nodes", "max_depth", "max_lines")
        for value in ("20", True, 0, 2.5)
    ],
)
def test_numbers_of_the_task_are_large_enough_integers(
    name: str, value: object
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        Expression(**{name: value})  # type: ignore[arg-type]


def test_limits_that_shut_out_the_target_are_refused() -> None:
    assert Expression("nguyen_8", max_nodes=21)
    with pytest.raises(ValueError, match="must leave room for keijzer_4"):
        Expression("keijzer_4", max_nodes=21)


def test_a_limit_of_depth_that_recursion_cannot_follow_is_refused() -> None:
    with pytest.raises(ValueError, match="max_depth must be at most 100, got 101"):
        Expression(max_depth=101)
    deep = "def f(x):\n    return " + "-" * 99 + "x"
    assert Expression(max_nodes=100, max_depth=100).problem(1).evaluate(deep).value


def test_the_cheap_task_has_at_most_ten_points() -> None:
    assert Expression().cheap() == Expression(n_points=10)
    assert Expression(n_points=6).cheap() == Expression(n_points=6)


def test_there_is_no_instance_zero() -> None:
    with pytest.raises(ValueError, match="instance must be at least 1"):
        Expression().problem(0)


def test_the_task_names_what_is_natural_to_programs() -> None:
    task = Expression()
    assert task.family == "expression"
    assert task.natural_diversity == "text_shape"
    assert task.natural_proposer == "expression_edit"
