"""The sentences that the others resemble: TextRank, without a model.

Each sentence is a node; two are joined by the words they share, over the logarithms of
their lengths; the stationary distribution of a random surfer on this graph ranks them
(Mihalcea and Tarau 2004, "TextRank: Bringing Order into Texts", EMNLP). The best that fit
are kept, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from memory.graded.contracts import CompressionFailed, TokenCounter, required
from memory.graded.messages import Message, readable
from memory.graded.tokens.estimate import Estimate
from memory.graded.transcript import speaker
from memory.graded.words import words
from memory.policies import Floats
from memory.records import count, within

# A full stop ends a sentence only before a space, so that 3.14 and a.b() stay whole.
_ENDS = re.compile("(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_ITERATIONS = 100
_TOLERANCE = 1e-9
#: Words that are compared at once.
_WORDS_AT_ONCE = 2_048


class Sentence(NamedTuple):
    """A sentence and who said it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Extractive:
    """Keeps the most central sentences; deterministic.

    Args:
        damping: Probability that the surfer follows a link, in ``[0, 1]``.
        block_sentences: Sentences that are compared with each other, at least two: a
            longer conversation is ranked block by block. Time and memory grow with its
            square, memory not with the number of words.
        counter: Counts the tokens of the summary.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A parameter lies outside its range.
    """

    damping: float = 0.85
    block_sentences: int = 500
    counter: TokenCounter = field(default_factory=Estimate)

    compresses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        within("damping", self.damping, 0.0, 1.0)
        count("block_sentences", self.block_sentences, minimum=2)
        required("counter", self.counter, "text")

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        """Returns the best sentences within ``budget_tokens``, in their order.

        Raises:
            CompressionFailed: There is no sentence, or not even one fits.
            TypeError: ``budget_tokens`` is not an integer.
            ValueError: ``budget_tokens`` is not positive.
        """
        count("budget_tokens", budget_tokens, minimum=1)
        found = sentences(messages)
        ranks = self.ranks([words(sentence.text) for sentence in found])
        # Stable: of equal ranks the earlier sentence comes first.
        order = np.argsort(-ranks, kind="stable").tolist()
        chosen = self._fitting(found, order, budget_tokens)
        while chosen:
            summary = written([found[index] for index in sorted(chosen)])
            if self.counter.text(summary) <= budget_tokens:
                return summary
            chosen.pop()
        raise CompressionFailed(
            f"budget_tokens must hold at least one sentence, got {budget_tokens} for "
            f"{len(found)} sentences"
        )

    def ranks(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """Returns the ``(n,)`` centralities of sentences given by their words.

        They sum to the size of the block in each block.
        """
        size = self.block_sentences
        blocks = [
            _centrality(sentences[start : start + size], self.damping)
            for start in range(0, len(sentences), size)
        ]
        return np.concatenate([np.zeros(0), *blocks])

    def _fitting(
        self, found: Sequence[Sentence], order: Sequence[int], budget_tokens: int
    ) -> list[int]:
        """Returns the indices of sentences that fit, the best first."""
        chosen: list[int] = []
        left = budget_tokens
        for index in order:
            cost = self.counter.text(written([found[index]]))
            if cost <= left:
                chosen.append(index)
                left -= cost
        return chosen


def sentences(messages: Sequence[Message]) -> list[Sentence]:
    """Returns the different sentences of ``messages`` in their order."""
    found: dict[Sentence, None] = {}
    for message in messages:
        who = speaker(message)
        for text in _ENDS.split(readable(message.elements)):
            if words(text):
                found[Sentence(who, text.strip())] = None
    return list(found)


def written(sentences: Sequence[Sentence]) -> str:
    """Returns ``sentences`` as lines, neighbours of one speaker on one line."""
    lines: list[str] = []
    last = None
    for who, text in sentences:
        if who == last:
            lines[-1] += f" {text}"
        else:
            lines.append(f"{who}: {text}")
        last = who
    return "\n".join(lines)


def _centrality(sentences: Sequence[Sequence[str]], damping: float) -> Floats:
    """Returns the ``(n,)`` PageRank of sentences given by their words; they sum to n."""
    n = len(sentences)
    similarity = _similarity(sentences)
    totals = similarity.sum(axis=1)
    # A sentence that resembles no other is left by a random jump, like a dangling page.
    lonely = totals == 0.0
    links = similarity / np.where(lonely, 1.0, totals)[:, np.newaxis]
    ranks = np.ones(n)
    for _ in range(_ITERATIONS):
        jumps = (1.0 - damping) + damping * ranks[lonely].sum() / n
        following = jumps + damping * (ranks @ links)
        converged = np.abs(following - ranks).max() < _TOLERANCE
        ranks = following
        if converged:
            break
    return ranks


def _similarity(sentences: Sequence[Sequence[str]]) -> Floats:
    """Returns ``(n, n)`` shared words over log-lengths; zero to itself."""
    holders: dict[str, list[int]] = {}
    lengths = np.zeros(len(sentences))
    for row, sentence in enumerate(sentences):
        different = dict.fromkeys(sentence)
        lengths[row] = len(different)
        for word in different:
            holders.setdefault(word, []).append(row)
    # A word of one sentence alone is shared with none.
    common = [rows for rows in holders.values() if len(rows) > 1]
    shared = np.zeros((len(sentences), len(sentences)))
    for start in range(0, len(common), _WORDS_AT_ONCE):
        some = common[start : start + _WORDS_AT_ONCE]
        held = np.zeros((len(sentences), len(some)))
        for column, rows in enumerate(some):
            held[rows, column] = 1.0
        shared += held @ held.T
    np.fill_diagonal(shared, 0.0)
    logarithms = np.log(np.maximum(lengths, 1.0))
    # Two sentences of one word each have no length by this measure; one is added.
    similarity: Floats = shared / (1.0 + logarithms[:, np.newaxis] + logarithms)
    return similarity
