"""Selection over the cells of a grid: the law exactly, the draw statistically."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.policies import Selection, View, view
from memory.randomness import KeyedRandom
from memory.selection.boltzmann import Boltzmann
from memory.selection.cells import Cells
from tests.memory.test_selection import (
    SIGNIFICANCE,
    Scripted,
    frequencies,
    goodness_of_fit,
    grid_scores,
    temperatures,
)

LARGEST = 1.0 - 2.0**-53


def gridded(
    scores: list[float],
    cells: list[int],
    weights: list[float] | None = None,
    champions: list[bool] | None = None,
) -> View:
    """Returns a view with cells; by default the first best of each is its champion."""
    flags = [
        score == max(s for s, c in zip(scores, cells, strict=True) if c == cell)
        and (score, cell) not in list(zip(scores, cells, strict=True))[:index]
        for index, (score, cell) in enumerate(zip(scores, cells, strict=True))
    ]
    return view(scores, weights)._replace(
        cells=np.array(cells), champions=np.array(champions or flags)
    )


# Three occupied cells, one of them crowded, one without anybody eligible, not in order.
SEVEN = gridded(
    [0.0, 1.0, 3.0, 0.5, 2.0, 9.0, 1.0],
    [7, 2, 2, 5, 2, 11, 7],
    [1.0, 2.0, 0.5, 1.0, 0.0, 0.0, 3.0],
)
POLICIES: dict[str, Selection] = {
    "cells": Cells(),
    "unweighted": Cells(power=0.0),
    "power": Cells(power=2.5),
    "champions": Cells(champions_only=True),
}
every_policy = pytest.mark.parametrize("name", POLICIES)


@st.composite
def views(draw: st.DrawFn) -> View:
    n = draw(st.integers(1, 12))
    weights = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n)
    )
    scores = draw(st.lists(grid_scores, min_size=n, max_size=n))
    cells = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    # Its best solution is a champion, so that somebody is eligible everywhere.
    weights[int(np.argmax(scores))] = 1.0
    return gridded(scores, cells, weights)


def test_the_law_is_the_one_worked_by_hand() -> None:
    # At T = 1 / log 2 each unit of score doubles the probability.
    seen = gridded([0.0, 1.0, 3.0, 3.0, -9.0], [4, 4, 0, 0, 9], [1, 1, 1, 3, 1])
    law = Cells().probabilities(seen, 1.0 / math.log(2.0))
    expected = [1 / 9, 2 / 9, 1 / 12, 3 / 12, 1 / 3]
    np.testing.assert_allclose(law, expected, rtol=1e-14)
    law = Cells(power=2.0).probabilities(seen, 1.0 / math.log(2.0))
    expected = [1 / 9, 2 / 9, 1 / 30, 9 / 30, 1 / 3]
    np.testing.assert_allclose(law, expected, rtol=1e-14)


def test_champions_alone_are_uniform_over_the_cells() -> None:
    seen = gridded([0.0, 1.0, 3.0, 3.0, -9.0], [4, 4, 0, 0, 9])
    law = Cells(champions_only=True).probabilities(seen, 0.1)
    np.testing.assert_allclose(law, [0, 1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-15)


def test_a_cell_whose_champion_has_no_weight_is_passed_over() -> None:
    seen = gridded([0.0, 1.0, 3.0], [4, 4, 0], [1.0, 0.0, 1.0])
    law = Cells(champions_only=True).probabilities(seen, 1.0)
    np.testing.assert_array_equal(law, [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(Cells().probabilities(seen, 1.0), [0.5, 0.0, 0.5])


def test_a_cell_without_anybody_eligible_takes_no_share() -> None:
    law = Cells().probabilities(SEVEN, 1.0)
    assert law[SEVEN.cells == 11].sum() == 0.0
    for cell in (2, 5, 7):
        assert law[SEVEN.cells == cell].sum() == pytest.approx(1 / 3, abs=1e-15)


@every_policy
def test_the_draw_follows_the_law(name: str) -> None:
    policy = POLICIES[name]
    counts = frequencies(policy, SEVEN, 0.7, name)
    assert goodness_of_fit(counts, policy.probabilities(SEVEN, 0.7)) > SIGNIFICANCE


def test_the_same_test_rejects_a_temperature_wrong_by_a_fifth() -> None:
    seen = gridded(np.linspace(0.0, 5.0, 8).tolist(), [0, 1, 0, 1, 0, 1, 0, 1])
    counts = frequencies(Cells(), seen, 1.0, "power")
    assert goodness_of_fit(counts, Cells().probabilities(seen, 1.0)) > SIGNIFICANCE
    assert goodness_of_fit(counts, Cells().probabilities(seen, 1.2)) < SIGNIFICANCE


@given(seen=views(), temperature=temperatures)
def test_inside_one_cell_it_is_boltzmann(seen: View, temperature: float) -> None:
    together = seen._replace(cells=np.zeros(seen.scores.size, dtype=int))
    np.testing.assert_allclose(
        Cells(power=0.5).probabilities(together, temperature),
        Boltzmann(power=0.5).probabilities(seen, temperature),
        atol=1e-14,
    )


@every_policy
@given(seen=views(), temperature=temperatures)
def test_every_cell_with_somebody_eligible_has_the_same_share(
    name: str, seen: View, temperature: float
) -> None:
    policy = POLICIES[name]
    assert seen.cells is not None
    assert seen.champions is not None
    law = policy.probabilities(seen, temperature)
    eligible = seen.weights > 0.0
    if name == "champions":
        eligible &= seen.champions
    assert law.min() >= 0.0
    assert not law[~eligible].any()
    shares = np.bincount(seen.cells, weights=law)
    occupied = np.unique(seen.cells[eligible])
    np.testing.assert_allclose(shares[occupied], 1.0 / occupied.size, atol=1e-14)


@every_policy
@settings(max_examples=50)
@given(seen=views(), temperature=temperatures, data=st.data())
def test_neither_order_nor_shift_nor_numbers_of_cells_matter(
    name: str, seen: View, temperature: float, data: st.DataObject
) -> None:
    assert seen.cells is not None
    assert seen.champions is not None
    policy = POLICIES[name]
    order = np.array(data.draw(st.permutations(range(seen.scores.size))))
    moved = View(
        seen.scores[order] + 100.0,
        seen.weights[order],
        seen.elites[order],
        seen.seqs[order],
        (),
        10**12 - seen.cells[order],
        seen.champions[order],
    )
    np.testing.assert_allclose(
        policy.probabilities(moved, temperature),
        policy.probabilities(seen, temperature)[order],
        atol=1e-12,
    )


@every_policy
@settings(max_examples=50)
@given(seen=views(), temperature=temperatures, decision=st.integers(0, 10**6))
def test_equal_generators_draw_equal_parents_that_the_law_allows(
    name: str, seen: View, temperature: float, decision: int
) -> None:
    policy, random = POLICIES[name], KeyedRandom("equal")
    first, again = (
        policy.draw(seen, temperature, random.generator("selection", decision))
        for _ in range(2)
    )
    assert first == again
    assert not first.explored
    assert policy.probabilities(seen, temperature)[first.place] > 0.0


@every_policy
@pytest.mark.parametrize("temperature", [5e-324, 1e-3, 1.0, 1.7e308])
def test_extreme_numbers_still_make_a_law(name: str, temperature: float) -> None:
    seen = gridded(
        [-1.7e308, -1e300, 0.0, 1e-300, 1.0, 1e300, 1.7e308],
        [0, 1, 0, 1, 0, 1, 0],
        [1e300, 1e-300, 1.0, 5e-324, 1.7e308, 1.0, 1e-300],
    )
    law = POLICIES[name].probabilities(seen, temperature)
    assert law.min() >= 0.0
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


@every_policy
def test_a_draw_uses_one_number_and_keeps_it(name: str) -> None:
    for number in (0.0, 0.3, 0.7, LARGEST):
        rng: Any = Scripted(number)
        assert POLICIES[name].draw(SEVEN, 0.5, rng).u == number
        assert rng.used == 1
    assert POLICIES[name].closed_form


@every_policy
def test_the_place_rises_with_the_number(name: str) -> None:
    policy = POLICIES[name]
    rngs: list[Any] = [Scripted(number) for number in (0.0, 0.3, 0.7, LARGEST)]
    places = [policy.draw(SEVEN, 0.5, rng).place for rng in rngs]
    allowed = np.flatnonzero(policy.probabilities(SEVEN, 0.5))
    assert places == sorted(places)
    assert (places[0], places[-1]) == (allowed[0], allowed[-1])


@every_policy
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": None, "champions": None}, "Cells needs a grid, got None"),
        ({"champions": None}, "Cells needs a grid, got None"),
        ({"cells": np.zeros(6, dtype=int)}, "view must hold 7 cells and champions"),
        ({"champions": np.ones(8, dtype=bool)}, "view must hold 7 cells and champions"),
        ({"weights": np.zeros(7)}, "at least one weight must be positive"),
        ({"scores": np.full(7, math.nan)}, "scores must be finite"),
    ],
)
def test_a_view_that_does_not_do_is_refused(
    name: str, change: dict[str, Any], message: str
) -> None:
    seen = SEVEN._replace(**change)
    with pytest.raises(ValueError, match=message):
        POLICIES[name].probabilities(seen, 1.0)
    with pytest.raises(ValueError, match=message):
        POLICIES[name].draw(seen, 1.0, np.random.default_rng(1))


def test_champions_that_may_not_be_drawn_are_refused() -> None:
    seen = gridded([0.0, 1.0], [3, 3], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least one champion must have a positive"):
        Cells(champions_only=True).probabilities(seen, 1.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_temperature_is_named(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature must be"):
        Cells().probabilities(SEVEN, temperature)


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("power", -1, ValueError),
        ("power", math.inf, ValueError),
        ("power", "1", TypeError),
        ("champions_only", 1, TypeError),
    ],
)
def test_a_bad_parameter_is_named(
    parameter: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{parameter} must"):
        Cells(**{parameter: value})
