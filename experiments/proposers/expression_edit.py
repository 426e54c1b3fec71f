"""Random edits of small Python functions, see ``expressions``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from experiments.expressions import (
    DEEPEST,
    FUNCTIONS,
    LARGEST_NUMBER,
    OPERATORS,
    PARAMETERS,
    Apply,
    ExpressionError,
    Limits,
    Node,
    Number,
    Program,
    Variable,
    constant,
    fits,
    parse,
    pick,
    random_expression,
    random_leaf,
    random_program,
    render,
    size,
)
from memory import count, within

# A parent may be larger than what is proposed: it is read, and then it shrinks.
_READABLE = Limits(nodes=2_000, depth=DEEPEST, lines=1_000, characters=4_000)
_ATTEMPTS = 8
_MOST_EDITS = 8
_TWO_PARAMETERS = re.compile(r"\bf\s*\(\s*x\s*,\s*y\s*\)")


@dataclass(frozen=True, slots=True)
class ExpressionEdit:
    """Edits one or a few places of a program, each kind of edit equally likely.

    A token is replaced by another of its kind (a number mostly moves by a step whose
    size is log-uniform over three decades), a subexpression is wrapped, replaced or
    deleted, a term is added, a line is added or removed. A proposal that equals its
    parent or breaks the limits is drawn again, up to eight times; then it may break
    them, but it still differs. A parent that is no program gives way to a random one.

    Args:
        further_edit_probability: Probability that one more edit follows an edit, in
            ``[0, 1]``; eight is the most.
        max_nodes: Nodes above which a proposal is drawn again.
        max_depth: Depth above which a proposal is drawn again, at most 100.
        max_lines: Lines above which a proposal is drawn again.
        failure_rate: Probability that a proposal fails, in ``[0, 1]``; the caller
            draws it.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A probability lies outside ``[0, 1]``, a limit is below one, or
            ``max_depth`` is above 100.
    """

    further_edit_probability: float = 0.3
    max_nodes: int = 64
    max_depth: int = 16
    max_lines: int = 8
    failure_rate: float = 0.0

    n_parents: ClassVar[int] = 1

    def __post_init__(self) -> None:
        within("further_edit_probability", self.further_edit_probability, 0.0, 1.0)
        for name in ("max_nodes", "max_depth", "max_lines"):
            count(name, getattr(self, name), minimum=1)
        if self.max_depth > DEEPEST:
            raise ValueError(
                f"max_depth must be at most {DEEPEST}, got {self.max_depth}"
            )
        within("failure_rate", self.failure_rate, 0.0, 1.0)

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns an edited program, whatever the parent is.

        Args:
            parents: One text.
            rng: Source of all decisions.

        Raises:
            ValueError: ``parents`` does not hold exactly one text.
        """
        if len(parents) != 1:
            raise ValueError(f"parents must be one text, got {len(parents)}")
        try:
            parent = parse(parents[0], _READABLE)
        except ExpressionError:
            return render(_fresh(parents[0], rng))
        limits = Limits(self.max_nodes, self.max_depth, self.max_lines)
        proposal = parent
        for _ in range(_ATTEMPTS):
            proposal = self._edited(parent, rng)
            if proposal != parent and fits(proposal, limits):
                return render(proposal)
        if proposal == parent:
            draft = _Draft(parent)
            _add_term(draft, rng)
            proposal = draft.program()
        return render(proposal)

    def _edited(self, program: Program, rng: np.random.Generator) -> Program:
        draft = _Draft(program)
        for _ in range(_MOST_EDITS):
            pick(_EDITS, rng)(draft, rng)
            if rng.random() >= self.further_edit_probability:
                break
        return draft.program()


def _fresh(text: str, rng: np.random.Generator) -> Program:
    return random_program(PARAMETERS[bool(_TWO_PARAMETERS.search(text))], rng)


class _Draft:
    """A program whose lines are being edited; the return is a line without a name."""

    def __init__(self, program: Program) -> None:
        self.parameters = program.parameters
        self.names: list[str] = [name for name, _ in program.assignments]
        self.nodes: list[Node] = [node for _, node in program.assignments]
        self.nodes.append(program.result)

    def program(self) -> Program:
        pairs = tuple(zip(self.names, self.nodes[:-1], strict=True))
        return Program(self.parameters, pairs, self.nodes[-1])

    def known(self, line: int) -> list[str]:
        """Returns the names that ``line`` may use, each once."""
        return list(dict.fromkeys([*self.parameters, *self.names[:line]]))

    def place(self, rng: np.random.Generator) -> tuple[int, int]:
        """Returns a line and a node of it, every node equally likely."""
        sizes = [size(node) for node in self.nodes]
        line, index = 0, int(rng.random() * sum(sizes))
        while index >= sizes[line]:
            index -= sizes[line]
            line += 1
        return line, index

    def edit(self, line: int, index: int, change: Callable[[Node], Node]) -> None:
        """Puts ``change`` of a node in its place, counted from the root in preorder."""
        self.nodes[line] = _changed(self.nodes[line], index, change)


