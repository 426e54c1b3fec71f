"""Facts, and the talk around them: what the tasks of the graded memory are made of.

A fact gives a value to an attribute of an entity, such as "The port of Zelora is 4711-kip".
Values stand nowhere else, so whether a text holds a fact is whether it holds its value.
Everything is drawn by ``rng.random()``, so that it does not depend on NumPy's version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from memory.graded.contracts import CompressionFailed
from memory.graded.memory import GradedMemory

_T = TypeVar("_T")

_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
_VOWELS = ("a", "e", "i", "o", "u")

#: Attributes, each with what somebody says who does not remember its name.
ATTRIBUTES: tuple[tuple[str, str], ...] = (
    ("launch code", "number that starts"),
    ("meeting room", "place where we meet about"),
    ("deadline", "day on which we must be done with"),
    ("budget", "money that was set aside for"),
    ("contact", "person to call about"),
    ("port", "socket that listens for"),
    ("supplier", "company that delivers"),
    ("colour", "paint that was chosen for"),
    ("licence", "permission that covers"),
    ("backup", "copy that is kept of"),
)

_FACTS = (
    "The {attribute} of {entity} is {value}.",
    "{entity} has {value} as its {attribute}.",
    "For {entity}, the {attribute} was set to {value}.",
)

_OPENINGS = (
    *("We should", "They wanted to", "Nobody had time to", "Somebody asked us to"),
    *("It was easy to", "Yesterday they had to", "Next week we will", "I forgot to"),
)
_ACTIONS = (
    *("check the schedule", "clean the kitchen", "read the notes", "order new chairs"),
    *("write the summary", "move the boxes", "test the printer", "plan the trip"),
    *("update the list", "water the plants", "book the train", "sort the letters"),
)
_ENDINGS = (
    *("before lunch", "after the call", "with the new team", "in the other building"),
    *("as soon as it rains less", "without any hurry", "because of the holidays"),
    *("for the third time", "and then go home", "although it was late"),
)


class Fact(NamedTuple):
    """A value of an attribute of an entity.

    Attributes:
        entity: Name of the entity.
        attribute: Index into ``ATTRIBUTES``.
        value: The value, which no other fact of a conversation has.
    """

    entity: str
    attribute: int
    value: str

    def stated(self, rng: np.random.Generator) -> str:
        """Returns a sentence that states it."""
        name, _ = ATTRIBUTES[self.attribute]
        return one_of(_FACTS, rng).format(
            attribute=name, entity=self.entity, value=self.value
        )

    def asked(self, *, paraphrased: bool = False) -> str:
        """Returns the question for it, by the name of the attribute or around it."""
        name, other = ATTRIBUTES[self.attribute]
        if paraphrased:
            return f"Which is the {other} {self.entity}?"
        return f"What is the {name} of {self.entity}?"


def one_of(choices: Sequence[_T], rng: np.random.Generator) -> _T:
    """Returns one of ``choices``, each as likely."""
    return choices[int(rng.random() * len(choices))]


def shuffled(items: Sequence[_T], rng: np.random.Generator) -> list[_T]:
    """Returns ``items`` in a random order."""
    keys = rng.random(len(items))
    return [items[int(place)] for place in np.argsort(keys, kind="stable")]


def name(rng: np.random.Generator, syllables: int = 3) -> str:
    """Returns a word that nobody has said before, such as Zelora, with a capital."""
    parts = [one_of(_ONSETS, rng) + one_of(_VOWELS, rng) for _ in range(syllables)]
    return "".join(parts).capitalize()


def names(n: int, rng: np.random.Generator) -> list[str]:
    """Returns ``n`` different names."""
    found: dict[str, None] = {}
    while len(found) < n:
        found[name(rng)] = None
    return list(found)


def value(place: int, rng: np.random.Generator) -> str:
    """Returns the value of fact number ``place`` of a conversation, like no other's."""
    return f"{1000 + place}{name(rng, 2).lower()}"


def chatter(
    rng: np.random.Generator, sentences: int = 1, *, varied: bool = False
) -> str:
    """Returns sentences that state nothing anybody asks for.

    Args:
        rng: Decides what is said.
        sentences: Number of sentences.
        varied: Whether each speaks of things that no other sentence speaks of; else
            they are all about the same few, and resemble each other.
    """
    speak = _of_new_things if varied else _of_old_things
    return " ".join([speak(rng) for _ in range(sentences)])


def _of_old_things(rng: np.random.Generator) -> str:
    return f"{one_of(_OPENINGS, rng)} {one_of(_ACTIONS, rng)} {one_of(_ENDINGS, rng)}."


def _of_new_things(rng: np.random.Generator) -> str:
    words = [name(rng, 3).lower() for _ in range(6)]
    return f"{words[0].capitalize()} {' '.join(words[1:])}."


def compress_overdue(recollection: GradedMemory) -> None:
    """Compresses what is overdue, here and now; a failure is noted and changes nothing."""
    due = recollection.overdue()
    if due is None:
        return
    try:
        summary = recollection.compressor.compress(due.messages, due.budget_tokens)
        recollection.compressed(due.ids, summary)
    except (CompressionFailed, ValueError) as error:
        recollection.compression_failed(str(error))
