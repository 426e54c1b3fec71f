"""The newest text that fits: the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from memory.graded.contracts import CompressionFailed, TokenCounter, required
from memory.graded.messages import Message
from memory.graded.tokens.estimate import Estimate
from memory.graded.transcript import line
from memory.records import count

_CUT = "… "


@dataclass(frozen=True, slots=True)
class Truncation:
    """Keeps the end of the conversation and drops the rest.

    Args:
        counter: Counts the tokens of the summary.

    Raises:
        TypeError: ``counter`` is no counter.
    """

    counter: TokenCounter = field(default_factory=Estimate)

    compresses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        required("counter", self.counter, "text")

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        """Returns the longest end of the conversation within ``budget_tokens``.

        Raises:
            CompressionFailed: Not even one character fits.
            TypeError: ``budget_tokens`` is not an integer.
            ValueError: ``budget_tokens`` is not positive.
        """
        count("budget_tokens", budget_tokens, minimum=1)
        whole = "\n".join([line(message) for message in messages])
        if self.counter.text(whole) <= budget_tokens:
            return whole
        kept = self._longest_end(whole, budget_tokens)
        if not kept.strip():
            raise CompressionFailed(
                f"budget_tokens must hold at least one character, got {budget_tokens}"
            )
        return _CUT + kept

    def _longest_end(self, whole: str, budget_tokens: int) -> str:
        low, high = 0, len(whole)
        while low < high:
            middle = (low + high + 1) // 2
            if self.counter.text(_CUT + whole[-middle:]) <= budget_tokens:
                low = middle
            else:
                high = middle - 1
        return whole[len(whole) - low :]
