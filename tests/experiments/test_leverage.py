"""Leverage says which dials are dead before anything is spent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.leverage import leverages
from experiments.study import Contrast, load

STUDY = load(
    [
        "study=smoke",
        "study.arms=[loongflow_fixed,loongflow_original,loongflow_sample_5,uniform,"
        "ranked_fixed,ranked_cold,ranked_twin]",
        "study.contrasts=[]",
        "study.budget=120",
    ]
)


def pair(arm: str, base: str) -> Contrast:
    return Contrast(arm, base, "")


def test_equal_laws_have_no_leverage_and_different_ones_have_some() -> None:
    pairs = [
        pair("ranked_twin", "ranked_fixed"),
        pair("ranked_cold", "ranked_fixed"),
        pair("uniform", "ranked_fixed"),
        pair("loongflow_original", "loongflow_fixed"),
    ]
    found = leverages(STUDY, pairs)
    assert found["ranked_twin", "ranked_fixed"].distance == 0.0
    assert found["uniform", "ranked_fixed"].distance > 0.5
    assert 0.1 < found["ranked_cold", "ranked_fixed"].distance < 0.6
    loongflow = found["loongflow_original", "loongflow_fixed"]
    # The tournament of five makes the temperature nearly irrelevant.
    assert loongflow.distance < 0.1
    assert loongflow.temperatures[1] == 1.0
    assert loongflow.temperatures[0] < 1.0
    assert leverages(STUDY, pairs) == found


def test_a_dial_on_a_constant_diversity_is_dead() -> None:
    bits = replace(STUDY, tasks=STUDY.tasks[:1])
    found = leverages(bits, [pair("loongflow_sample_5", "loongflow_original")])
    # text_shape sees no difference between strings of bits, however many it samples.
    leverage = found["loongflow_sample_5", "loongflow_original"]
    assert leverage.distance == pytest.approx(0.0, abs=1e-12)
    assert leverage.temperatures == pytest.approx((0.6, 0.6))


def test_a_replayed_arm_is_measured_with_the_temperatures_it_replays() -> None:
    arms = "[ranked_inverted,ranked_inverted_schedule,ranked_inverted_mean]"
    study = load(["study=smoke", f"study.arms={arms}", "study.contrasts=[]"])
    found = leverages(
        study,
        [
            pair("ranked_inverted", "ranked_inverted_schedule"),
            pair("ranked_inverted", "ranked_inverted_mean"),
        ],
    )
    for leverage in found.values():
        assert 0.0 < leverage.distance < 0.5
        assert leverage.temperatures[0] != leverage.temperatures[1]


def test_lineage_weights_have_leverage() -> None:
    arms = "[lineage_weights_5,lineage_weights_1,loongflow_original]"
    study = load(["study=smoke", f"study.arms={arms}", "study.contrasts=[]"])
    found = leverages(
        study,
        [
            pair("lineage_weights_5", "loongflow_original"),
            pair("lineage_weights_5", "lineage_weights_1"),
        ],
    )
    for leverage in found.values():
        assert leverage.distance > 0.1


def test_arms_of_other_sizes_and_islands_are_compared_solution_by_solution() -> None:
    arms = "[panmictic,panmictic_twin,isolated,migrating_ring,ranked_fixed]"
    study = load(
        ["study=smoke", f"study.arms={arms}", "study.contrasts=[]", "study.budget=120"]
    )
    pairs = [
        pair("isolated", "panmictic"),
        pair("panmictic", "isolated"),
        pair("panmictic_twin", "panmictic"),
        pair("panmictic", "ranked_fixed"),
        pair("migrating_ring", "isolated"),
    ]
    found = leverages(study, pairs)
    for one in pairs:
        distance = found[one.arm, one.base].distance
        same = one.arm == "panmictic_twin"
        assert (distance == 0.0) if same else (0.05 < distance <= 1.0), one


def test_what_becomes_of_the_dead_has_no_leverage() -> None:
    grid = (
        "study.grids=[{name: dead, arm: ranked_fixed, over: "
        "{retention: [keep_all, keep_living], capacity: [20]}}]"
    )
    study = load(["study=smoke", "study.arms=[]", "study.contrasts=[]", grid])
    one, other = (arm.name for arm in study.arms)
    pairs = [pair(one, other), pair(other, one)]
    assert {found.distance for found in leverages(study, pairs).values()} == {0.0}
