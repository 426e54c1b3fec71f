"""No compression: what does not fit into the context is left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from memory.graded.contracts import CompressionFailed
from memory.graded.messages import Message


@dataclass(frozen=True, slots=True)
class Nothing:
    """Never compresses; nothing is ever overdue for it."""

    compresses: ClassVar[bool] = False

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> NoReturn:
        """Refuses.

        Raises:
            CompressionFailed: Always.
        """
        raise CompressionFailed(
            f"nothing is compressed, by choice, got {len(messages)} messages for "
            f"{budget_tokens} tokens"
        )
