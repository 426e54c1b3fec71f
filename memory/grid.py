"""The MAP-Elites grid: descriptors cut into bins, bins into cells.

References:
    Mouret and Clune 2015, "Illuminating search spaces by mapping elites".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory.policies import Bounds, Descriptor
from memory.records import real

#: Indices of cells are words of 64 bits.
_MOST_CELLS = 2**62


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a grid: what is measured, and where its bins lie.

    Args:
        descriptor: The number that the writer computes of each solution.
        bounds: The bins, known before any solution arrives.

    Raises:
        TypeError: ``descriptor`` or ``bounds`` lacks a method of its contract.
    """

    descriptor: Descriptor
    bounds: Bounds

    def __post_init__(self) -> None:
        for name, method in (("descriptor", "value"), ("bounds", "bin")):
            policy = getattr(self, name)
            if isinstance(policy, type) or not callable(getattr(policy, method, None)):
                raise TypeError(
                    f"{name} must be a policy with a method {method}, got {policy!r}"
                )


def n_cells(axes: Sequence[Axis]) -> int:
    """Returns the number of cells of a grid; one if it has no axis.

    Raises:
        ValueError: There are more than 2^62.
    """
    number = math.prod(axis.bounds.n_bins for axis in axes)
    if number > _MOST_CELLS:
        raise ValueError(f"cells must be at most 2^62 in number, got {number}")
    return number


def descriptors(axes: Sequence[Axis], text: str, score: float) -> tuple[float, ...]:
    """Returns one number per axis, for a solution.

    Raises:
        TypeError: A descriptor gave no number.
        ValueError: A descriptor gave one that is not finite.
    """
    return tuple(
        [
            real(
                f"the descriptor {type(axis.descriptor).__name__} of axis {index}",
                axis.descriptor.value(text, score),
            )
            for index, axis in enumerate(axes)
        ]
    )


def cell(axes: Sequence[Axis], values: Sequence[float]) -> int:
    """Returns the index of a cell, its last axis counting fastest.

    Raises:
        ValueError: There are not as many values as axes, or a bin lies outside its axis.
    """
    if len(values) != len(axes):
        raise ValueError(
            f"descriptors must be {len(axes)} numbers, one per axis, got {len(values)}"
        )
    index = 0
    for axis, value in zip(axes, values, strict=True):
        n_bins, bin_ = axis.bounds.n_bins, axis.bounds.bin(value)
        if not 0 <= bin_ < n_bins:
            raise ValueError(
                f"{type(axis.bounds).__name__} must give a bin in [0, {n_bins}), got "
                f"{bin_!r}"
            )
        index = index * n_bins + int(bin_)
    return index
