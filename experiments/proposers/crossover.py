"""Recombination of two parents, then mutation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from experiments.contracts import Proposer
from experiments.proposers.bit_flip import BitFlip
from memory import within


@dataclass(frozen=True, slots=True)
class Crossover:
    """Crosses two texts and lets another proposer mutate the child.

    Texts of one line are crossed by character, others by line. Where both have equally
    many, each comes from either parent with probability one half (uniform crossover,
    Syswerda 1989, "Uniform crossover in genetic algorithms", ICGA 3); where not, the
    head of the first parent is joined to the tail of the second at one cut, which falls
    after each place that both have with equal probability.

    Where the caller has only one parent to give, it is mutated alone. The mutation is
    what keeps a search of equal parents moving.

    Args:
        mutation: Proposer of one parent that changes the child; its own
            ``failure_rate`` is not read.
        failure_rate: Probability that a proposal fails, in ``[0, 1]``; the caller
            draws it.

    Raises:
        TypeError: ``mutation`` is no proposer, or ``failure_rate`` no real number.
        ValueError: ``mutation`` wants another number of parents than one, or
            ``failure_rate`` lies outside ``[0, 1]``.
    """

    mutation: Proposer = field(default_factory=BitFlip)
    failure_rate: float = 0.0

    n_parents: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not callable(getattr(self.mutation, "propose", None)):
            raise TypeError(f"mutation must be a proposer, got {self.mutation!r}")
        if self.mutation.n_parents != 1:
            raise ValueError(
                "mutation must be a proposer of one parent, got one of "
                f"{self.mutation.n_parents}"
            )
        within("failure_rate", self.failure_rate, 0.0, 1.0)

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns the mutated child of one or two parents.

        Args:
            parents: One or two texts that ``mutation`` can read.
            rng: Source of one number per character or line, or of one for the cut; then
                of what ``mutation`` draws.

        Raises:
            ValueError: ``parents`` holds no text, more than two, or one that
                ``mutation`` refuses.
        """
        if len(parents) not in (1, 2):
            raise ValueError(f"parents must be one or two texts, got {len(parents)}")
        child = _crossed(parents[0], parents[-1], rng) if parents[1:] else parents[0]
        return self.mutation.propose((child,), rng)


def _crossed(first: str, second: str, rng: np.random.Generator) -> str:
    if "\n" in first or "\n" in second:
        return "\n".join(_joined(first.split("\n"), second.split("\n"), rng))
    return "".join(_joined(first, second, rng))


def _joined(
    first: Sequence[str], second: Sequence[str], rng: np.random.Generator
) -> list[str]:
    if len(first) == len(second):
        ours = (rng.random(len(first)) < 0.5).tolist()
        return [a if own else b for own, a, b in zip(ours, first, second, strict=True)]
    cut = 1 + int(rng.random() * min(len(first), len(second)))
    return [*first[:cut], *second[cut:]]
