"""Selection over the cells of a MAP-Elites grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.draws import checked_temperature, eligible, exponent, inverse
from memory.policies import Floats, Integers, Pick, View
from memory.records import flag


@dataclass(frozen=True, slots=True)
class Cells:
    """Draws a cell uniformly, then inside it with Boltzmann's probabilities.

    The law over the ``k`` cells in which somebody is eligible, that is of positive weight,
    is

        p = softmax within the cell (score / T + power * log w) / k.

    So a crowded cell gives no more parents than one that holds a single poor solution. As
    the temperature falls to zero the best of each cell are left.

    Args:
        power: Exponent of the weights, in ``[0, 1e300]``.
        champions_only: Whether only the champions of the cells are eligible.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: ``power`` lies outside its range.

    References:
        Mouret and Clune 2015, "Illuminating search spaces by mapping elites",
        arXiv:1504.04909, which draws uniformly over the champions.
    """

    power: float = 1.0
    champions_only: bool = False

    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", exponent("power", self.power))
        flag("champions_only", self.champions_only)

    def probabilities(self, view: View, temperature: float) -> Floats:
        """Returns the ``(n,)`` probabilities of selection; they sum to one.

        Args:
            view: The living and their cells, at least one with a positive weight.
            temperature: Positive temperature, in units of scaled score.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed or has no cells, or nobody is eligible.
        """
        temperature = checked_temperature(temperature)
        scores, weights, places = eligible(view)
        n = view.scores.size
        cells, champions = view.cells, view.champions
        if cells is None or champions is None:
            raise ValueError("cells must be known: Cells needs a grid, got None")
        if cells.size != n or champions.size != n:
            raise ValueError(
                f"view must hold {n} cells and champions, one of each per score, got "
                f"{cells.size} and {champions.size}"
            )
        kept = np.arange(n) if places is None else places
        if self.champions_only:
            chosen = champions[kept]
            if not chosen.any():
                raise ValueError(
                    "at least one champion must have a positive weight, got none"
                )
            scores, weights, kept = scores[chosen], weights[chosen], kept[chosen]
        full = np.zeros(n)
        full[kept] = _law(scores, weights, cells[kept], temperature, self.power)
        return full

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns a parent drawn from ``probabilities`` with one uniform number.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed or has no cells, or nobody is eligible.
        """
        law = self.probabilities(view, temperature)
        u = rng.random()
        return Pick(inverse(law, u), False, u)


def _law(
    scores: Floats, weights: Floats, cells: Integers, temperature: float, power: float
) -> Floats:
    """Returns the ``(m,)`` probabilities of ``m`` eligible solutions."""
    # Cell by cell, so that each is a block that starts where the number changes.
    order = np.argsort(cells, kind="stable")
    changes = np.flatnonzero(np.diff(cells[order])) + 1
    starts = np.concatenate([[0], changes])
    sizes = np.diff(np.append(starts, cells.size))

    def highest(values: Floats) -> Floats:
        """Returns for each value the highest one in its cell."""
        return np.maximum.reduceat(values, starts).repeat(sizes)

    ordered = scores[order]
    # A spread or a quotient beyond the floats is minus infinity, whose factor is zero.
    with np.errstate(over="ignore"):
        exponents = (ordered - highest(ordered)) / temperature
        exponents += power * np.log(weights[order])
        exponents -= highest(exponents)
    factors = np.exp(exponents)
    law = np.empty(cells.size)
    law[order] = factors / np.add.reduceat(factors, starts).repeat(sizes) / starts.size
    return law
