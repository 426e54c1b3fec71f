"""Rankings of solutions that were evaluated several times."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policies import Ranking
from memory.ranking.lower_bound import LowerBound
from memory.ranking.mean import Mean

counts = st.integers(1, 1000)
scores = st.floats(-1e6, 1e6)
spreads = st.floats(0.0, 1e6)


def ranked(ranking: Ranking, evaluations: list[float]) -> float:
    values = np.array(evaluations)
    return ranking.score(
        values.size, float(values.mean()), float(((values - values.mean()) ** 2).sum())
    )


@given(n=counts, mean=scores, squares=spreads)
def test_the_mean_is_blind_to_the_number_and_the_spread(
    n: int, mean: float, squares: float
) -> None:
    assert Mean().score(n, mean, squares) == mean


def test_the_bound_is_the_one_worked_by_hand() -> None:
    # Mean 5, squares 20, variance (4 + 20) / 6 = 4, standard error sqrt(4 / 6).
    evaluations = [5 - math.sqrt(10), 5.0, 5.0, 5.0, 5.0, 5 + math.sqrt(10)]
    found = ranked(LowerBound(z=1.5, standard_deviation=2.0), evaluations)
    assert found == pytest.approx(5 - 1.5 * math.sqrt(4 / 6), rel=1e-14)


def test_one_evaluation_scatters_as_expected_of_it() -> None:
    assert LowerBound(2.0, 0.25).score(1, 1.0, 0.0) == 0.5
    assert LowerBound(2.0).score(1, 1.0, 0.0) == 1.0


@given(
    n=counts, mean=scores, variance=st.floats(1e-3, 1e3), prior=st.floats(0.0, 100.0)
)
def test_more_evaluations_of_one_spread_rank_higher(
    n: int, mean: float, variance: float, prior: float
) -> None:
    ranking = LowerBound(1.0, prior)
    few, more = (ranking.score(k, mean, variance * k) for k in (n, 2 * n))
    assert few < more < mean


@given(n=counts, mean=scores, squares=spreads, z=st.floats(0.0, 5.0))
def test_the_bound_falls_with_z_and_with_the_spread(
    n: int, mean: float, squares: float, z: float
) -> None:
    bound = LowerBound(z, 1.0).score(n, mean, squares)
    assert bound <= mean
    assert LowerBound(z + 1.0, 1.0).score(n, mean, squares) < mean
    assert LowerBound(z + 1.0, 1.0).score(n, mean, squares) <= bound
    assert LowerBound(z, 1.0).score(n, mean, squares + 1.0) <= bound


@given(n=counts, mean=scores, squares=spreads)
def test_without_standard_errors_the_bound_is_the_mean(
    n: int, mean: float, squares: float
) -> None:
    assert LowerBound(0.0, 1.0).score(n, mean, squares) == mean


def test_a_lucky_evaluation_loses_to_a_proven_solution() -> None:
    proven = [0.80, 0.82, 0.78, 0.81, 0.79]
    ranking = LowerBound(1.0, standard_deviation=0.2)
    assert Mean().score(1, 0.9, 0.0) > ranked(Mean(), proven)
    assert ranking.score(1, 0.9, 0.0) < ranked(ranking, proven)


@pytest.mark.parametrize("mean", [-1.7e308, 0.0, 1.7e308])
@pytest.mark.parametrize("squares", [0.0, 1e308, math.inf])
@pytest.mark.parametrize("z", [0.0, 1.0, 1e308])
def test_the_bound_is_finite_whatever_the_numbers(
    mean: float, squares: float, z: float
) -> None:
    bound = LowerBound(z, 1e200).score(2, mean, squares)
    assert -sys.float_info.max <= bound <= mean


@pytest.mark.parametrize("parameter", ["z", "standard_deviation"])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (-0.5, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ("1", TypeError),
        (True, TypeError),
    ],
)
def test_a_bad_parameter_is_named(
    parameter: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{parameter} must"):
        LowerBound(**{parameter: value})


def test_whole_numbers_make_the_same_ranking() -> None:
    assert LowerBound(1, 0) == LowerBound(1.0, 0.0)
    assert isinstance(LowerBound(1, 0).z, float)
