"""LoongFlow's agents explore more while the last scores do not move."""

from __future__ import annotations

import numpy as np
import pytest

from memory import EvolutionaryMemory, Settings, view
from memory.scaling.raw import Raw
from memory.selection.loongflow import LoongFlow

# Golden: the schedule of LoongFlow's agents at exploration 0.2 and window 5. Their further
# branch (four times below 0.001) cannot be reached, so 0.9 five times gives 0.4.
SCHEDULE = [
    ([0.9, 0.9, 0.9, 0.9, 0.9], 0.4),
    ([0.9, 0.895, 0.9, 0.9, 0.9], 0.4),
    ([0.9, 0.5, 0.9, 0.9, 0.9], 0.2),
    ([0.9], 0.4),
    ([0.1, 0.9, 0.9, 0.9, 0.9, 0.9], 0.4),
]


@pytest.mark.parametrize(("recent", "expected"), SCHEDULE)
def test_the_schedule_of_the_agents_is_reproduced(
    recent: list[float], expected: float
) -> None:
    seen = view([0.0, 5.0], elites=[True, True], recent=recent)
    law = LoongFlow(stagnation_factor=2.0).probabilities(seen, 1e-6)
    # The worse one is drawn by exploration alone.
    assert law[0] == pytest.approx(expected / 2)
    off = LoongFlow().probabilities(seen, 1e-6)
    assert off[0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("exploration", "factor", "expected"),
    [(0.5, 2.0, 0.9), (0.6, 2.0, 0.9), (0.95, 2.0, 0.95), (1.0, 1.5, 1.0), (0, 9, 0)],
)
def test_a_raised_exploration_stays_a_probability(
    exploration: float, factor: float, expected: float
) -> None:
    policy = LoongFlow(exploration=exploration, stagnation_factor=factor)
    seen = view([0.0, 5.0], elites=[True, True])
    assert policy.probabilities(seen, 1e-6)[0] == pytest.approx(expected / 2)


def test_a_memory_hands_its_last_scores_to_the_policy() -> None:
    policy = LoongFlow(stagnation_factor=2.0)
    memory = EvolutionaryMemory(Settings(selection=policy, scaling=Raw(), capacity=3))
    for k in range(5):
        memory.remember(f"{k}", float(k))
    memory.remember_failure("broken", "no")
    assert memory.view().recent == (0.0, 1.0, 2.0, 3.0, 4.0)
    for k in range(20):
        memory.remember(f"same {k}", 4.0)
    assert memory.view().recent[-5:] == (4.0,) * 5
    explored = np.mean([memory.select().step.explored for _ in range(2000)])
    assert 0.33 < explored < 0.47


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stagnation_factor": 0.5}, "stagnation_factor must be at least 1, got 0.5"),
        ({"stagnation_factor": "2"}, "stagnation_factor must be a finite real"),
        ({"stagnation_tolerance": 0.0}, "stagnation_tolerance must be positive"),
    ],
)
def test_bad_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        LoongFlow(**options)
