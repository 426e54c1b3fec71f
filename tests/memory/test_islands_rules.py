"""Where solutions and migrants go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.assignment.emptiest import Emptiest
from memory.assignment.inherited import Inherited
from memory.assignment.round_robin import RoundRobin
from memory.policies import Topology
from memory.topology.complete import Complete
from memory.topology.ring import Ring
from memory.topology.star import Star

TOPOLOGIES: dict[str, Topology] = {
    "ring": Ring(),
    "both_ways": Ring(both_ways=True),
    "complete": Complete(),
    "star": Star(),
}


def test_a_child_inherits_the_island_of_its_parent() -> None:
    assert [Inherited().island(origin, [9, 0, 0], 4) for origin in range(3)] == [
        0,
        1,
        2,
    ]


def test_roots_go_round_in_turn() -> None:
    found = [Inherited().island(None, [0, 0, 0], n) for n in range(7)]
    assert found == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_does_not_look_at_parents_or_sizes() -> None:
    found = [RoundRobin().island(2, [0, 7, 1], n) for n in range(7)]
    assert found == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([3, 2, 1], 2), ([0, 0, 0], 0), ([5, 1, 1], 1), ([4], 0)],
)
def test_the_emptiest_is_the_lowest_of_the_smallest(
    sizes: list[int], expected: int
) -> None:
    assert Emptiest().island(0, sizes, 11) == expected
    assert Emptiest().island(None, tuple(sizes), 0) == expected


def test_filling_the_emptiest_keeps_sizes_within_one() -> None:
    sizes = [0, 0, 0, 0]
    for n in range(30):
        sizes[Emptiest().island(1, sizes, n)] += 1
    assert sizes == [8, 8, 7, 7]


@pytest.mark.parametrize(
    ("name", "n_islands", "expected"),
    [
        ("ring", 4, [(1,), (2,), (3,), (0,)]),
        ("both_ways", 4, [(1, 3), (2, 0), (3, 1), (0, 2)]),
        ("both_ways", 2, [(1,), (0,)]),
        ("complete", 4, [(1, 2, 3), (2, 3, 0), (3, 0, 1), (0, 1, 2)]),
        ("star", 4, [(1, 2, 3), (0,), (0,), (0,)]),
        ("star", 2, [(1,), (0,)]),
    ],
)
def test_targets_are_those_of_the_picture(
    name: str, n_islands: int, expected: list[tuple[int, ...]]
) -> None:
    found = [tuple(TOPOLOGIES[name].targets(k, n_islands)) for k in range(n_islands)]
    assert found == expected


@pytest.mark.parametrize("name", TOPOLOGIES)
@given(n_islands=st.integers(2, 12))
def test_targets_are_other_islands_each_once_and_reach_everyone(
    name: str, n_islands: int
) -> None:
    reached = [0]
    for island in range(n_islands):
        targets = list(TOPOLOGIES[name].targets(island, n_islands))
        assert targets
        assert island not in targets
        assert len(dict.fromkeys(targets)) == len(targets)
        assert all(0 <= target < n_islands for target in targets)
    for island in reached:
        reached += [
            target
            for target in TOPOLOGIES[name].targets(island, n_islands)
            if target not in reached
        ]
    assert sorted(reached) == list(range(n_islands))


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_ring_open_both_ways_is_said_by_a_bool(value: Any) -> None:
    with pytest.raises(TypeError, match="both_ways must be true or false, got"):
        Ring(value)
