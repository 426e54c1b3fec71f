"""Lexical search: Okapi BM25 through the ``bm25s`` library.

Relevance is BM25 in the form of Lucene, whose inverse document frequency is never
negative (Kamphuis et al. 2020, "Which BM25 Do You Mean?", ECIR):

    sum over words of log(1 + (N - n + 0.5) / (n + 0.5)) * f / (f + k1 (1 - b + b l / L))

with ``N`` texts of mean length ``L``, of which ``n`` hold the word, ``f`` times in this
one, of length ``l``. The index is made anew at the first question after a change.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from memory.graded.words import words
from memory.policies import Floats
from memory.records import real, within

#: Words without a text that are kept before the rest is renumbered.
_SPARE_WORDS = 1_000


class Lexical:
    """Texts under names, searched by their words.

    Args:
        saturation: ``k1``, how soon a repeated word says no more, not negative.
        length_share: ``b``, how much a long text is held against it, in ``[0, 1]``.

    Raises:
        ImportError: ``bm25s`` is not installed.
        TypeError: A parameter is not a real number.
        ValueError: A parameter lies outside its range.
    """

    def __init__(self, saturation: float = 1.5, length_share: float = 0.75) -> None:
        self._saturation = real("saturation", saturation)
        if self._saturation < 0.0:
            raise ValueError(f"saturation must not be negative, got {saturation!r}")
        self._length_share = within("length_share", length_share, 0.0, 1.0)
        self._library = _bm25s()
        self._vocabulary: dict[str, int] = {}
        self._texts: dict[str, list[int]] = {}
        self._model: Any = None

    def __len__(self) -> int:
        return len(self._texts)

    def put(self, name: str, text: str) -> None:
        """Adds a text, or replaces the one of that name, which keeps its place."""
        vocabulary = self._vocabulary
        self._texts[name] = [
            vocabulary.setdefault(word, len(vocabulary)) for word in words(text)
        ]
        self._model = None

    def drop(self, name: str) -> None:
        """Forgets a text; an unknown name changes nothing."""
        if self._texts.pop(name, None) is not None:
            self._model = None

    def scores(self, question: str) -> tuple[tuple[str, ...], Floats]:
        """Returns the names, oldest first, and the ``(n,)`` relevances of their texts."""
        names = tuple(self._texts)
        if self._model is None and any(self._texts.values()):
            self._model = self._indexed()
        asked = [
            self._vocabulary[word]
            for word in dict.fromkeys(words(question))
            if word in self._vocabulary
        ]
        if self._model is None or not asked:
            return names, np.zeros(len(names))
        found = self._model.get_scores_from_ids(asked)
        return names, np.asarray(found, dtype=np.float64)

    def _indexed(self) -> Any:  # noqa: ANN401
        self._forget_words()
        model = self._library.BM25(
            k1=self._saturation,
            b=self._length_share,
            method="lucene",
            dtype="float64",
            csc_backend="numpy",
        )
        # The library adds a word of its own to the vocabulary that it is given.
        texts, vocabulary = list(self._texts.values()), dict(self._vocabulary)
        model.index((texts, vocabulary), show_progress=False)
        return model

    def _forget_words(self) -> None:
        """Renumbers the words, once most of them stand in no text any more."""
        used = dict.fromkeys(number for text in self._texts.values() for number in text)
        if len(self._vocabulary) <= _SPARE_WORDS + 2 * len(used):
            return
        numbers = {old: new for new, old in enumerate(used)}
        self._vocabulary = {
            word: numbers[old]
            for word, old in self._vocabulary.items()
            if old in numbers
        }
        self._texts = {
            name: [numbers[old] for old in text] for name, text in self._texts.items()
        }


def _bm25s() -> Any:  # noqa: ANN401
    try:
        return import_module("bm25s")
    except ImportError:
        raise ImportError(
            "search needs the library 'bm25s': pip install bm25s"
        ) from None
