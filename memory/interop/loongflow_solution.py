"""LoongFlow's record of a solution: its fields, its defaults, its dictionaries."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


class Unset(int):
    """A number that was not given; it is equal to the default that it stands for.

    LoongFlow takes island 0 and iteration 0 for not given, so that neither can be asked
    for. Here ``Solution()`` and ``Solution(island_id=0)`` are equal and not the same.
    """

    __slots__ = ()


_UNSET = Unset(0)


def plain(value: object) -> Any:  # noqa: ANN401
    """Returns ``value`` without what JSON lacks, as LoongFlow writes it.

    NaN and infinity become ``None``, arrays lists, and numbers of NumPy plain ones.
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple([plain(item) for item in value])
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if isinstance(value, Unset) else value


@dataclass
class Solution:
    """A solution as LoongFlow's agents make and read it.

    What a memory returns is a copy: changing it changes nothing that is remembered.

    Args:
        solution: The text.
        solution_id: Unique name; the memory makes one where it is empty.
        generate_plan: The plan that led to it.
        parent_id: Id of what it was made from.
        island_id: Island; where it was not given or is ``None``, the memory decides.
        iteration: Iteration of the run; where it was not given, one more than the last.
        timestamp: When it was made, in seconds; now by default.
        generation: Length of its lineage.
        sample_cnt: How many children were made of it, by the agents' own count.
        sample_weight: Multiplier of the probability of selection; 0 means not given.
        score: Quality, higher is better; ``None`` where it failed.
        evaluation: What the evaluator said.
        summary: What was learned.
        metadata: Facts of the user's own, as JSON can hold them.
    """

    #: What tells the time for those made without a ``timestamp``; may be replaced.
    clock: ClassVar[Callable[[], float]] = staticmethod(time.time)

    solution: str = ""
    solution_id: str = ""
    generate_plan: str = ""
    parent_id: str | None = ""
    island_id: int | None = _UNSET
    iteration: int | None = _UNSET
    timestamp: float = field(default_factory=lambda: Solution.clock())
    generation: int = 0
    sample_cnt: int = 0
    sample_weight: float = 0.0
    score: float | None = 0.0
    evaluation: str | None = ""
    summary: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> Solution:
        """Returns a copy, its metadata a dictionary of its own."""
        return dataclasses.replace(self, metadata=_deep(self.metadata))

    def update(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Sets fields: of a dictionary all, of a ``Solution`` those that are not ``None``.

        Raises:
            TypeError: An argument is neither a dictionary nor a ``Solution``.
            ValueError: A name is none of a field; then nothing is changed.
        """
        changes: dict[str, Any] = {}
        for argument in args:
            if isinstance(argument, Solution):
                fields = {name: getattr(argument, name) for name in FIELDS}
                changes |= {k: v for k, v in fields.items() if v is not None}
            elif isinstance(argument, Mapping):
                changes |= argument
            else:
                raise TypeError(
                    f"update takes dictionaries and Solutions, got {argument!r}"
                )
        changes |= kwargs
        unknown = [name for name in changes if name not in FIELDS]
        if unknown:
            raise ValueError(f"update sets {', '.join(FIELDS)}, got {unknown[0]!r}")
        for name, value in changes.items():
            setattr(self, name, _deep(value))

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain data; NaN and infinity become ``None``."""
        return {name: plain(_deep(getattr(self, name))) for name in FIELDS}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Solution:
        """Returns the solution of a dictionary; what it lacks is at its default.

        Unknown names are dropped, an island that is no number becomes ``None``, and what
        is no dictionary gives a solution of defaults, as in LoongFlow.
        """
        if not isinstance(data, Mapping):
            return Solution()
        known = {name: _deep(data[name]) for name in FIELDS if name in data}
        if "island_id" in known and not isinstance(known["island_id"], Unset):
            known["island_id"] = _island(known["island_id"])
        return Solution(**known)


FIELDS = tuple(one.name for one in dataclasses.fields(Solution))


def _deep(value: Any) -> Any:  # noqa: ANN401
    """Returns a copy of dictionaries and lists, and of what is in them."""
    if isinstance(value, Mapping):
        return {key: _deep(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_deep(item) for item in value]
    if isinstance(value, tuple):
        return tuple([_deep(item) for item in value])
    return value


def _island(value: object) -> int | None:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return None
