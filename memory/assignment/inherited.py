"""The island of the parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inherited:
    """A child lives where its first parent does; roots go round the islands in turn."""

    def island(self, origin: int | None, sizes: Sequence[int], n_assigned: int) -> int:
        """Returns ``origin``, or for a root ``n_assigned`` modulo the islands."""
        return n_assigned % len(sizes) if origin is None else origin
