"""A plan is registered once, and what a study becomes afterwards is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.registration import PlanTampered, deviations, register, registered
from experiments.study import load


def test_a_plan_is_written_once_and_kept(tmp_path: Path) -> None:
    first = register(tmp_path, load(["study=smoke"]))
    again = register(tmp_path, load(["study=smoke", "study.seeds=9"]))
    assert again == first == registered(tmp_path)
    assert deviations(tmp_path, load(["study=smoke"])) == ()


def test_every_deviation_names_its_key(tmp_path: Path) -> None:
    register(tmp_path, load(["study=smoke"]))
    found = deviations(
        tmp_path, load(["study=smoke", "study.seeds=4", "study.margin=0.2"])
    )
    assert "margin: 0.2 now, 0.05 registered" in found
    assert any(line.startswith("seeds: [1, 2, 3, 4] now") for line in found)
    assert len(found) == 2
    tasks = deviations(tmp_path, load(["study=smoke", "study.budget=70"]))
    assert tasks == (
        "tasks.nguyen_1.budget: 70 now, 60 registered",
        "tasks.onemax_20.budget: 70 now, 60 registered",
    )


def test_a_plan_registered_after_the_data_says_so(tmp_path: Path) -> None:
    register(tmp_path, load(["study=smoke"]), known_cells=12)
    assert deviations(tmp_path, load(["study=smoke"])) == (
        "registered after 12 of its cells were known",
    )


def test_a_study_without_a_plan_says_so(tmp_path: Path) -> None:
    assert registered(tmp_path) is None
    assert deviations(tmp_path, load(["study=smoke"])) == (
        "the study was never registered",
    )


def test_a_plan_edited_by_hand_is_noticed(tmp_path: Path) -> None:
    register(tmp_path, load(["study=smoke"]))
    path = tmp_path / "plan.json"
    content = json.loads(path.read_text())
    content["plan"]["margin"] = 9.0
    path.write_text(json.dumps(content))
    with pytest.raises(PlanTampered, match="was edited"):
        deviations(tmp_path, load(["study=smoke"]))
    path.write_text("{}")
    with pytest.raises(PlanTampered, match="is no registered plan"):
        registered(tmp_path)
