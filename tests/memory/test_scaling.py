"""Scalings: what they keep, and what they are blind to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from memory import EvolutionaryMemory, Settings
from memory.scaling.minmax import Minmax
from memory.scaling.rank import Rank
from memory.scaling.raw import Raw
from memory.temperature.fixed import Fixed

finite = arrays(
    np.float64, st.integers(1, 40), elements=st.floats(-1e300, 1e300, width=64)
)


def test_raw_scores_are_the_scores() -> None:
    scores = np.array([-1.0, 0.0, 1e300])
    np.testing.assert_array_equal(Raw().scale(scores), scores)


@given(finite)
def test_ranks_are_those_of_scipy(scores: np.ndarray) -> None:
    if scores.size == 1:
        assert Rank().scale(scores).tolist() == [0.5]
        return
    expected = (rankdata(scores) - 1) / (scores.size - 1)
    np.testing.assert_allclose(Rank().scale(scores), expected, atol=1e-12)


@given(finite, st.sampled_from([Rank(), Minmax()]))
def test_scaled_scores_lie_between_zero_and_one_and_keep_the_order(
    scores: np.ndarray, scaling: Rank | Minmax
) -> None:
    scaled = scaling.scale(scores)
    assert scaled.min() >= 0.0
    assert scaled.max() <= 1.0
    assert np.all(np.diff(scaled[np.argsort(scores, kind="stable")]) >= 0.0)
    if scores.min() == scores.max():
        assert np.all(scaled == 0.5)


def test_an_outlier_flattens_minmax_and_not_ranks() -> None:
    scores = np.array([0.1, 0.2, 0.3, 1e10])
    assert np.ptp(Minmax().scale(scores)[:3]) < 1e-9
    np.testing.assert_allclose(Rank().scale(scores), [0, 1 / 3, 2 / 3, 1])


def test_a_failure_does_not_touch_the_ranks_of_the_living() -> None:
    memory = EvolutionaryMemory(Settings(temperature=Fixed(value=0.1)))
    for k in range(4):
        memory.remember(f"t{k}", 10.0 + k)
    before = memory.law()[1]
    memory.remember_failure("broken", "timeout")
    np.testing.assert_array_equal(memory.law()[1], before)


def test_ranks_ignore_every_monotone_change_of_the_scores() -> None:
    scores = np.array([0.3, -1.0, 0.3, 2.0, 7.0])
    np.testing.assert_array_equal(
        Rank().scale(scores), Rank().scale(np.exp(scores) * 1e3 - 5)
    )


def test_the_minmax_softmax_of_levi_is_reproduced() -> None:
    scores = np.array([0.2, 0.5, 0.7, 0.9])
    scaled = Minmax().scale(scores)
    law = np.exp((scaled - 1) / 0.3)
    np.testing.assert_allclose(
        law / law.sum(),
        [0.022717175497, 0.094792727934, 0.245690754388, 0.636799342181],
        atol=1e-9,
    )


@pytest.mark.parametrize("scaling", [Rank(), Minmax(), Raw()])
def test_scaling_changes_no_input(scaling: Rank | Minmax | Raw) -> None:
    scores = np.array([3.0, 1.0, 2.0])
    scaling.scale(scores)
    np.testing.assert_array_equal(scores, [3.0, 1.0, 2.0])


def test_the_smallest_numbers_have_a_range_too() -> None:
    scaled = Minmax().scale(np.array([5e-324, 0.0, 0.0]))
    np.testing.assert_array_equal(scaled, [1.0, 0.0, 0.0])
    scaled = Minmax().scale(np.array([-1.7e308, 0.0, 1.7e308]))
    np.testing.assert_allclose(scaled, [0.0, 0.5, 1.0])
