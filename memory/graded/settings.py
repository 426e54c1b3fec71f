"""The configuration of a graded memory, which all who share it share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.graded.contracts import TokenCounter, required
from memory.graded.tokens.estimate import Estimate
from memory.policies import Retention
from memory.records import count, positive, within
from memory.retention.keep_all import KeepAll
from memory.settings import description


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSettings:
    """When messages are compressed, which of them, and how long originals are kept.

    Args:
        threshold_tokens: Tokens of the short and medium-term tier above which messages
            are overdue for compression.
        recent_share: Share of the threshold that the newest messages keep verbatim.
        summary_share: Share of the threshold that one summary may take.
        medium_share: Share of the threshold that summaries may take together; above it,
            they are compressed once more along with the messages.
        largest_input_share: Most tokens that are compressed at once, as a multiple of the
            threshold, positive: after a long time without a summary, what is overdue is
            compressed in several parts, the oldest first.
        long_share: Share of a context's budget that the long-term tier has for itself.
        backoff_messages: After a failure, messages that must come before the next
            attempt; doubled by each further failure in a row.
        largest_backoff_messages: Where the doubling ends.
        counter: Counts the tokens of messages.
        retention: How long what is in no tier any more is kept.

    Raises:
        TypeError: A parameter has the wrong type, or a policy lacks its methods.
        ValueError: A parameter lies outside its range, or the shares leave nothing to
            compress.
    """

    threshold_tokens: int = 65_536
    recent_share: float = 0.25
    summary_share: float = 0.1
    medium_share: float = 0.25
    largest_input_share: float = 2.0
    long_share: float = 0.25
    backoff_messages: int = 8
    largest_backoff_messages: int = 1_024
    counter: TokenCounter = field(default_factory=Estimate)
    retention: Retention = field(default_factory=KeepAll)

    def __post_init__(self) -> None:
        count("threshold_tokens", self.threshold_tokens, minimum=1)
        total = 0.0
        for name in ("recent_share", "summary_share", "medium_share"):
            total += within(name, getattr(self, name), 0.0, 1.0)
        if total >= 1.0:
            raise ValueError(
                "recent_share, summary_share and medium_share must add up to less than "
                f"1, got {total!r}"
            )
        if self.summary_tokens < 1:
            raise ValueError(
                "summary_share must leave a summary at least one token, got "
                f"{self.summary_share!r} of {self.threshold_tokens}"
            )
        within("long_share", self.long_share, 0.0, 1.0)
        positive("largest_input_share", self.largest_input_share)
        count("backoff_messages", self.backoff_messages, minimum=1)
        count(
            "largest_backoff_messages",
            self.largest_backoff_messages,
            minimum=self.backoff_messages,
        )
        required("counter", self.counter, "text", "count")
        required("retention", self.retention, "forgets")
        if not isinstance(getattr(self.retention, "keeps_all", None), bool):
            raise TypeError(
                "retention must be a policy that says whether it keeps_all, got "
                f"{self.retention!r}"
            )

    @property
    def recent_tokens(self) -> int:
        """Tokens that the newest messages keep verbatim."""
        return int(self.recent_share * self.threshold_tokens)

    @property
    def summary_tokens(self) -> int:
        """Tokens that one summary may take."""
        return int(self.summary_share * self.threshold_tokens)

    @property
    def medium_tokens(self) -> int:
        """Tokens that summaries may take together."""
        return int(self.medium_share * self.threshold_tokens)

    @property
    def input_tokens(self) -> int:
        """Most tokens that are compressed at once."""
        return int(self.largest_input_share * self.threshold_tokens)

    def backoff(self, failures: int) -> int:
        """Returns the messages to wait for after so many failures in a row."""
        if failures == 0:
            return 0
        # Beyond 64 doublings every bound has long been reached.
        doubled = self.backoff_messages << min(failures - 1, 64)
        return min(doubled, self.largest_backoff_messages)

    def described(self) -> Mapping[str, Any]:
        """Returns the configuration as plain data.

        A counter that has a ``described`` of its own says itself what decides its counts,
        which need not be where its file lies.
        """
        described: dict[str, Any] = description(self)
        own = getattr(self.counter, "described", None)
        if callable(own):
            described["counter"] = description(own(), "counter")
        return described
