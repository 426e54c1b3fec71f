"""LoongFlow's grid gives LoongFlow's numbers, bin by bin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.interop.loongflow_grid import (
    REFERENCES,
    VALUES_KEPT,
    RunningBins,
    RunningGrid,
    coordinates_of,
    default_feature_bins,
    mean_difference,
    pair_difference,
    reference_set,
)

GOLDEN = json.loads(Path(__file__).with_name("loongflow.json").read_text("utf-8"))
BINS = GOLDEN["bins"]


@pytest.mark.parametrize(("elites", "dimensions", "bins"), BINS["default_feature_bins"])
def test_the_default_number_of_bins_is_the_root_rounded_up(
    elites: int, dimensions: int, bins: int
) -> None:
    assert default_feature_bins(elites, dimensions) == bins


def test_an_archive_of_none_has_one_bin_and_no_division_by_zero() -> None:
    assert default_feature_bins(0, 3) == 1
    with pytest.raises(ValueError, match="n_dimensions must be at least 1, got 0"):
        default_feature_bins(50, 0)


@pytest.mark.parametrize("case", BINS["sequences"], ids=lambda c: f"{c['method']}")
def test_running_bins_are_those_of_loongflow(case: dict[str, Any]) -> None:
    bins = RunningBins(case["bins"], case["method"])
    assert [bins.bin(value) for value in case["values"]] == case["out"]
    assert (bins.minimum, bins.maximum) == (case["final_min"], case["final_max"])


def test_equal_values_land_in_other_bins_as_the_bounds_widen() -> None:
    bins = RunningBins(4)
    lengths = [100, 100, 200, 100, 1000, 100, 200]
    assert [bins.bin(length) for length in lengths] == [2, 2, 3, 0, 3, 0, 0]


def test_only_the_last_thousand_values_are_kept() -> None:
    bins = RunningBins(10, "percentile")
    for _ in range(VALUES_KEPT):
        bins.bin(0.0)
    assert bins.bin(-1.0) == 0
    for _ in range(VALUES_KEPT):
        bins.bin(5.0)
    assert bins.values == [5.0] * VALUES_KEPT
    assert bins.bin(1.0) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1"])
def test_what_is_no_number_does_not_spoil_the_bounds(value: Any) -> None:
    bins = RunningBins(4)
    bins.bin(1.0)
    with pytest.raises((TypeError, ValueError), match="value must be a finite real"):
        bins.bin(value)
    assert (bins.minimum, bins.maximum) == (1.0, 1.0)


@pytest.mark.parametrize(("first", "second", "difference"), BINS["pair_difference"])
def test_the_difference_of_two_texts_is_that_of_loongflow(
    first: str, second: str, difference: float
) -> None:
    assert pair_difference(first, second) == difference


def test_the_difference_of_two_texts_depends_on_their_order() -> None:
    assert pair_difference("abc", "aab") == 0.5
    assert pair_difference("aab", "abc") == 0.0


@pytest.mark.parametrize("case", BINS["reference_set"])
def test_the_reference_set_is_chosen_as_by_loongflow(case: dict[str, Any]) -> None:
    texts = case["texts"]
    chosen = reference_set(list(texts.values()), case["size"])
    assert chosen == [texts[name] for name in case["chosen_in_order"]]


def test_few_texts_are_their_own_reference_set() -> None:
    assert reference_set(["a", "b", "a"]) == ["a", "b", "a"]
    assert mean_difference("a", ["a", "a"]) == 0.0
    assert mean_difference("a", ["a", "ab", "a\n"]) == pytest.approx((0.6 + 10.6) / 2)


@pytest.mark.parametrize("case", BINS["map_elites"], ids=lambda c: c["name"])
def test_coordinates_cells_and_elites_are_those_of_loongflow(
    case: dict[str, Any],
) -> None:
    config = case["config"]
    grid = RunningGrid(
        n_bins=config.get("feature_bins", 4), islands=config.get("num_islands", 3)
    )
    found = [
        grid.add(f"s{index}", text, score, island)
        for index, (text, score, island, _) in enumerate(case["adds"])
    ]
    assert found == [coordinates for *_, coordinates in case["adds"]]
    assert grid.feature_maps == case["final_feature_maps"]
    assert sorted(grid.elites) == case["elites"]


def test_the_reference_set_stays_once_it_is_complete() -> None:
    grid = RunningGrid()
    for index in range(300):
        grid.add(f"s{index}", "x" * (index + 1), index + 1.0)
    assert len(grid.references) == REFERENCES
    assert max(map(len, grid.references)) == REFERENCES


def test_who_left_holds_no_cell_and_is_no_elite() -> None:
    grid = RunningGrid()
    grid.add("a", "text", 1.0)
    grid.remove("a")
    assert grid.feature_maps == [{}]
    assert grid.elites == []


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ([], "must be some of complexity, diversity, score, got"),
        (["colour"], "must be some of complexity, diversity, score, got"),
        (["score", "score"], "feature_dimensions must differ, got"),
        ("score", "feature_dimensions must be a list of names, got 'score'"),
    ],
)
def test_dimensions_are_checked_where_they_are_given(
    dimensions: Any, message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        RunningGrid(dimensions)


@given(
    scores=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    method=st.sampled_from(["minmax", "percentile"]),
    order=st.randoms(use_true_random=False),
)
def test_bins_of_the_living_do_not_depend_on_the_order_of_arrival(
    scores: list[float], method: str, order: Any
) -> None:
    living = {f"s{k}": ("x" * (k % 7 + 1), score) for k, score in enumerate(scores)}
    shuffled = list(living)
    order.shuffle(shuffled)

    def coordinates(ids: list[str]) -> dict[str, dict[str, int]]:
        texts = {id_: living[id_] for id_ in ids}
        names = ("complexity", "score")
        return coordinates_of(texts, names, 4, method, lambda text: 0.0)

    found = coordinates(list(living))
    assert found == coordinates(shuffled)
    assert all(0 <= bin_ < 4 for bins in found.values() for bin_ in bins.values())
