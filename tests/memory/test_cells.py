"""The grid matters: cells are fixed, champions are kept, and selection draws from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import Axis, ConfigurationMismatch, EvolutionaryMemory, Settings
from memory.bounds.fixed import Fixed
from memory.bounds.percentile import Percentile
from memory.descriptors.length import Length
from memory.descriptors.reference_distance import ReferenceDistance
from memory.descriptors.score import Score
from memory.diversity.text_shape import TextShape
from memory.grid import cell, n_cells
from memory.selection.cells import Cells
from memory.stores.in_memory import InMemoryJournal
from memory.survival.cell_aware import CellAware
from memory.survival.worst import Worst

LENGTH = Axis(Length(), Fixed(0.0, 20.0, 4))
SCORE = Axis(Score(), Fixed(0.0, 1.0, 3))


@dataclass(frozen=True, slots=True)
class Vowels:
    """A descriptor of somebody's own."""

    letters: str = "aeiou"

    def value(self, text: str, score: float) -> float:
        return float(sum(text.count(letter) for letter in self.letters))


def cells_of(memory: EvolutionaryMemory) -> dict[str, int]:
    view = memory.view()
    assert view.cells is not None
    return dict(zip(memory.ids, view.cells.tolist(), strict=True))


def champions_of(memory: EvolutionaryMemory) -> set[str]:
    view = memory.view()
    assert view.champions is not None
    return {memory.ids[slot] for slot in np.flatnonzero(view.champions)}


def test_the_order_of_arrival_decides_no_cell() -> None:
    lengths = [100, 100, 200, 100, 1000, 40, 200]
    axes = (Axis(Length(), Percentile([50.0, 100.0, 150.0, 300.0], 4)), SCORE)
    found = set()
    for order in list(permutations(range(7)))[::131]:
        memory = EvolutionaryMemory(Settings(axes=axes))
        for k in order:
            memory.remember("x" * lengths[k], k / 7, id=f"{k}")
        found.add(tuple(sorted(cells_of(memory).items())))
    assert len(found) == 1


def test_the_last_axis_counts_fastest() -> None:
    axes = (LENGTH, SCORE)
    assert n_cells(axes) == 12
    assert [cell(axes, (length, 0.5)) for length in (0, 6, 11, 99)] == [1, 4, 7, 10]
    assert [cell(axes, (0, score)) for score in (-5, 0.5, 7)] == [0, 1, 2]
    with pytest.raises(ValueError, match="descriptors must be 2 numbers, one per axis"):
        cell(axes, (1.0,))


@given(
    st.lists(
        st.tuples(st.integers(0, 25), st.sampled_from([0.0, 0.3, 0.6, 1.0])),
        min_size=1,
        max_size=50,
    ),
    st.integers(1, 8),
    st.sampled_from([Worst(), CellAware()]),
)
@settings(deadline=None)
def test_the_champion_of_a_cell_is_its_best_the_oldest_on_ties(
    made: list[tuple[int, float]], capacity: int, survival: Any
) -> None:
    configuration = Settings(
        axes=(LENGTH,), capacity=capacity, survival=survival, elite_size=2
    )
    memory = EvolutionaryMemory(configuration)
    for k, (length, score) in enumerate(made):
        memory.remember("x" * length, score, id=f"{k:03d}")
        cells, best = cells_of(memory), {}
        for one in sorted(memory.living(), key=lambda one: one.id):
            held = best.get(cells[one.id])
            if held is None or one.score > held.score:
                best[cells[one.id]] = one
        assert champions_of(memory) == {one.id for one in best.values()}


def test_a_champion_of_a_weak_cell_survives_whatever_the_others_score() -> None:
    def survivors(survival: Any) -> set[str]:
        configuration = Settings(axes=(LENGTH,), capacity=8, survival=survival)
        memory = EvolutionaryMemory(configuration)
        memory.remember("x" * 19, 0.01, id="weak and long")
        for k in range(500):
            memory.remember("x" * (k % 15), 0.5 + k / 1_000)
        return set(memory.ids)

    assert "weak and long" in survivors(CellAware())
    assert "weak and long" not in survivors(Worst())


def test_selection_from_cells_gives_every_cell_its_share() -> None:
    configuration = Settings(axes=(LENGTH,), selection=Cells())
    memory = EvolutionaryMemory(configuration)
    for k in range(30):
        memory.remember("x" * (k % 5), k / 30)
    memory.remember("x" * 18, -3.0, id="alone")
    ids, law = memory.law()
    assert dict(zip(ids, law, strict=True))["alone"] == pytest.approx(0.5)
    drawn = [memory.select().id for _ in range(400)]
    assert 140 < drawn.count("alone") < 260


