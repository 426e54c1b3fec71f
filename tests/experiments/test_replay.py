"""A yoked arm has the temperatures of another run of the same arm, and no feedback."""

from __future__ import annotations

import pytest

from experiments import cells, loop
from experiments.study import ConfigurationError, load

ARM = ["natural_diversity=true", "temperature=adaptive", "temperature.base=0.1"]
SMALL = ["study=smoke", "study.seeds=2", "study.budget=80"]


def rows(*overrides: str) -> list[dict]:
    study = load([*SMALL, *overrides])
    return [cells.computed(study, cell) for cell in cells.cells_of(study)]


def test_a_replayed_schedule_is_that_of_a_donor_and_not_the_runs_own() -> None:
    own, yoked = rows(*ARM), rows(*ARM, "replay=schedule")
    assert all(row["status"] == "ok" for row in yoked)
    for one, other in zip(own, yoked, strict=True):
        assert one["cell"] != other["cell"]
        assert one["trajectory"]["temperature"] != other["trajectory"]["temperature"]
        # A donor of the same arm has about the same level.
        ratio = one["mean_temperature"] / other["mean_temperature"]
        assert 0.7 < ratio < 1.4


def test_a_replayed_mean_is_one_temperature() -> None:
    for row in rows(*ARM, "replay=mean"):
        temperatures = row["trajectory"]["temperature"]
        assert max(temperatures) == min(temperatures) > 0.0


def test_a_fixed_arm_is_its_own_replay() -> None:
    plain, yoked = (
        rows("temperature=fixed"),
        rows("temperature=fixed", "replay=schedule"),
    )
    assert [row["digest"] for row in plain] == [row["digest"] for row in yoked]


def test_a_schedule_has_one_temperature_for_every_scored_solution() -> None:
    study = load([*SMALL, *ARM])
    outcome = loop.run(
        study.tasks[0].task.problem(1),
        study.tasks[0].proposer,
        study.arms[0].settings,
        names=("schedule",),
        budget=60,
        initial=10,
    )
    assert len(outcome.schedule) == 59
    assert len(set(outcome.schedule[:10])) == 1


def test_an_unknown_replay_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigurationError, match="replay must be one of nothing"):
        load([*SMALL, "replay=backwards"])
