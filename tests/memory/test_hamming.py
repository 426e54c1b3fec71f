"""Hamming: whole counts against a double loop over pairs and positions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import KeyedRandom
from memory.diversity.hamming import Hamming
from memory.policies import Tracker

METRIC = Hamming()


def double_loop(texts: Sequence[str]) -> float:
    """Returns the mean over pairs, rounded once, from the exact fraction."""
    pairs = list(combinations(texts, 2))
    if not pairs or not texts[0]:
        return 0.0
    gaps = sum(a != b for pair in pairs for a, b in zip(*pair, strict=True))
    return float(Fraction(gaps, len(pairs) * len(texts[0])))


def tracked(texts: Sequence[str]) -> Tracker:
    tracker = METRIC.tracker()
    for text in texts:
        tracker.append(METRIC.features(text))
    return tracker


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_251_130)


characters = st.one_of(st.sampled_from("01"), st.characters(codec="utf-8"))


def texts_of_one_length(minimum: int = 0) -> st.SearchStrategy[list[str]]:
    return st.integers(0, 6).flatmap(
        lambda length: st.lists(
            st.text(characters, min_size=length, max_size=length),
            min_size=minimum,
            max_size=10,
        )
    )


def test_the_mean_matches_one_worked_by_hand(rng: np.random.Generator) -> None:
    # Three pairs of four positions: 1, 3 and 4 of them differ.
    assert METRIC.measure(["0000", "0001", "1110"], rng) == 8 / 12


@given(texts=texts_of_one_length())
def test_the_mean_equals_the_double_loop_to_the_last_bit(texts: list[str]) -> None:
    rng = np.random.default_rng(0)
    assert METRIC.measure(texts, rng) == double_loop(texts)
    assert METRIC.measure(texts[::-1], rng) == double_loop(texts)


@given(
    texts=texts_of_one_length(minimum=1),
    history=st.lists(
        st.tuples(
            st.sampled_from(["append", "append", "replace", "remove"]),
            st.integers(0, 10**6),
        ),
        max_size=40,
    ),
    data=st.data(),
)
def test_a_tracker_equals_the_double_loop_and_forgets_its_history(
    texts: list[str], history: list[tuple[str, int]], data: st.DataObject
) -> None:
    rng = np.random.default_rng(0)
    tracker, slots = METRIC.tracker(), list[str]()
    for step, (change, place) in enumerate(history):
        text = texts[step % len(texts)]
        if change == "append" or not slots:
            tracker.append(METRIC.features(text))
            slots.append(text)
        elif change == "replace":
            tracker.replace(place % len(slots), METRIC.features(text))
            slots[place % len(slots)] = text
        else:
            tracker.remove(place % len(slots))
            slots[place % len(slots)] = slots[-1]
            slots.pop()
        assert tracker.measure(rng) == double_loop(slots)
    shuffled = data.draw(st.permutations(slots))
    assert tracked(shuffled).measure(rng) == tracker.measure(rng)


def test_random_bit_strings_differ_in_half_of_their_positions(
    rng: np.random.Generator,
) -> None:
    source = random.Random(0)
    texts = ["".join(source.choices("01", k=64)) for _ in range(50)]
    # The standard deviation of the mean over 1,225 pairs is below 0.002.
    assert METRIC.measure(texts, rng) == pytest.approx(0.5, abs=0.01)
    assert METRIC.measure(["0" * 64, "1" * 64], rng) == 1.0


def test_fewer_than_two_texts_and_empty_texts_have_no_diversity(
    rng: np.random.Generator,
) -> None:
    assert METRIC.measure([], rng) == 0.0
    assert METRIC.measure(["01"], rng) == 0.0
    assert METRIC.measure(["", "", ""], rng) == 0.0
    assert METRIC.tracker().measure(rng) == 0.0


def test_nothing_is_drawn(rng: np.random.Generator) -> None:
    before = rng.bit_generator.state
    METRIC.measure(["01", "10", "11"], rng)
    assert rng.bit_generator.state == before
    assert not METRIC.sampled


def naive(texts: list[str]) -> float:
    """Returns the mean over pairs of the positions that differ, over the longest."""
    pairs = list(combinations(texts, 2))
    longest = max(map(len, texts), default=0)
    if not pairs or not longest:
        return 0.0
    differ = sum(
        sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))
        for a, b in pairs
    )
    return differ / (longest * len(pairs))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "replace", "remove"]),
            st.text("ab雪", max_size=9),
        ),
        max_size=25,
    )
)
def test_texts_of_any_length_are_measured_as_the_pairs_are(
    changes: list[tuple[str, str]],
) -> None:
    tracker, texts = Hamming().tracker(), []
    rng = KeyedRandom("any").generator("diversity", 0)
    for kind, text in changes:
        slot = len(text) % len(texts) if texts else 0
        if kind == "append" or not texts:
            tracker.append(text)
            texts.append(text)
        elif kind == "replace":
            tracker.replace(slot, text)
            texts[slot] = text
        else:
            tracker.remove(slot)
            texts[slot] = texts[-1]
            texts.pop()
        assert tracker.measure(rng) == naive(texts)
    assert Hamming().measure(texts, rng) == naive(texts)


def test_a_tracker_that_has_emptied_takes_a_new_length(
    rng: np.random.Generator,
) -> None:
    tracker = tracked(["0000", "0011"])
    tracker.remove(0)
    tracker.remove(0)
    tracker.append("abcdef")
    tracker.append("abcdeX")
    assert tracker.measure(rng) == 1 / 6


def test_the_only_text_may_be_replaced_by_one_of_another_length(
    rng: np.random.Generator,
) -> None:
    tracker = tracked(["0000"])
    tracker.replace(0, "ab")
    tracker.append("ac")
    assert tracker.measure(rng) == 0.5


@pytest.mark.parametrize("slot", [-1, 2])
def test_a_slot_that_does_not_exist_is_refused(
    slot: int, rng: np.random.Generator
) -> None:
    tracker = tracked(["00", "01"])
    with pytest.raises(IndexError, match=rf"slot must lie in \[0, 2\), got {slot}"):
        tracker.replace(slot, "11")
    with pytest.raises(IndexError, match=rf"slot must lie in \[0, 2\), got {slot}"):
        tracker.remove(slot)
    assert tracker.measure(rng) == 0.5


def test_a_text_that_is_no_string_is_named(rng: np.random.Generator) -> None:
    with pytest.raises(TypeError, match=r"texts\[1\] must be a string, got 1"):
        METRIC.measure(["0", 1], rng)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="texts must be a sequence of strings"):
        METRIC.measure("01", rng)
    with pytest.raises(TypeError, match="text must be a string, got None"):
        METRIC.features(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="text must be encodable as UTF-8"):
        METRIC.features("\ud800")


def test_a_sample_of_texts_estimates_the_mean_without_bias() -> None:
    rng = KeyedRandom("texts").generator("initial", 0)
    texts = [
        "".join("01"[int(2 * u * v)] for v in rng.random(30)) for u in rng.random(40)
    ]
    exact = Hamming().measure(texts, rng)
    random = KeyedRandom("sample")
    metric = Hamming(sample_size=5)
    found = np.array(
        [metric.measure(texts, random.generator("diversity", k)) for k in range(2_000)]
    )
    assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(found.size)
    assert found.std() > 0.0
    again = metric.measure(texts, random.generator("diversity", 7))
    assert again == found[7]


def test_a_sample_that_holds_all_is_exact_and_draws_nothing() -> None:
    texts = ["0011", "0101", "1111"]
    rng = KeyedRandom("none").generator("diversity", 0)
    assert Hamming(sample_size=3).measure(texts, rng) == Hamming().measure(texts, rng)
    assert rng.random() == KeyedRandom("none").generator("diversity", 0).random()
    assert Hamming(sample_size=3).sampled
    assert not Hamming().sampled


@pytest.mark.parametrize("size", [1, 0, -3, 2.5, "5", True])
def test_a_bad_sample_size_is_named(size: object) -> None:
    with pytest.raises((TypeError, ValueError), match="sample_size must be"):
        Hamming(sample_size=size)
