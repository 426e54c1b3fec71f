"""Lexical search: BM25 as its formula says, in every script."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graded.lexical import Lexical
from memory.graded.words import words


def test_words_fold_case_and_width_and_cut_what_has_no_spaces() -> None:
    assert words("Straße \uff21\uff22\uff231, snake_case don't") == [
        "strasse",
        "abc1",
        "snake",
        "case",
        "don",
        "t",
    ]
    assert words("你好吗") == ["你", "好", "吗", "你好", "好吗"]
    assert words("한국어 русский 😀") == ["한국어", "русский"]


def test_a_missing_library_is_named_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(ImportError, match="pip install bm25s"):
        Lexical()


def by_formula(texts: list[str], question: str) -> list[float]:
    documents = [words(text) for text in texts]
    mean = np.mean([len(document) for document in documents])
    scores = []
    for document in documents:
        score = 0.0
        for word in dict.fromkeys(words(question)):
            holding = sum(word in other for other in documents)
            if holding:
                rarity = math.log(
                    1 + (len(documents) - holding + 0.5) / (holding + 0.5)
                )
                f, norm = document.count(word), 0.25 + 0.75 * len(document) / mean
                score += rarity * f / (f + 1.5 * norm)
        scores.append(score)
    return scores


@given(
    texts=st.lists(st.text("abc  你好", max_size=20), min_size=1, max_size=8),
    question=st.text("abcd 你好", max_size=8),
)
def test_relevance_is_bm25(texts: list[str], question: str) -> None:
    index = Lexical()
    for number, text in enumerate(texts):
        index.put(str(number), text)
    names, scores = index.scores(question)
    assert names == tuple(str(number) for number in range(len(texts)))
    expected = by_formula(texts, question) if any(map(words, texts)) else [0.0]
    np.testing.assert_allclose(scores, np.broadcast_to(expected, scores.shape))


def test_what_was_dropped_is_not_found_and_what_was_replaced_is_found_anew() -> None:
    index = Lexical()
    index.put("a", "red apple")
    index.put("b", "green pear")
    index.scores("apple")
    index.drop("a")
    index.drop("never there")
    index.put("b", "blue plum")
    assert index.scores("apple pear")[1].tolist() == [0.0]
    assert index.scores("plum")[1][0] > 0.0
    assert len(index) == 1


def test_words_that_stand_nowhere_any_more_are_forgotten() -> None:
    index = Lexical()
    index.put("kept", "needle in hay")
    for number in range(3000):
        index.put("changing", f"word{number}")
    assert index.scores("needle")[1][0] > 0.0
    assert len(index._vocabulary) == 4
    assert index.scores("word2999")[1].tolist()[0] == 0.0
    assert index.scores("word2999")[1].tolist()[1] > 0.0
