"""The search through the tiers: an index that follows them, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memory.graded.contracts import Index
from memory.graded.lexical import Lexical
from memory.graded.messages import Message
from memory.graded.recall import Reason, Recall, Recallable
from memory.graded.tiers import Tier, Tiers

_TIERS = tuple(Tier)


class Found(NamedTuple):
    """The id of a message, the tier that it is in, and why it was found."""

    id: str
    tier: Tier
    reason: Reason


class Searcher:
    """Finds messages in tiers by their texts.

    Args:
        messages: Returns the messages of ids; asked once for each that enters a tier.
        index: An empty index; one by BM25 if ``None``.
    """

    def __init__(
        self,
        messages: Callable[[Sequence[str]], list[Message]],
        index: Index | None = None,
    ) -> None:
        self._messages = messages
        self._index: Index = Lexical() if index is None else index
        self._indexed: dict[str, None] = {}

    def find(
        self,
        tiers: Tiers,
        question: str,
        size: int,
        policy: Recall,
        rng: np.random.Generator,
    ) -> list[Found]:
        """Returns at most ``size`` messages that ``policy`` recalls to ``question``."""
        self._follow(tiers)
        names, relevance = self._index.scores(question)
        where = [_TIERS.index(tiers.tier(name) or Tier.SHORT) for name in names]
        orders = np.array([tiers.place(name).order for name in names], dtype=np.int64)
        oldest_first = np.argsort(orders, kind="stable")
        candidates = Recallable(
            relevance[oldest_first],
            tiers.order - 1 - orders[oldest_first],
            np.array(where, dtype=np.int64)[oldest_first],
        )
        found: list[Found] = []
        for choice in policy.choose(candidates, size, rng):
            place = int(oldest_first[choice.place])
            found.append(Found(names[place], _TIERS[where[place]], choice.reason))
        return found

    def _follow(self, tiers: Tiers) -> None:
        """Brings the index up to what is in ``tiers``."""
        living = dict.fromkeys(id_ for tier in Tier for id_ in tiers.ids(tier))
        for id_ in self._indexed:
            if id_ not in living:
                self._index.drop(id_)
        new = [id_ for id_ in living if id_ not in self._indexed]
        for message in self._messages(new):
            self._index.put(message.id, message.text)
        self._indexed = living


def deep(texts: Mapping[str, str], question: str, limit: int) -> dict[str, Reason]:
    """Returns at most ``limit`` of the texts that share words with a question.

    Args:
        texts: The texts by id, whether in a tier or not.
        question: The question in words.
        limit: Most texts that are wanted.

    Returns:
        Why each was found, the best first; of equal ones the later of ``texts``.
    """
    index = Lexical()
    for id_, text in texts.items():
        index.put(id_, text)
    names, scores = index.scores(question)
    places = np.flatnonzero(scores > 0.0)
    order = places[np.lexsort((-places, -scores[places]))][:limit]
    return {
        names[place]: Reason(share, share, 0.0, 0.0)
        for place in order
        for share in [float(scores[place] / scores[order[0]])]
    }
