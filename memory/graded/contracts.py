"""The contracts of the graded memory's policies, and what they raise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.graded.messages import Message
from memory.policies import Floats


class CompressionFailed(RuntimeError):
    """No summary came out; nothing has changed. The message says why, without secrets."""


def required(name: str, policy: object, *methods: str) -> None:
    """Checks that ``policy`` is an object, not a class, with these methods.

    Raises:
        TypeError: It is not; the message names ``name`` and the first one it lacks.
    """
    for method in methods:
        if isinstance(policy, type) or not callable(getattr(policy, method, None)):
            raise TypeError(
                f"{name} must be a policy with the method {method}, got {policy!r}"
            )


class TokenCounter(Protocol):
    """A count, or an estimate, of a model's tokens. Frozen: its fields describe it."""

    def text(self, text: str) -> int:
        """Returns the tokens of ``text`` alone, not negative."""

    def count(self, message: Message) -> int:
        """Returns the tokens of ``message`` in a request, at least one."""


class Compressor(Protocol):
    """A way from many messages to one text.

    It may take its time and may fail; the memory that it works for stays open meanwhile.
    """

    @property
    def compresses(self) -> bool:
        """Whether it ever compresses; where it does not, nothing is overdue."""

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        """Returns a summary of ``messages``, at least one, the oldest first.

        Args:
            messages: What to compress.
            budget_tokens: Most tokens of the summary, positive.

        Raises:
            CompressionFailed: There is no summary that fits, or none at all.
        """


class Index(Protocol):
    """Texts that can be searched, each known by a name."""

    def put(self, name: str, text: str) -> None:
        """Adds a text, or replaces the one of that name."""

    def drop(self, name: str) -> None:
        """Forgets a text; an unknown name changes nothing."""

    def scores(self, question: str) -> tuple[tuple[str, ...], Floats]:
        """Returns names, oldest first, and ``(n,)`` finite relevances, not negative."""
