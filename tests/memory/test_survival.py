"""Survival rules against plain restatements, and the distances that crowding reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.policies import Candidates, Diversity, Survival
from memory.survival.cell_aware import CellAware
from memory.survival.crowding import Crowding
from memory.survival.oldest import Oldest
from memory.survival.worst import Worst

RULES: dict[str, Survival] = {
    "worst": Worst(),
    "oldest": Oldest(),
    "crowding": Crowding(),
    "cell_aware": CellAware(),
}
every_rule = pytest.mark.parametrize("name", RULES)


def champions_of(scores: np.ndarray, seqs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Returns who is the best of its cell, the oldest on ties."""
    flags = np.zeros(scores.size, dtype=bool)
    for cell in np.unique(cells):
        members = np.flatnonzero(cells == cell)
        flags[min(members, key=lambda k: (-scores[k], seqs[k]))] = True
    return flags


def nowhere(index: int) -> np.ndarray:
    raise AssertionError("no distance is needed")


def staged(
    scores: list[float],
    seqs: list[int] | None = None,
    cells: list[int] | None = None,
    distances: Callable[[int], np.ndarray] = nowhere,
) -> Candidates:
    values = np.array(scores, dtype=np.float64)
    order = np.arange(1, values.size + 1) if seqs is None else np.array(seqs)
    grid = None if cells is None else np.array(cells)
    champions = None if grid is None else champions_of(values, order, grid)
    return Candidates(values, order, grid, champions, distances)


@st.composite
def crowds(draw: st.DrawFn) -> Candidates:
    n = draw(st.integers(2, 9))
    scores = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    seqs = [*draw(st.permutations(range(1, n))), n]
    cells = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    # Points on a line: distances that tie, and some of zero.
    places = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return staged(
        [float(score) for score in scores],
        seqs,
        cells,
        lambda index: np.abs(places - places[index]).astype(np.float64),
    )


def ranked(crowd: Candidates) -> list[int]:
    """Returns the indices from the best to the worst, the older first on ties."""
    return sorted(
        range(crowd.scores.size), key=lambda k: (-crowd.scores[k], crowd.seqs[k])
    )


@every_rule
@given(crowd=crowds(), data=st.data())
def test_the_order_of_the_living_decides_nothing(
    name: str, crowd: Candidates, data: st.DataObject
) -> None:
    newcomer = crowd.scores.size - 1
    order = np.array([*data.draw(st.permutations(range(newcomer))), newcomer])
    scores, seqs, cells, champions, distances = crowd
    assert cells is not None
    assert champions is not None
    moved = Candidates(
        scores[order],
        seqs[order],
        cells[order],
        champions[order],
        lambda index: distances(int(order[index]))[order],
    )
    assert order[RULES[name].victim(moved)] == RULES[name].victim(crowd)


@every_rule
@given(crowd=crowds())
def test_the_best_never_leaves(name: str, crowd: Candidates) -> None:
    assert RULES[name].victim(crowd) != ranked(crowd)[0]


@every_rule
@pytest.mark.parametrize(
    ("scores", "expected"), [([1.0, 2.0], 0), ([2.0, 1.0], 1), ([1.0, 1.0], 1)]
)
@pytest.mark.parametrize("cells", [[0, 0], [0, 1]])
def test_room_for_one_keeps_the_better_and_the_older_on_a_tie(
    name: str, scores: list[float], expected: int, cells: list[int]
) -> None:
    crowd = staged(scores, None, cells, lambda _: np.array([0.5, 0.0]))
    assert RULES[name].victim(crowd) == expected


@given(crowd=crowds())
def test_worst_is_the_lowest_oldest_of_those_that_are_not_protected(
    crowd: Candidates,
) -> None:
    victim, newcomer = Worst().victim(crowd), crowd.scores.size - 1
    if newcomer == 1:
        assert victim == ranked(crowd)[1]
        return
    best = next(k for k in ranked(crowd) if k != newcomer)
    common = [k for k in range(newcomer) if k != best]
    assert victim == min(common, key=lambda k: (crowd.scores[k], crowd.seqs[k]))


def test_the_newcomer_has_its_chance_under_worst() -> None:
    assert Worst().victim(staged([3.0, 2.0, 1.0, 0.0])) == 2


@given(crowd=crowds())
def test_oldest_is_the_first_that_is_not_the_best(crowd: Candidates) -> None:
    best = ranked(crowd)[0]
    others = [k for k in range(crowd.scores.size) if k != best]
    assert Oldest().victim(crowd) == min(others, key=lambda k: crowd.seqs[k])


