"""What the graded memory answers: what is overdue, what was recalled, how it stands."""

from __future__ import annotations

from typing import NamedTuple

from memory.archive import Total
from memory.graded.messages import Message
from memory.graded.recall import Reason
from memory.graded.tiers import Tier


class Overdue(NamedTuple):
    """What is to be compressed now.

    Attributes:
        ids: Ids of the messages, to be handed to ``compressed``.
        messages: The messages, the oldest first.
        budget_tokens: Most tokens of the summary.
    """

    ids: tuple[str, ...]
    messages: tuple[Message, ...]
    budget_tokens: int


class Recalled(NamedTuple):
    """A message that was recalled, where it is, and why."""

    message: Message
    tier: Tier
    reason: Reason


class GradedStatus(NamedTuple):
    """What there is and how compression goes.

    Attributes:
        messages: Number of messages in each tier.
        tokens: Their tokens.
        task: Id of the current task, if there is one.
        question: Id of the newest message of the user, if there is one.
        overdue: Whether there is something to compress now, by a compressor that does.
        open_calls: Number of tool calls without a final output.
        orphans: Ids of outputs whose calls are gone or have not come yet; they are left
            out of the context.
        compressions: Number of summaries made so far.
        void: Number of summaries that came too late: their messages had changed.
        failures: Number of failures of compressors in a row, now.
        all_failures: Number of failures so far.
        last_failure: What the last failure said.
        messages_to_wait: Messages that must be added before the next attempt.
        ledger: Records and bytes that were forgotten, by the rule that said so.
        too_large: Ids of messages that no context of the threshold can hold, so that it
            passes them over.
    """

    messages: dict[Tier, int]
    tokens: dict[Tier, int]
    task: str | None
    question: str | None
    overdue: bool
    open_calls: int
    orphans: tuple[str, ...]
    compressions: int
    void: int
    failures: int
    all_failures: int
    last_failure: str
    messages_to_wait: int
    ledger: dict[str, Total]
    too_large: tuple[str, ...]
