"""A little language of formulas: Python functions of one or more lines.

A program defines ``f`` over one or two variables, assigns names, and returns::

    def f(x):
        a = sin(x * x)
        return a * cos(x) - 1

An expression is made of parameters, names assigned before, numbers, ``+ - * / **``,
unary minus, and ``sin cos exp log sqrt``. Programs are parsed by ``ast`` against a
whitelist and evaluated by walking the tree over arrays; nothing is ever executed.
Comments, docstrings and anything beyond ASCII are refused.

Four operations are protected, so that most programs are defined everywhere (Koza 1992,
"Genetic Programming", chapter 6, and its usual extensions):

- ``a / b`` is 1 where ``b`` is 0;
- ``log(a)`` is ``log|a|``, and 0 where ``a`` is 0;
- ``sqrt(a)`` is ``sqrt|a|``;
- ``a ** b`` is ``|a| ** b`` where ``a`` is negative and ``b`` no integer, and 1 where
  ``a`` is 0 and ``b`` negative.

The rest is IEEE arithmetic: a result may overflow to infinity or be NaN.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OPERATORS = ("+", "-", "*", "/", "**")
FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt")

#: Lists of parameters that a program may have.
PARAMETERS = (("x",), ("x", "y"))

#: Largest absolute value of a number in a program.
LARGEST_NUMBER = 1e6

#: Largest depth that a limit may allow: trees are walked by recursion.
DEEPEST = 100

# What may occur in a program at all. Strings, and digits that run into letters, would
# make the parser of Python warn; this keeps both away from it.
_TOKENS = re.compile(
    r"(?:[ \t]+|\n|[A-Za-z_][A-Za-z0-9_]*"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.])"
    r"|[-+*/=():,])*+"
)


class ExpressionError(ValueError):
    """A text is no program of the language, or breaks a limit; says why in one line."""


class Number(NamedTuple):
    """A number that is not negative; a negative one is a minus before it."""

    value: float


class Variable(NamedTuple):
    """A parameter or an assigned name."""

    name: str


class Apply(NamedTuple):
    """An operator or function and its arguments; ``-`` takes one or two."""

    head: str
    arguments: tuple[Node, ...]


Node = Number | Variable | Apply


class Program(NamedTuple):
    """A parsed program.

    Attributes:
        parameters: Names of the variables, one of ``PARAMETERS``.
        assignments: Pairs of a name and its expression, in order.
        result: The expression that is returned.
    """

    parameters: tuple[str, ...]
    assignments: tuple[tuple[str, Node], ...]
    result: Node


class Limits(NamedTuple):
    """Bounds of a program.

    Attributes:
        nodes: Numbers, variables, operators and functions, over all lines.
        depth: Nodes on the longest path through one expression, at most ``DEEPEST``.
        lines: Assignments and the return.
        characters: Length of the text.
    """

    nodes: int = 64
    depth: int = 16
    lines: int = 8
    characters: int = 2_000


def parse(text: str, limits: Limits) -> Program:
    """Returns the program that ``text`` is.

    Raises:
        ExpressionError: ``text`` is no program of the language or breaks a limit.
    """
    if len(text) > limits.characters:
        raise ExpressionError(
            f"text must have at most {limits.characters} characters, got {len(text)}"
        )
    if _TOKENS.fullmatch(text) is None:
        raise ExpressionError(
            "text must be made of ASCII names, numbers and + - * / ** = ( ) : , only"
        )
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", error)
        raise ExpressionError(f"text must be valid Python: {reason}") from None
    except (RecursionError, MemoryError):
        raise ExpressionError("text must not be nested so deeply") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise ExpressionError("text must be one function, def f(x): or def f(x, y):")
    return _program(body[0], limits)


def _program(function: ast.FunctionDef, limits: Limits) -> Program:
    parameters = _parameters(function)
    lines = function.body
    if len(lines) > limits.lines:
        raise ExpressionError(
            f"a program must have at most {limits.lines} lines, got {len(lines)}"
        )
    reader = _Reader(parameters, limits)
    assignments = tuple(reader.assignment(line) for line in lines[:-1])
    last = lines[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        raise ExpressionError("the last line must return an expression")
    return Program(parameters, assignments, reader.expression(last.value, 1))


def _parameters(function: ast.FunctionDef) -> tuple[str, ...]:
    arguments = function.args
    names = tuple(argument.arg for argument in arguments.args)
    # Nothing else can be written with the tokens, except what is counted here.
    extras = (arguments.posonlyargs, arguments.kwonlyargs, arguments.defaults)
    starred = arguments.vararg or arguments.kwarg
    annotated = any(argument.annotation for argument in arguments.args)
    if (
        function.name != "f"
        or names not in PARAMETERS
        or any(extras)
        or starred
        or annotated
    ):
        raise ExpressionError("text must start with def f(x): or def f(x, y):")
    return names


class _Reader:
    """Turns the syntax trees of one program into nodes, within the limits."""

    def __init__(self, parameters: tuple[str, ...], limits: Limits) -> None:
        self._known = dict.fromkeys(parameters)
        self._limits = limits
        self._n_nodes = 0

    def assignment(self, line: ast.stmt) -> tuple[str, Node]:
        if (
            not isinstance(line, ast.Assign)
            or len(line.targets) != 1
            or not isinstance(line.targets[0], ast.Name)
        ):
            raise ExpressionError(
                "every line but the last must be an assignment, name = expression"
            )
        name = line.targets[0].id
        if name == "f" or name in FUNCTIONS:
            raise ExpressionError(f"{name} is a function and cannot be assigned")
        node = self.expression(line.value, 1)
        self._known[name] = None
        return name, node

    def expression(self, tree: ast.expr, depth: int) -> Node:
        self._n_nodes += 1
        if self._n_nodes > self._limits.nodes:
            raise ExpressionError(
                f"a program must have at most {self._limits.nodes} nodes"
            )
        if depth > self._limits.depth:
            raise ExpressionError(
                f"an expression must be at most {self._limits.depth} deep"
            )
        if isinstance(tree, ast.Name):
            return self._variable(tree.id)
        if isinstance(tree, ast.Constant):
            return _number(tree.value)
        head, operands = _application(tree)
        arguments = tuple(self.expression(operand, depth + 1) for operand in operands)
        return Apply(head, arguments)

    def _variable(self, name: str) -> Variable:
        if name not in self._known:
            raise ExpressionError(f"{name[:40]} is not defined")
        return Variable(name)


def _number(value: object) -> Number:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or abs(value) > LARGEST_NUMBER
    ):
        raise ExpressionError(
            f"a constant must be a number of at most {LARGEST_NUMBER:g}"
        )
    return Number(float(value))


_OPERATOR_OF: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}


def _application(tree: ast.expr) -> tuple[str, Sequence[ast.expr]]:
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATOR_OF:
        return _OPERATOR_OF[type(tree.op)], (tree.left, tree.right)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return "-", (tree.operand,)
    if (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id in FUNCTIONS
        and len(tree.args) == 1
        and not tree.keywords
    ):
        return tree.func.id, tree.args
    raise ExpressionError(
        "an expression must be made of names, numbers, + - * / ** and "
        f"{' '.join(FUNCTIONS)} of one argument"
    )


def evaluate(program: Program, columns: Sequence[Floats]) -> Floats:
    """Returns the ``(n,)`` values of ``program``, possibly infinite or NaN.

    Args:
        program: A program.
        columns: One ``(n,)`` array for each of its parameters.
    """
    # A literal mix of arrays and scalars: a program without variables is a scalar.
    values: dict[str, Any] = dict(zip(program.parameters, columns, strict=True))
    with np.errstate(all="ignore"):
        for name, node in program.assignments:
            values[name] = _value(node, values)
        result = _value(program.result, values)
    return np.broadcast_to(np.asarray(result, dtype=np.float64), columns[0].shape)


def _value(node: Node, values: dict[str, Any]) -> Any:  # noqa: ANN401
    if isinstance(node, Apply):
        arguments = node.arguments
        first = _value(arguments[0], values)
        if len(arguments) == 1:
            return _UNARY[node.head](first)
        return _BINARY[node.head](first, _value(arguments[1], values))
    return values[node.name] if isinstance(node, Variable) else node.value


def _quotient(dividend: Any, divisor: Any) -> Any:  # noqa: ANN401
    return np.where(divisor == 0.0, 1.0, np.divide(dividend, divisor))


def _logarithm(argument: Any) -> Any:  # noqa: ANN401
    return np.where(argument == 0.0, 0.0, np.log(np.abs(argument)))


def _root(argument: Any) -> Any:  # noqa: ANN401
    return np.sqrt(np.abs(argument))


def _power(base: Any, exponent: Any) -> Any:  # noqa: ANN401
    result = np.power(base, exponent)
    # Wherever the protection applies, the plain power is not finite.
    if np.isfinite(result).all():
        return result
    rootless = (base < 0.0) & (exponent != np.floor(exponent))
    result = np.where(rootless, np.power(np.abs(base), exponent), result)
    return np.where((base == 0.0) & (exponent < 0.0), 1.0, result)


_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": _logarithm,
    "sqrt": _root,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _quotient,
    "**": _power,
}


def render(program: Program) -> str:
    """Returns the text of ``program``; to parse it gives ``program`` again."""
    lines = [f"def f({', '.join(program.parameters)}):"]
    lines += [f"    {name} = {_text(node)}" for name, node in program.assignments]
    lines.append(f"    return {_text(program.result)}")
    return "\n".join(lines)


_SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(5)
_STRENGTH = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def _strength(node: Node) -> int:
    if not isinstance(node, Apply) or node.head in FUNCTIONS:
        return _ATOM
    return _MINUS if len(node.arguments) == 1 else _STRENGTH[node.head]


def _text(node: Node) -> str:
    if isinstance(node, Variable):
        return node.name
    if isinstance(node, Number):
        whole = node.value.is_integer() and node.value <= LARGEST_NUMBER
        return str(int(node.value)) if whole else repr(node.value)
    if node.head in FUNCTIONS:
        return f"{node.head}({_text(node.arguments[0])})"
    if len(node.arguments) == 1:
        return f"-{_bracketed(node.arguments[0], _MINUS)}"
    left, right = node.arguments
    if node.head == "**":
        # Right-associative, and an exponent may carry a minus.
        return f"{_bracketed(left, _ATOM)}**{_bracketed(right, _MINUS)}"
    strength = _STRENGTH[node.head]
    first, second = _bracketed(left, strength), _bracketed(right, strength + 1)
    return f"{first} {node.head} {second}"


def _bracketed(node: Node, weakest: int) -> str:
    """Returns the text of ``node``, in brackets if it binds less than ``weakest``."""
    text = _text(node)
    return text if _strength(node) >= weakest else f"({text})"


def constant(value: float) -> Node:
    """Returns the node of a finite number, negative or not."""
    return Apply("-", (Number(-value),)) if value < 0.0 else Number(abs(value))


def size(node: Node) -> int:
    """Returns the number of nodes of an expression."""
    if isinstance(node, Apply):
        return 1 + sum(map(size, node.arguments))
    return 1


def height(node: Node) -> int:
    """Returns the number of nodes on the longest path through an expression."""
    if isinstance(node, Apply):
        return 1 + max(map(height, node.arguments))
    return 1


def fits(program: Program, limits: Limits) -> bool:
    """Returns whether ``program`` keeps the limits of nodes, depth and lines."""
    nodes = [node for _, node in program.assignments] + [program.result]
    return (
        len(nodes) <= limits.lines
        and sum(map(size, nodes)) <= limits.nodes
        and max(map(height, nodes)) <= limits.depth
    )


def pick(options: Sequence[Any], rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Returns one of ``options``, all equally likely, by one number of ``rng``."""
    return options[int(rng.random() * len(options))]


