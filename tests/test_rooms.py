"""One file and one yaml per policy: rooms and configuration mirror each other."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest
from hydra.utils import get_class

from experiments.composition import Composer, built, plain
from experiments.study import ROOMS as STUDY_ROOMS
from experiments.study import load

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "diversity": "memory",
    "mapping": "memory",
    "temperature": "memory",
    "scaling": "memory",
    "selection": "memory",
    "survival": "memory",
    "ranking": "memory",
    "weights": "memory",
    "descriptors": "memory",
    "bounds": "memory",
    "assignment": "memory",
    "topology": "memory",
    "retention": "memory",
    "task": "experiments/tasks",
    "proposer": "experiments/proposers",
    "weighting": "experiments/weightings",
    "compressor": "memory/graded/compressors",
    "recall": "memory/graded",
}
#: Rooms that arms may leave empty.
OPTIONAL = ("compressor", "recall")
COMPOSER = Composer()
PAIRS = [(room, name) for room in ROOMS for name in COMPOSER.names(room)]


def composed(room: str, name: str) -> dict:
    """Returns a room's node as a study composes it, interpolations resolved."""
    if room == "mapping" or room in (*STUDY_ROOMS, *OPTIONAL):
        return plain(COMPOSER.compose("config", [f"{room}={name}"]))[room]
    if ROOMS[room] == "memory":
        return plain(COMPOSER.compose("config", [f"+{room}={name}"]))[room]
    return COMPOSER.node(room, name)


@pytest.mark.parametrize("room", ROOMS)
def test_every_policy_has_a_yaml_of_the_same_name(room: str) -> None:
    home = ROOMS[room]
    folder = ROOT / home / room if home == "memory" else ROOT / home
    sources = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    if room == "recall":
        # The one policy of its kind, which lies beside what is none.
        sources &= {"recall"}
    assert sources == set(COMPOSER.names(room))


@pytest.mark.parametrize(("room", "name"), PAIRS)
def test_every_yaml_builds_its_policy_with_the_defaults_of_the_class(
    room: str, name: str
) -> None:
    node = composed(room, name)
    policy = built(node, name)
    target = get_class(node["_target_"])
    assert target.__module__.rsplit(".", 1)[1] == name
    assert target.__name__.lower() == name.replace("_", "")
    fields = {field.name: field for field in dataclasses.fields(policy)}
    assert set(fields) == set(node) - {"_target_"}
    for key, field in fields.items():
        if field.default is not dataclasses.MISSING:
            assert node[key] == field.default, key


@pytest.mark.parametrize(("room", "name"), PAIRS)
def test_every_yaml_says_in_one_line_what_it_is(room: str, name: str) -> None:
    comment = COMPOSER.comment(room, name)
    assert comment.endswith((".", "?"))
    assert len(comment) <= 100


@pytest.mark.parametrize("group", ["arm", "study", "profile"])
def test_every_arm_study_and_profile_says_what_it_is(group: str) -> None:
    for name in COMPOSER.names(group):
        assert COMPOSER.comment(group, name), name


@pytest.mark.parametrize("name", COMPOSER.names("arm"))
def test_an_arm_is_a_difference_of_few_lines(name: str) -> None:
    lines = (ROOT / "conf" / "arm" / f"{name}.yaml").read_text("utf-8").splitlines()
    assert lines[0] == "# @package _global_"
    assert 3 <= len(lines) <= 12
    # Arms of a graded memory belong to studies whose tasks use one.
    graded = any(f"override /{room}:" in line for line in lines for room in OPTIONAL)
    (arm,) = load([f"study={'compression' if graded else 'smoke'}", f"arm={name}"]).arms
    assert (arm.graded is not None) == graded
    assert arm.settings.capacity >= 1


@pytest.mark.parametrize("name", COMPOSER.names("study"))
def test_every_study_composes_under_its_own_name(name: str) -> None:
    study = load([f"study={name}"])
    assert study.name == name
    assert study.question.endswith("?")
    labels = [task.label for task in study.tasks]
    assert len(set(labels)) == len(labels)


def test_every_policy_is_documented() -> None:
    for room, name in PAIRS:
        target = get_class(composed(room, name)["_target_"])
        assert inspect.getdoc(target), name
        assert inspect.getmodule(target).__doc__, name
