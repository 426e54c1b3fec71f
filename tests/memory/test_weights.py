"""Weights: what bounds and normalisation do to them, and to lineage credit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memory.policies import Weights, view
from memory.selection.boltzmann import Boltzmann
from memory.weights.as_given import AsGiven
from memory.weights.bounded import Bounded

# Weights that LoongFlow's agents give along one lineage: its first four and its tenth.
LINEAGE = np.array([0.05, 1.79, 3.65, 5.62, 22.8])
# Its examples' largest power, and the highest temperature that its rule reaches.
POWER, HOTTEST = 5.0, 1.8

weights = arrays(
    np.float64,
    st.integers(1, 20),
    elements=st.one_of(st.just(0.0), st.floats(0.0, 1.7e308)),
)
rules: st.SearchStrategy[Weights] = st.sampled_from(
    [
        AsGiven(),
        Bounded(),
        Bounded(0.0, 1.7e308),
        Bounded(0.0, 2.0),
        Bounded(0.5, 2.0, normalised=False),
    ]
)


def test_weights_as_given_are_the_weights() -> None:
    np.testing.assert_array_equal(AsGiven().adjusted(LINEAGE), LINEAGE)


def test_bounds_hold_the_positive_weights() -> None:
    given_ = np.array([0.0, 0.1, 1.0, 7.0])
    found = Bounded(0.5, 2.0, normalised=False).adjusted(given_)
    np.testing.assert_array_equal(found, [0.0, 0.5, 1.0, 2.0])


def test_weights_are_divided_by_the_mean_of_the_positive_ones() -> None:
    found = Bounded(0.5, 1.2).adjusted(np.array([0.0, 1.0, 4.0, 7.0]))
    np.testing.assert_allclose(found, [0.0, 0.5, 1.0, 1.2], rtol=1e-15)


@given(values=weights, rule=rules)
def test_zero_stays_zero_and_what_is_positive_stays_positive(
    values: np.ndarray, rule: Weights
) -> None:
    before = values.copy()
    found = rule.adjusted(values)
    np.testing.assert_array_equal(found > 0.0, values > 0.0)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(values, before)


@given(values=weights, rule=rules)
def test_the_order_of_weights_is_kept(values: np.ndarray, rule: Weights) -> None:
    ordered = rule.adjusted(values)[np.argsort(values, kind="stable")]
    assert (np.diff(ordered) >= 0.0).all()


@given(
    values=arrays(np.float64, st.integers(1, 20), elements=st.floats(0.01, 100.0)),
    growth=st.floats(1e-100, 1e100),
)
def test_growth_of_all_weights_changes_nothing(
    values: np.ndarray, growth: float
) -> None:
    rule = Bounded(0.1, 10.0)
    np.testing.assert_allclose(
        rule.adjusted(values * growth), rule.adjusted(values), rtol=1e-12
    )


def test_lineage_credit_outvotes_the_scores_as_given_and_not_when_bounded() -> None:
    # The poorest is the deepest: scores fall as weights grow.
    scores = np.linspace(1.0, 0.0, LINEAGE.size)
    laws = [
        Boltzmann(power=POWER).probabilities(
            view(scores, rule.adjusted(LINEAGE)), HOTTEST
        )
        for rule in (AsGiven(), Bounded())
    ]
    assert laws[0][-1] > 0.99
    assert laws[1].argmax() == 0
    assert laws[1][0] > laws[1][-1]


def test_no_two_weights_at_the_default_bounds_outvote_the_range_of_scores() -> None:
    rule = Bounded()
    largest_ratio = (rule.maximum / rule.minimum) ** POWER
    assert largest_ratio == pytest.approx(1.65, abs=0.005)
    assert largest_ratio < math.exp(1.0 / HOTTEST)
    assert math.exp(1.0 / HOTTEST) == pytest.approx(1.743, abs=0.001)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ((-0.1, 1.0), ValueError, r"minimum must lie in \[0, 1\], got -0.1"),
        ((2.0, 1.0), ValueError, r"minimum must lie in \[0, 1\], got 2.0"),
        ((0.0, 0.0), ValueError, r"maximum must be positive and finite, got 0.0"),
        ((0.0, math.inf), ValueError, "maximum must be a finite real number"),
        ((math.nan, 1.0), ValueError, "minimum must be a finite real number"),
        (("0", 1.0), TypeError, "minimum must be a finite real number"),
        ((0.0, 1.0, 1), TypeError, "normalised must be true or false, got 1"),
    ],
)
def test_a_bad_parameter_is_named(
    parameters: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Bounded(*parameters)
