"""Scalings: what they keep, and what they are blind to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import median_abs_deviation, rankdata, zscore

from memory import EvolutionaryMemory, Settings
from memory.policies import Scaling
from memory.scaling.mad import Mad
from memory.scaling.minmax import Minmax
from memory.scaling.rank import Rank
from memory.scaling.raw import Raw
from memory.scaling.zscore import Zscore
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


@pytest.mark.parametrize("scaling", [Rank(), Minmax(), Raw(), Mad(), Zscore()])
def test_scaling_changes_no_input(scaling: Scaling) -> None:
    scores = np.array([3.0, 1.0, 2.0])
    scaling.scale(scores)
    np.testing.assert_array_equal(scores, [3.0, 1.0, 2.0])


def test_the_smallest_numbers_have_a_range_too() -> None:
    scaled = Minmax().scale(np.array([5e-324, 0.0, 0.0]))
    np.testing.assert_array_equal(scaled, [1.0, 0.0, 0.0])
    scaled = Minmax().scale(np.array([-1.7e308, 0.0, 1.7e308]))
    np.testing.assert_allclose(scaled, [0.0, 0.5, 1.0])


# Scores on a grid, so that a whole shift is exact.
grid_scores = st.lists(
    st.integers(-640, 640).map(lambda tick: tick / 64), min_size=1, max_size=20
).map(np.array)
standard_scalings = st.sampled_from([Mad(), Zscore()])
huge = arrays(
    np.float64,
    st.integers(1, 20),
    elements=st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from([-1.7e308, 1.7e308, 5e-324, 0.0, 1.0]),
    ),
)


def test_zscores_match_those_worked_by_hand() -> None:
    # Mean 5, population variance 4.
    scores = np.array([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    np.testing.assert_allclose(
        Zscore().scale(scores), [-1.5, -0.5, -0.5, -0.5, 0, 0, 1, 2], atol=1e-14
    )


def test_robust_scores_match_those_worked_by_hand() -> None:
    # Median 3, deviations 2, 1, 0, 1, 1e10 - 3, whose median is 1.
    scores = np.array([1.0, 2.0, 3.0, 4.0, 1e10])
    np.testing.assert_allclose(
        Mad().scale(scores) * 1.4826, [-2, -1, 0, 1, 1e10 - 3], rtol=1e-14
    )


def test_where_most_scores_are_equal_the_mean_deviation_is_the_unit() -> None:
    # Deviations 0, 0, 0, 1, 4: their median is zero, their mean one.
    scaled = Mad().scale(np.array([2.0, 2.0, 2.0, 1.0, 6.0]))
    np.testing.assert_allclose(scaled * 1.2533, [0, 0, 0, -1, 4], rtol=1e-14)


@given(grid_scores)
def test_standard_scores_are_those_of_scipy(scores: np.ndarray) -> None:
    if scores.min() < scores.max():
        np.testing.assert_allclose(Zscore().scale(scores), zscore(scores), atol=1e-9)
    mad = median_abs_deviation(scores)
    if mad > 0.0:
        expected = (scores - np.median(scores)) / (1.4826 * mad)
        np.testing.assert_allclose(Mad().scale(scores), expected, rtol=1e-12)


@given(scores=grid_scores, scaling=standard_scalings, shift=st.integers(-1000, 1000))
def test_a_shift_of_all_scores_changes_no_standard_score(
    scores: np.ndarray, scaling: Scaling, shift: int
) -> None:
    np.testing.assert_allclose(
        scaling.scale(scores + shift), scaling.scale(scores), atol=1e-12
    )


@given(scores=grid_scores, scaling=standard_scalings, scale=st.floats(1e-200, 1e200))
def test_a_positive_scale_changes_no_standard_score(
    scores: np.ndarray, scaling: Scaling, scale: float
) -> None:
    np.testing.assert_allclose(
        scaling.scale(scores * scale), scaling.scale(scores), rtol=1e-9, atol=1e-9
    )


@given(scores=grid_scores, scaling=standard_scalings)
def test_a_sign_turned_over_turns_over_the_standard_scores(
    scores: np.ndarray, scaling: Scaling
) -> None:
    np.testing.assert_allclose(
        scaling.scale(-scores), -scaling.scale(scores), atol=1e-12
    )


@given(scores=huge, scaling=standard_scalings)
def test_standard_scores_are_finite_and_keep_the_order(
    scores: np.ndarray, scaling: Scaling
) -> None:
    scaled = scaling.scale(scores)
    assert np.isfinite(scaled).all()
    # Without differences: that of two finite numbers need not be finite.
    ordered = scaled[np.argsort(scores, kind="stable")]
    assert (ordered[1:] >= ordered[:-1]).all()
    if scores.min() == scores.max():
        assert not scaled.any()


@pytest.mark.parametrize("scaling", [Mad(), Zscore()])
def test_huge_scores_of_both_signs_are_told_apart(scaling: Scaling) -> None:
    scaled = scaling.scale(np.array([-1.7e308, -1e308, 0.0, 1e308, 1.7e308]))
    assert (np.diff(scaled) > 0.1).all()
    assert np.abs(scaled).max() < 3.0


@pytest.mark.parametrize("scaling", [Mad(), Zscore()])
def test_the_smallest_differences_are_told_apart(scaling: Scaling) -> None:
    scaled = scaling.scale(np.array([0.0, 0.0, 0.0, 5e-324]))
    assert scaled[3] > 1.0 > scaled[0]


def test_outliers_of_less_than_half_do_not_move_the_robust_unit() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 1e10, 1e10])
    assert np.ptp(Mad().scale(scores)[:5]) > 1.0
    assert np.ptp(Zscore().scale(scores)[:5]) < 1e-9


def test_a_robust_score_beyond_the_floats_is_put_at_their_end() -> None:
    scaled = Mad().scale(np.array([-1e300, 0.0, 1e-300, 2e-300, 1e300]))
    largest = np.finfo(np.float64).max
    assert scaled.tolist()[0] == -largest
    assert scaled.tolist()[4] == largest
    # Median 1e-300, and so is the median absolute deviation.
    np.testing.assert_allclose(scaled[1:4] * 1.4826, [-1.0, 0.0, 1.0], rtol=1e-12)
