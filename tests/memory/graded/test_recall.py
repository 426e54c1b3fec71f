"""Recall: the same question has the same answer, and every answer has its reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memory.graded.recall import Recall, Recallable

SIGNIFICANCE = 1e-6
DRAWS = 20_000


def candidates(
    relevance: list[float],
    ages: list[int] | None = None,
    tiers: list[int] | None = None,
) -> Recallable:
    n = len(relevance)
    return Recallable(
        np.array(relevance),
        np.zeros(n, dtype=np.int64) if ages is None else np.array(ages),
        np.zeros(n, dtype=np.int64) if tiers is None else np.array(tiers),
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(20_251_130))


def test_the_parts_of_a_score_are_worked_by_hand(rng: np.random.Generator) -> None:
    recall = Recall(relevance=2.0, recency=0.5, half_life_messages=10.0, long=0.25)
    seen = candidates([4.0, 1.0], [20, 10], [2, 0])
    first, second = recall.choose(seen, 5, rng)
    assert (first.place, first.reason) == (0, (2.375, 2.0, 0.125, 0.25, 1.0, None, ""))
    assert (second.place, second.reason) == (1, (0.75, 0.5, 0.25, 0.0, 1.0, None, ""))


def test_the_same_question_twice_has_the_same_answer() -> None:
    seen = candidates([0.5, 2.0, 2.0, 0.1], [9, 3, 2, 1])
    answers = [
        Recall().choose(seen, 3, np.random.Generator(np.random.Philox(seed)))
        for seed in range(20)
    ]
    assert all(answer == answers[0] for answer in answers)
    assert [choice.place for choice in answers[0]] == [2, 1, 0]


def test_of_equal_scores_the_newest_comes_first(rng: np.random.Generator) -> None:
    chosen = Recall().choose(candidates([1.0, 1.0, 1.0]), 2, rng)
    assert [choice.place for choice in chosen] == [2, 1]


@pytest.mark.parametrize("temperature", [None, 10.0])
def test_what_shares_no_word_is_not_recalled_if_anything_does(
    temperature: float | None, rng: np.random.Generator
) -> None:
    seen = candidates([0.0, 0.2, 0.0, 0.3], [0, 100, 0, 100])
    chosen = Recall(temperature=temperature).choose(seen, 4, rng)
    assert sorted(choice.place for choice in chosen) == [1, 3]


def test_an_empty_question_recalls_the_newest(rng: np.random.Generator) -> None:
    chosen = Recall().choose(candidates([0.0, 0.0, 0.0], [5, 0, 9]), 2, rng)
    assert [choice.place for choice in chosen] == [1, 0]


def test_nothing_is_recalled_of_nothing(rng: np.random.Generator) -> None:
    assert Recall().choose(candidates([]), 3, rng) == []


def test_a_first_draw_follows_the_boltzmann_law(rng: np.random.Generator) -> None:
    recall = Recall(recency=0.0, temperature=0.5)
    seen = candidates([1.0, 0.5, 0.25, 0.0])
    law = np.exp(np.array([1.0, 0.5, 0.25]) / 0.5)
    law /= law.sum()
    counts = np.zeros(3)
    for _ in range(DRAWS):
        (choice,) = recall.choose(seen, 1, rng)
        counts[choice.place] += 1
        assert choice.reason.probability == pytest.approx(law[choice.place])
    assert stats.chisquare(counts, DRAWS * law).pvalue > SIGNIFICANCE
    wrong = np.exp(np.array([1.0, 0.5, 0.25]) / 0.6)
    wrong /= wrong.sum()
    assert stats.chisquare(counts, DRAWS * wrong).pvalue < SIGNIFICANCE


@given(
    relevance=st.lists(st.floats(0.0, 50.0), min_size=1, max_size=12),
    size=st.integers(1, 15),
    temperature=st.sampled_from([None, 1e-3, 1.0, 1e3]),
)
def test_nobody_is_recalled_twice(
    relevance: list[float], size: int, temperature: float | None
) -> None:
    rng = np.random.Generator(np.random.Philox(1))
    chosen = Recall(temperature=temperature).choose(candidates(relevance), size, rng)
    places = [choice.place for choice in chosen]
    n_eligible = sum(one > 0.0 for one in relevance) or len(relevance)
    assert len(set(places)) == len(places) == min(size, n_eligible)
    for choice in chosen:
        parts = choice.reason
        total = parts.relevance + parts.recency + parts.tier
        assert parts.score == pytest.approx(total)
        assert 0.0 < parts.probability <= 1.0 + 1e-12


def test_a_cold_draw_is_the_best(rng: np.random.Generator) -> None:
    seen = candidates([0.3, 0.9, 0.6])
    cold = Recall(temperature=1e-3).choose(seen, 3, rng)
    best = Recall().choose(seen, 3, rng)
    assert [one.place for one in cold] == [one.place for one in best]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"relevance": -1.0}, "relevance must not be negative"),
        ({"recency": float("nan")}, "recency must be a finite"),
        ({"half_life_messages": 0.0}, "half_life_messages must be positive"),
        ({"temperature": 0.0}, "temperature must be positive"),
    ],
)
def test_weights_outside_their_range_are_refused(
    fields: dict[str, float], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Recall(**fields)


def test_a_size_must_be_positive(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="size must be at least 1"):
        Recall().choose(candidates([1.0]), 0, rng)