def test_selection_may_draw_champions_alone() -> None:
    configuration = Settings(
        axes=(LENGTH,), selection=Cells(champions_only=True), capacity=20
    )
    memory = EvolutionaryMemory(configuration)
    for k in range(40):
        memory.remember("x" * (k % 17), float(k * 7 % 13))
    assert {memory.select().id for _ in range(300)} == champions_of(memory)


@pytest.mark.parametrize("policy", [{"selection": Cells()}, {"survival": CellAware()}])
def test_a_policy_of_cells_without_a_grid_is_refused_at_construction(
    policy: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match="axes must not be empty for Cell"):
        Settings(**policy)


def test_a_descriptor_of_ones_own_is_used_and_joins_are_compared_by_it() -> None:
    journal = InMemoryJournal()
    mine = (Axis(Vowels(), Fixed(0.0, 4.0, 4)),)
    memory = EvolutionaryMemory(Settings(axes=mine), journal)
    for text in ("rhythm", "queue", "sky high"):
        memory.remember(text, 0.5, id=text)
    assert cells_of(memory) == {"rhythm": 0, "queue": 3, "sky high": 1}
    theirs = (Axis(Vowels("y"), Fixed(0.0, 4.0, 4)),)
    with pytest.raises(ConfigurationMismatch, match=r"axes.*aeiou.*there|axes"):
        EvolutionaryMemory(Settings(axes=theirs), journal)


def test_the_distance_from_references_moves_with_nobody() -> None:
    axis = Axis(ReferenceDistance(TextShape(), ("abc", "def\n")), Fixed(0.0, 1.3, 6))
    memory = EvolutionaryMemory(Settings(axes=(axis,)))
    memory.remember("abcabc", 0.5, id="first")
    before = cells_of(memory)["first"]
    for k in range(60):
        memory.remember("zyx\n" * k, 0.5)
    memory.remember("abcabc", 0.5, id="last")
    assert cells_of(memory)["last"] == before


class Wrong:
    def __init__(self, value: Any = 0.5, bin_: Any = 0) -> None:
        self.given, self.bin_, self.n_bins = value, bin_, 3

    def value(self, text: str, score: float) -> Any:
        return math.nan if self.given is None else self.given

    def bin(self, value: float) -> Any:
        return self.bin_


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (
            Axis(Wrong(None), Wrong()),
            "descriptor Wrong of axis 0 must be a fin",
        ),
        (Axis(Wrong("long"), Wrong()), "descriptor Wrong of axis 0 must be a finite"),
        (Axis(Wrong(), Wrong(bin_=3)), r"Wrong must give a bin in \[0, 3\), got 3"),
        (Axis(Wrong(), Wrong(bin_=-1)), r"Wrong must give a bin in \[0, 3\), got -1"),
    ],
)
def test_a_wrong_descriptor_or_bin_is_refused_before_anything_is_written(
    axis: Axis, message: str
) -> None:
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(axes=(axis,)), journal)
    with pytest.raises((TypeError, ValueError), match=message):
        memory.remember("x", 0.5)
    assert len(journal.read(0)) == 1
    memory.sync()
    assert len(memory) == 0


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (LENGTH, "axes must be a tuple of Axis"),
        ([Length()], r"axes\[0\] must be an Axis, got Length"),
        ([Axis(Length(), Fixed(0.0, 1.0, 2**31))] * 2, None),
        ([Axis(Length(), Fixed(0.0, 1.0, 2**32))] * 2, r"cells must be at most 2\^62"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_by_name(
    axes: Any, message: str | None
) -> None:
    if message is None:
        assert Settings(axes=axes).axes == tuple(axes)
        return
    with pytest.raises((TypeError, ValueError), match=message):
        Settings(axes=axes)


def test_an_axis_needs_a_descriptor_and_bounds() -> None:
    with pytest.raises(
        TypeError, match="descriptor must be a policy with a method val"
    ):
        Axis(Fixed(0.0, 1.0, 2), Fixed(0.0, 1.0, 2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bounds must be a policy with a method bin"):
        Axis(Length(), Length)  # type: ignore[arg-type]


def test_the_share_of_cells_in_use_is_the_share_of_cells_in_use() -> None:
    memory = EvolutionaryMemory(Settings(axes=(LENGTH, SCORE)))
    memory.remember("x", 0.5)
    memory.remember("y", 0.4)
    used = len(set(cells_of(memory).values()))
    assert used / n_cells(memory.settings.axes) == 1 / 12


def test_each_island_has_champions_of_its_own() -> None:
    memory = EvolutionaryMemory(Settings(axes=(LENGTH,), islands=2))
    memory.remember("x", 0.9, island=0, id="a")
    memory.remember("y", 0.1, island=1, id="b")
    assert champions_of(memory) == {"a", "b"}
