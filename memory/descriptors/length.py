"""The length of a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Length:
    """Number of characters (code points) of the text."""

    def value(self, text: str, score: float) -> float:
        """Returns the length of ``text``, in characters."""
        return float(len(text))
