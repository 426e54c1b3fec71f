"""Facts in a long conversation, asked for again and again.

A conversation of many messages states some facts once, among chatter, near misses and
versions that were corrected later. Then the same questions are asked round after round.
A question is answered right where the first of the recalled messages that states its fact,
in any version, is the current one: that is what a reader of the recalled would say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from experiments.contracts import Graded, Played, Speech
from experiments.conversations import (
    ATTRIBUTES,
    Fact,
    chatter,
    compress_overdue,
    names,
    shuffled,
    value,
)
from memory import KeyedRandom, count, flag
from memory.graded.answers import Recalled
from memory.graded.memory import GradedMemory
from memory.graded.messages import assistant, user

_SPEECH = Speech(
    "accuracy",
    "question",
    "the share of questions for which the right message is recalled before any that "
    "contradicts it",
)
_LARGEST_INSTANCE = 2**31


@dataclass(frozen=True, slots=True)
class RecallFacts:
    """Questions for facts that a long conversation states.

    Args:
        n_messages: Messages of the conversation.
        n_facts: Facts that are asked for.
        n_similar: Near misses of each: half another attribute of the same entity, half
            the same attribute of another entity.
        n_stale: Earlier versions of each that the current one corrects.
        sentences: Sentences of chatter in a message, before what it states, if anything.
        paraphrased: Whether questions avoid the name of the attribute.
        size: Messages that are recalled for a question.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A parameter is out of range, or the facts, near misses and versions
            are more than the messages.
    """

    n_messages: int = 200
    n_facts: int = 10
    n_similar: int = 0
    n_stale: int = 0
    sentences: int = 0
    paraphrased: bool = False
    size: int = 3

    def __post_init__(self) -> None:
        for name in ("n_messages", "n_facts", "size"):
            count(name, getattr(self, name), minimum=1)
        for name in ("n_similar", "n_stale", "sentences"):
            count(name, getattr(self, name))
        flag("paraphrased", self.paraphrased)
        stated = self.n_facts * (1 + self.n_similar + self.n_stale)
        if stated > self.n_messages:
            raise ValueError(
                f"n_messages must hold {stated} facts, near misses and versions, got "
                f"{self.n_messages}"
            )

    @property
    def family(self) -> str:
        """Name of the family of tasks."""
        return "recall_facts"

    @property
    def speech(self) -> Speech:
        """How the page speaks of it."""
        return _SPEECH

    def cheap(self) -> RecallFacts:
        """Returns the same with at most five facts among a fifth of the messages."""
        n_facts = min(5, self.n_facts)
        stated = n_facts * (1 + self.n_similar + self.n_stale)
        n_messages = max(stated, self.n_messages // 5)
        return replace(self, n_facts=n_facts, n_messages=n_messages)

    def play(
        self, arm: Graded, instance: int, names: tuple[str | int, ...], budget: int
    ) -> Played:
        """Returns what became of ``budget`` questions, the facts asked for in turn.

        Raises:
            ValueError: ``instance`` is not positive.
        """
        count("instance", instance, 1, _LARGEST_INSTANCE)
        random = KeyedRandom(*names)
        facts, lines = self._conversation(random.generator("instance", instance))
        recollection = GradedMemory(
            arm.settings, recall=arm.recall, compressor=arm.compressor, seed=names
        )
        stated: dict[str, _Line] = {}
        for place, line in enumerate(lines):
            speak = assistant if place % 2 else user
            stated[recollection.add(speak(line.text)).id] = line
            compress_overdue(recollection)
        rights: list[float] = []
        answers: dict[int, tuple[str, ...]] = {}
        same: list[bool] = []
        tokens = 0
        for asking in range(budget):
            which = asking % len(facts)
            question = facts[which].asked(paraphrased=self.paraphrased)
            found = recollection.recall(question, self.size, decision=asking)
            rights.append(_right(which, found, stated))
            tokens += recollection.tokens(one.message for one in found)
            answer = tuple(sorted(one.message.id for one in found))
            if which in answers:
                same.append(answer == answers[which])
            answers[which] = answer
        measures = {"tokens": tokens / budget}
        if same:
            measures["consistency"] = sum(same) / len(same)
        return Played(tuple(rights), measures, recollection.digest())

    def _conversation(self, rng: np.random.Generator) -> tuple[list[Fact], list[_Line]]:
        """Returns the facts that are asked for, and all messages in their order."""
        entities = names(self.n_facts * (1 + self.n_similar), rng)
        facts: list[Fact] = []
        lines: list[_Line] = []
        for which in range(self.n_facts):
            attribute = which % len(ATTRIBUTES)
            versions = [
                Fact(entities[which], attribute, value(len(lines) + version, rng))
                for version in range(1 + self.n_stale)
            ]
            facts.append(versions[-1])
            lines += [
                _Line(fact.stated(rng), which, fact is versions[-1])
                for fact in versions
            ]
            for near in range(self.n_similar):
                other = self.n_facts + which * self.n_similar + near
                miss = (
                    Fact(entities[other], attribute, value(len(lines), rng))
                    if near % 2
                    else Fact(
                        entities[which],
                        (attribute + 1 + near // 2) % len(ATTRIBUTES),
                        value(len(lines), rng),
                    )
                )
                lines.append(_Line(miss.stated(rng)))
        lines += [_Line("")] * (self.n_messages - len(lines))
        return facts, [self._said(line, rng) for line in _in_order(lines, rng)]

    def _said(self, line: _Line, rng: np.random.Generator) -> _Line:
        """Returns a line with its chatter; one that states nothing is all chatter."""
        around = chatter(rng, max(self.sentences, 0 if line.text else 1))
        return line._replace(text=f"{around} {line.text}".strip())


class _Line(NamedTuple):
    """A message.

    Attributes:
        text: What it says.
        which: The fact that it states in any version; ``None`` if it states none that is
            asked for.
        current: Whether that version is the current one.
    """

    text: str
    which: int | None = None
    current: bool = False


def _in_order(lines: Sequence[_Line], rng: np.random.Generator) -> list[_Line]:
    """Returns lines in a random order, but the current version of a fact its last."""
    order = shuffled(lines, rng)
    last: dict[int, int] = {}
    for place, line in enumerate(order):
        if line.which is not None:
            last[line.which] = place
    for place, line in enumerate(order):
        if line.which is not None and line.current:
            end = last[line.which]
            order[place], order[end] = order[end], order[place]
            # The one that took its place is an older version, and is done with.
            last[line.which] = place if end == place else end
    return order


def _right(which: int, found: Sequence[Recalled], stated: dict[str, _Line]) -> float:
    """Returns whether the first that states fact ``which`` is its current version."""
    for one in found:
        line = stated.get(one.message.id)
        if line is not None and line.which == which:
            return float(line.current)
    return 0.0
