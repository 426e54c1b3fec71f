"""Bounds: which bin a value falls into, known before any value arrives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bounds.fixed import Fixed
from memory.bounds.percentile import Percentile

finite = st.floats(allow_nan=False, allow_infinity=False)
samples = st.lists(st.one_of(finite, st.integers(0, 5)), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-1e308, 0),
        (-1.0, 0),
        (-0.6, 0),
        (-0.5, 1),
        (0.0, 2),
        (0.49, 2),
        (0.5, 3),
        (0.99, 3),
        (1.0, 3),
        (1e308, 3),
    ],
)
def test_fixed_bins_have_one_width_and_take_what_lies_beyond(
    value: float, expected: int
) -> None:
    assert Fixed(-1.0, 1.0, 4).bin(value) == expected


@given(
    edges=st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)),
    n_bins=st.integers(1, 1000),
    values=st.tuples(finite, finite),
)
def test_fixed_bins_rise_with_the_value_and_lie_in_range(
    edges: tuple[float, float], n_bins: int, values: tuple[float, float]
) -> None:
    low, high = sorted(edges)
    if low == high:
        high = math.nextafter(low, math.inf)
    bounds = Fixed(low, high, n_bins)
    first, second = (bounds.bin(value) for value in sorted(values))
    assert 0 <= first <= second < n_bins
    assert (bounds.bin(low), bounds.bin(high)) == (0, n_bins - 1)


@given(ticks=st.integers(0, 64), n_bins=st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_a_bin_holds_its_lower_edge(ticks: int, n_bins: int) -> None:
    # Powers of two, so that nothing is rounded.
    exact = min(math.floor(Fraction(ticks, 64) * n_bins), n_bins - 1)
    assert Fixed(0.0, 1.0, n_bins).bin(ticks / 64) == exact


def test_a_value_below_the_upper_bound_never_rounds_out_of_the_bins() -> None:
    below = math.nextafter(1.0, 0.0)
    assert all(Fixed(0.0, 1.0, n).bin(below) == n - 1 for n in range(1, 500))


def test_percentiles_divide_the_sample_evenly() -> None:
    bounds = Percentile((10, 40, 20, 80, 30, 70, 60, 50), 4)
    assert [bounds.bin(10.0 * k) for k in range(1, 9)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [bounds.bin(value) for value in (-1e9, 20.0, 20.1, 1e9)] == [0, 0, 1, 3]


@given(
    sample=st.lists(finite, min_size=1, max_size=40, unique=True),
    n_bins=st.integers(1, 12),
)
def test_without_ties_no_bin_holds_more_than_one_above_another(
    sample: list[float], n_bins: int
) -> None:
    bounds = Percentile(sample, n_bins)
    held = np.bincount([bounds.bin(value) for value in sample], minlength=n_bins)
    assert held.size == n_bins
    assert np.ptp(held) <= 1


@given(sample=samples, n_bins=st.integers(1, 12), value=finite)
def test_the_edges_are_the_quantiles_of_the_sample(
    sample: list[float], n_bins: int, value: float
) -> None:
    ordered = sorted(sample)
    ranks = [-(-i * len(sample) // n_bins) for i in range(1, n_bins)]
    edges = [ordered[rank - 1] for rank in ranks]
    for probe in [value, *sample]:
        assert Percentile(sample, n_bins).bin(probe) == sum(e < probe for e in edges)


@given(sample=samples, data=st.data())
def test_the_order_of_the_sample_decides_nothing(
    sample: list[float], data: st.DataObject
) -> None:
    assert Percentile(sample) == Percentile(data.draw(st.permutations(sample)))


def test_ties_of_the_sample_leave_bins_empty_and_their_number_as_it_is() -> None:
    bounds = Percentile([5.0] * 9 + [7.0], 5)
    assert bounds.n_bins == 5
    assert [bounds.bin(value) for value in (4.0, 5.0, 6.0, 7.0, 8.0)] == [0, 0, 4, 4, 4]
    assert [Percentile([3.0], 4).bin(value) for value in (2.0, 3.0, 4.0)] == [0, 0, 3]


def test_a_later_value_moves_no_bin() -> None:
    # Lengths that LoongFlow bins by arrival, so that 100 falls into bin 2 and then 0.
    bounds = Percentile([100, 100, 200, 100, 1000, 100, 200], 4)
    found = [bounds.bin(value) for value in (100, 100, 200, 100, 1000, 100, 200)]
    assert found == [0, 0, 2, 0, 3, 0, 2]


@pytest.mark.parametrize(
    ("make", "message", "error"),
    [
        (lambda: Fixed(1.0, 1.0), "maximum must be above minimum", ValueError),
        (lambda: Fixed(2.0, 1.0), "maximum must be above minimum", ValueError),
        (lambda: Fixed(-1e308, 1e308), "by a finite difference", ValueError),
        (lambda: Fixed(math.nan, 1.0), "minimum must be a finite", ValueError),
        (lambda: Fixed(0.0, math.inf), "maximum must be a finite", ValueError),
        (lambda: Fixed(0.0, 1.0, 0), "n_bins must be at least 1, got 0", ValueError),
        (lambda: Fixed(0.0, 1.0, 2.0), "n_bins must be an integer", TypeError),
        (lambda: Percentile([]), "sample must not be empty", ValueError),
        (lambda: Percentile([1, math.inf]), r"sample\[1\] must be a", ValueError),
        (lambda: Percentile(["1"]), r"sample\[0\] must be a finite real", TypeError),
        (lambda: Percentile("12"), "sample must be a list of numbers", TypeError),
        (lambda: Percentile(1.0), "sample must be a list of numbers", TypeError),
        (lambda: Percentile([1.0], 0), "n_bins must be at least 1, got 0", ValueError),
    ],
)
def test_a_bad_parameter_is_named(
    make: Any, message: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=message):
        make()
