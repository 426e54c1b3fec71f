"""Needles in a conversation that has to be compressed.

Message after message comes in; some of them state a fact, a needle. Whenever the memory is
over its threshold, it is compressed. After each message one of the needles so far is looked
for in the context that a model would be shown: it is kept where its value stands there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.contracts import Graded, Played, Speech
from experiments.conversations import (
    ATTRIBUTES,
    Fact,
    chatter,
    compress_overdue,
    name,
    one_of,
    value,
)
from memory import KeyedRandom, count, flag, within
from memory.graded.memory import GradedMemory
from memory.graded.messages import Draft, ToolCall, assistant, system, tool, user

_SPEECH = Speech(
    "retention",
    "message",
    "the share of probes, one after each message for a needle stated so far, whose needle "
    "stands in the context",
)
_LARGEST_INSTANCE = 2**31
_SYSTEM = "You keep notes for a team and answer their questions."
_TASK = "Keep track of what is said and tell me when I ask."


@dataclass(frozen=True, slots=True)
class Needles:
    """A conversation with needles, probed after each message.

    Args:
        needle_rate: Share of messages that state a needle, positive.
        first_share: Share of the conversation, from its beginning, in which needles come.
        statements: How often a needle is stated, the second time right after the first.
        sentences: Sentences of chatter in a message.
        varied: Whether each sentence of chatter speaks of things of its own; else all
            speak of the same few and resemble each other.
        topical: Whether chatter speaks of the entities that the needles are about.
        tools: Whether what is said comes out of tools.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A parameter is out of range.
    """

    needle_rate: float = 0.1
    first_share: float = 1.0
    statements: int = 1
    sentences: int = 1
    varied: bool = False
    topical: bool = False
    tools: bool = False

    def __post_init__(self) -> None:
        for field in ("needle_rate", "first_share"):
            if within(field, getattr(self, field), 0.0, 1.0) == 0.0:
                raise ValueError(f"{field} must be positive, got 0.0")
        count("statements", self.statements, 1, 10)
        count("sentences", self.sentences, minimum=1)
        for field in ("varied", "topical", "tools"):
            flag(field, getattr(self, field))

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "needles"

    @property
    def speech(self) -> Speech:
        """How the page speaks of it."""
        return _SPEECH

    def cheap(self) -> Needles:
        """Returns the same task: what is cheap about it is its budget."""
        return replace(self)

    def play(
        self, arm: Graded, instance: int, names: tuple[str | int, ...], budget: int
    ) -> Played:
        """Returns what became of ``budget`` messages and the probes after them.

        Raises:
            ValueError: ``instance`` is not positive.
        """
        count("instance", instance, 1, _LARGEST_INSTANCE)
        random = KeyedRandom(*names, instance)
        recollection = GradedMemory(
            arm.settings, recall=arm.recall, compressor=arm.compressor, seed=names
        )
        recollection.extend([system(_SYSTEM), user(_TASK)])
        needles: list[Fact] = []
        left = 0
        rights: list[float] = []
        tokens = 0
        for place in range(budget):
            rng = random.generator("instance", place)
            if left == 0 and self._comes(place, budget, rng):
                needles.append(_needle(len(needles), rng))
                left = self.statements
            text = self._text(needles, left > 0, rng)
            left = max(0, left - 1)
            recollection.extend(self._drafts(text, place))
            compress_overdue(recollection)
            shown = recollection.context()
            tokens += recollection.tokens(shown)
            wanted = one_of(needles, random.generator("ties", place)).value
            rights.append(float(any(wanted in message.text for message in shown)))
        return Played(tuple(rights), {"tokens": tokens / budget}, recollection.digest())

    def _comes(self, place: int, budget: int, rng: np.random.Generator) -> bool:
        """Returns whether a new needle comes at ``place``; the first message has one."""
        if place == 0:
            return True
        return place < self.first_share * budget and rng.random() < self.needle_rate

    def _text(
        self, needles: list[Fact], stating: bool, rng: np.random.Generator
    ) -> str:
        """Returns what a message says, the needle last."""
        said = [chatter(rng, self.sentences, varied=self.varied)]
        if self.topical:
            said.append(f"That was about {one_of(needles, rng).entity}.")
        if stating:
            said.append(needles[-1].stated(rng))
        return " ".join(said)

    def _drafts(self, text: str, place: int) -> list[Draft]:
        """Returns what says ``text``: one message, or a call of a tool and its output."""
        if not self.tools:
            return [(assistant if place % 2 else user)(text)]
        call = f"call-{place}"
        return [
            assistant(ToolCall(call, "read_log", f'{{"line": {place}}}')),
            tool(call, "read_log", text),
        ]


def _needle(place: int, rng: np.random.Generator) -> Fact:
    return Fact(name(rng), int(rng.random() * len(ATTRIBUTES)), value(place, rng))