def _changed(node: Node, index: int, change: Callable[[Node], Node]) -> Node:
    if index == 0 or not isinstance(node, Apply):
        return change(node)
    index -= 1
    arguments = list(node.arguments)
    for place, argument in enumerate(arguments):
        n_nodes = size(argument)
        if index < n_nodes:
            arguments[place] = _changed(argument, index, change)
            break
        index -= n_nodes
    return Apply(node.head, tuple(arguments))


def _replace_token(draft: _Draft, rng: np.random.Generator) -> None:
    line, index = draft.place(rng)
    known = draft.known(line)
    draft.edit(line, index, lambda node: _another(node, known, rng))


def _another(node: Node, known: Sequence[str], rng: np.random.Generator) -> Node:
    """Returns ``node`` with another token of its kind."""
    if isinstance(node, Number):
        return (
            _moved(node.value, rng) if rng.random() < 0.8 else random_leaf(known, rng)
        )
    if isinstance(node, Variable):
        return random_leaf([name for name in known if name != node.name] or known, rng)
    tokens = FUNCTIONS if len(node.arguments) == 1 else OPERATORS
    others = [token for token in tokens if token != node.head]
    return Apply(pick(others, rng), node.arguments)


def _moved(value: float, rng: np.random.Generator) -> Node:
    """Returns a number near ``value``, with four significant digits."""
    step = 10.0 ** (-3.0 * rng.random()) * max(1.0, value)
    moved = value + step * (2.0 * rng.random() - 1.0)
    return constant(float(f"{min(moved, LARGEST_NUMBER):.4g}"))


def _wrap(draft: _Draft, rng: np.random.Generator) -> None:
    line, index = draft.place(rng)
    head = pick((*FUNCTIONS, *OPERATORS), rng)
    if head in FUNCTIONS:
        draft.edit(line, index, lambda node: Apply(head, (node,)))
        return
    leaf = random_leaf(draft.known(line), rng)
    leaf_first = rng.random() < 0.5
    draft.edit(
        line,
        index,
        lambda node: Apply(head, (leaf, node) if leaf_first else (node, leaf)),
    )


def _replace_subexpression(draft: _Draft, rng: np.random.Generator) -> None:
    line, index = draft.place(rng)
    grown = random_expression(draft.known(line), 3, rng)
    draft.edit(line, index, lambda node: grown)


def _delete(draft: _Draft, rng: np.random.Generator) -> None:
    line, index = draft.place(rng)
    draft.edit(
        line,
        index,
        lambda node: pick(node.arguments, rng) if isinstance(node, Apply) else node,
    )


def _add_term(draft: _Draft, rng: np.random.Generator) -> None:
    line = int(rng.random() * len(draft.nodes))
    term = random_expression(draft.known(line), 3, rng)
    head = pick(("+", "-"), rng)
    draft.edit(line, 0, lambda node: Apply(head, (node, term)))


def _add_line(draft: _Draft, rng: np.random.Generator) -> None:
    """Names a subexpression, the same or half the time a new one, before its line."""
    line, index = draft.place(rng)
    name = next(name for name in _new_names() if name not in draft.names)
    new = random_expression(draft.known(line), 3, rng) if rng.random() < 0.5 else None
    named: list[Node] = []

    def take(node: Node) -> Node:
        named.append(node)
        return Variable(name)

    draft.edit(line, index, take)
    draft.names.insert(line, name)
    draft.nodes.insert(line, named[0] if new is None else new)


def _new_names() -> Iterator[str]:
    yield from "abcdegh"
    yield from (f"v{index}" for index in itertools.count(1))


def _remove_line(draft: _Draft, rng: np.random.Generator) -> None:
    """Removes a line; its name gives way to its expression, or to a leaf."""
    if not draft.names:
        return
    line = int(rng.random() * len(draft.names))
    name, node = draft.names.pop(line), draft.nodes.pop(line)
    if rng.random() < 0.5:
        node = random_leaf(draft.known(line), rng)
    for later in range(line, len(draft.nodes)):
        draft.nodes[later] = _substituted(draft.nodes[later], name, node)


def _substituted(node: Node, name: str, by: Node) -> Node:
    if isinstance(node, Apply):
        arguments = tuple(_substituted(item, name, by) for item in node.arguments)
        return Apply(node.head, arguments)
    return by if node == Variable(name) else node


_EDITS = (
    _replace_token,
    _wrap,
    _replace_subexpression,
    _delete,
    _add_term,
    _add_line,
    _remove_line,
)
