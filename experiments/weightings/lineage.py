"""The weight that LoongFlow's agents give: it grows along a lineage."""

from __future__ import annotations

from dataclasses import dataclass

import memory
from memory import real, within


@dataclass(frozen=True, slots=True)
class Lineage:
    """The parent's weight, plus the gain over the parent, plus the score itself.

        w = w_parent + factor (score - score_parent) (1 - progress) + factor score

    A negative weight becomes ``floor``; so does that of a solution without a parent. The
    weight grows without bound with the depth of a lineage, which is why the depth, not the
    temperature, drives LoongFlow's selection late in a run.

    Args:
        factor: Factor of gain and score, not negative.
        floor: Weight of a root, and of whoever would weigh less than nothing, in
            ``[0, 1]``.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: A parameter is out of range.

    References:
        LoongFlow's summary agents, revision 3c1edc12.
    """

    factor: float = 3.0
    floor: float = 0.05

    def __post_init__(self) -> None:
        if real("factor", self.factor) < 0.0:
            raise ValueError(f"factor must not be negative, got {self.factor}")
        within("floor", self.floor, 0.0, 1.0)

    def weight(
        self, parent: memory.Solution | None, score: float, progress: float
    ) -> float:
        """Returns the weight of a child of ``parent`` with ``score``.

        Args:
            parent: Its first parent, ``None`` for a root.
            score: Its score.
            progress: Share of the budget that is spent, in ``[0, 1]``.
        """
        if parent is None or parent.score is None:
            return self.floor
        gain = (score - parent.score) * (1.0 - progress)
        weight = parent.weight + self.factor * (gain + score)
        return self.floor if weight < 0.0 else weight