def random_leaf(names: Sequence[str], rng: np.random.Generator) -> Node:
    """Returns one of ``names``, or in three of ten cases a number in ``[-3, 3]``."""
    if rng.random() < 0.7:
        return Variable(pick(names, rng))
    return constant(round(6.0 * rng.random() - 3.0, 1))


def random_expression(
    names: Sequence[str], depth: int, rng: np.random.Generator
) -> Node:
    """Returns a random expression over ``names``, between one and ``depth`` deep."""
    u = rng.random()
    if depth <= 1 or u < 0.2:
        return random_leaf(names, rng)
    if u < 0.5:
        return Apply(pick(FUNCTIONS, rng), (random_expression(names, depth - 1, rng),))
    head = pick(OPERATORS, rng)
    left = random_expression(names, depth - 1, rng)
    if head == "**":
        # A small whole exponent; others are within reach of edits.
        return Apply(head, (left, Number(pick((2.0, 3.0), rng))))
    return Apply(head, (left, random_expression(names, depth - 1, rng)))


def random_program(parameters: tuple[str, ...], rng: np.random.Generator) -> Program:
    """Returns a random program of one to three lines, at most 21 nodes, four deep.

    Numbers may be negative, which costs a node and a level each.
    """
    names = list(parameters)
    assignments = []
    for name in ("a", "b")[: int(3.0 * rng.random())]:
        assignments.append((name, random_expression(names, 2, rng)))
        names.append(name)
    return Program(parameters, tuple(assignments), random_expression(names, 3, rng))