def test_the_best_leaves_by_age_once_it_is_beaten() -> None:
    assert Oldest().victim(staged([5.0, 1.0, 2.0])) == 1
    assert Oldest().victim(staged([5.0, 1.0, 6.0])) == 0
    assert Oldest().victim(staged([5.0, 1.0, 6.0], [2, 1, 3])) == 1


@given(crowd=crowds())
def test_crowding_is_a_duel_with_the_most_similar(crowd: Candidates) -> None:
    order, newcomer = ranked(crowd), crowd.scores.size - 1
    gaps = crowd.distances(newcomer)
    rivals = [k for k in range(newcomer) if gaps[k] == gaps[:newcomer].min()]
    rival = max(rivals, key=order.index)
    assert Crowding().victim(crowd) == max(rival, newcomer, key=order.index)


def test_crowding_spares_the_niches_of_others() -> None:
    gaps = np.array([0.9, 0.1, 0.8, 0.0])
    better = staged([0.0, 1.0, 5.0, 2.0], distances=lambda _: gaps)
    assert Crowding().victim(better) == 1
    worse = staged([0.0, 1.0, 5.0, 0.5], distances=lambda _: gaps)
    assert Crowding().victim(worse) == 3


def test_crowding_asks_for_the_distances_of_the_newcomer_alone() -> None:
    asked = []

    def distances(index: int) -> np.ndarray:
        asked.append(index)
        return np.array([0.1, 0.2, 0.0])

    Crowding().victim(staged([1.0, 2.0, 3.0], distances=distances))
    assert asked == [2]


def test_a_distance_that_is_nan_is_refused() -> None:
    crowd = staged([1.0, 2.0, 3.0], distances=lambda _: np.array([0.1, np.nan, 0.0]))
    with pytest.raises(ValueError, match="distances must not be NaN, got"):
        Crowding().victim(crowd)


@given(crowd=crowds())
def test_cell_aware_takes_the_worst_that_is_no_champion(crowd: Candidates) -> None:
    assert crowd.champions is not None
    victim, newcomer = CellAware().victim(crowd), crowd.scores.size - 1
    if newcomer == 1:
        assert victim == ranked(crowd)[1]
        return
    common = np.flatnonzero(~crowd.champions).tolist()
    if not common:
        best = next(k for k in ranked(crowd) if k != newcomer)
        common = [k for k in range(newcomer) if k != best]
    assert victim == min(common, key=lambda k: (crowd.scores[k], crowd.seqs[k]))


def test_a_poor_champion_outlives_a_good_solution_of_a_crowded_cell() -> None:
    assert CellAware().victim(staged([9.0, 8.0, 0.1, 8.5], None, [0, 0, 1, 0])) == 1
    assert CellAware().victim(staged([9.0, 8.0, 0.1, 7.0], None, [0, 0, 1, 0])) == 3


def test_where_all_are_champions_the_worst_leaves_but_not_the_newcomer() -> None:
    assert CellAware().victim(staged([3.0, 2.0, 4.0, 0.0], None, [0, 1, 2, 3])) == 1


def test_cell_aware_needs_a_grid() -> None:
    with pytest.raises(ValueError, match="CellAware needs a grid, got None"):
        CellAware().victim(staged([1.0, 2.0, 3.0]))


texts = st.one_of(
    st.text("ab\n", max_size=6), st.text(st.characters(codec="utf-8"), max_size=12)
)


@given(
    first=texts,
    second=texts,
    metric=st.sampled_from(
        [
            Hamming(),
            Hamming(sample_size=2),
            TextShape(),
            TextShape(2),
            TextShape(1, sample_pairs=True),
        ]
    ),
)
def test_a_distance_is_the_measure_of_the_two_texts_to_the_last_bit(
    first: str, second: str, metric: Diversity
) -> None:
    features = metric.features(first), metric.features(second)
    rng = np.random.default_rng(0)
    assert metric.distance(*features) == metric.measure([first, second], rng)
    assert metric.distance(*features) == metric.distance(*features[::-1])
    assert metric.distance(features[0], features[0]) == 0.0


def test_distances_match_those_worked_by_hand() -> None:
    hamming, shape = Hamming(), TextShape()
    assert hamming.distance("0001", "1110") == 1.0
    assert hamming.distance("0001", "001") == 2 / 4
    # Lengths 6 and 3, newlines 2 and 0, four characters of which two are shared.
    found = shape.distance(shape.features("b\na\nbc"), shape.features("abb"))
    assert found == pytest.approx(0.4 * 3 / 6 + 0.3 * 2 / 2 + 0.3 * 2 / 4, abs=1e-15)
