"""Descriptors: numbers of a text that depend on nothing but it and the configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.descriptors.length import Length
from memory.descriptors.reference_distance import ReferenceDistance
from memory.descriptors.score import Score
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.policies import Diversity

texts = st.text(st.characters(codec="utf-8"), max_size=12)


def test_length_counts_characters_and_not_bytes() -> None:
    assert Length().value("", 3.0) == 0.0
    assert Length().value("a\n雪😀", 3.0) == 4.0
    assert isinstance(Length().value("a", 3.0), float)


@given(text=texts, score=st.floats(allow_nan=False, allow_infinity=False))
def test_the_score_is_the_score(text: str, score: float) -> None:
    assert Score().value(text, score) == score


def test_the_distance_from_references_is_the_one_worked_by_hand() -> None:
    descriptor = ReferenceDistance(Hamming(), ("0000", "0011"))
    assert descriptor.value("0001", 9.0) == (1 / 4 + 1 / 4) / 2
    assert descriptor.value("0000", 9.0) == (0 + 2 / 4) / 2
    assert ReferenceDistance(Hamming(), ("ab",)).value("ab", 9.0) == 0.0


@given(
    text=texts,
    references=st.lists(texts, min_size=1, max_size=6),
    metric=st.sampled_from([Hamming(), TextShape()]),
    data=st.data(),
)
def test_the_distance_is_the_mean_over_references_whatever_their_order(
    text: str, references: list[str], metric: Diversity, data: st.DataObject
) -> None:
    rng = np.random.default_rng(0)
    expected = np.mean([metric.measure([text, other], rng) for other in references])
    found = ReferenceDistance(metric, references).value(text, 0.0)
    assert found == pytest.approx(expected, abs=1e-14)
    shuffled = data.draw(st.permutations(references))
    assert ReferenceDistance(metric, shuffled).value(text, 0.0) == found


def test_references_are_kept_in_their_order_and_apart_from_the_list() -> None:
    references = ["b", "a"]
    descriptor = ReferenceDistance(Hamming(), references)
    references.clear()
    assert descriptor.references == ("b", "a")
    assert descriptor == ReferenceDistance(Hamming(), ("b", "a"))


class NoDistance:
    def features(self, text: str) -> str:
        return text


@pytest.mark.parametrize(
    ("metric", "references", "error", "message"),
    [
        (Hamming(), (), ValueError, "references must not be empty, got no text"),
        (Hamming(), "abc", TypeError, "references must be a list of texts, got 'abc'"),
        (Hamming(), None, TypeError, "references must be a list of texts, got None"),
        (Hamming(), ["a", 1], TypeError, r"references\[1\] must be a string, got 1"),
        (Hamming(), ["\ud800"], ValueError, r"references\[0\] must be encodable"),
        (NoDistance(), ["a"], TypeError, "diversity must be a metric with a method di"),
        (None, ["a"], TypeError, "diversity must be a metric with a method features"),
    ],
)
def test_a_bad_parameter_is_named(
    metric: Any, references: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ReferenceDistance(metric, references)
