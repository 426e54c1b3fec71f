"""What weight a new solution gets."""

from __future__ import annotations

import math

import pytest

from experiments import loop
from experiments.proposers.bit_flip import BitFlip
from experiments.tasks.pbo import Pbo
from experiments.weightings.lineage import Lineage
from experiments.weightings.unit import Unit
from memory import Settings, Solution
from memory.selection.loongflow import LoongFlow


def test_the_weights_of_loongflows_agents_grow_along_a_lineage() -> None:
    """Golden: scores .2, .5, .7, .9 at t = 1, 2, 3 of 10."""
    rule, weights = Lineage(), []
    parent = Solution(id="0", text="", score=0.2, weight=rule.weight(None, 0.2, 0.0))
    assert parent.weight == 0.05
    for t, score in enumerate((0.5, 0.7, 0.9), start=1):
        weight = rule.weight(parent, score, t / 10)
        weights.append(weight)
        parent = Solution(id=str(t), text="", score=score, weight=weight)
    assert weights == pytest.approx([2.36, 4.94, 8.06])


def test_only_a_negative_weight_becomes_the_floor() -> None:
    parent = Solution(id="0", text="", score=0.5, weight=0.01)
    assert Lineage().weight(parent, -1.0, 0.5) == 0.05
    assert Lineage(factor=0.0).weight(parent, 9.0, 0.5) == 0.01


def test_a_unit_weight_is_one() -> None:
    assert Unit().weight(None, 3.0, 0.5) == 1.0


def test_weights_reach_selection() -> None:
    def best_path(weighting: object) -> loop.Run:
        return loop.run(
            Pbo(function="OneMax", dimension=20).problem(1),
            BitFlip(),
            Settings(selection=LoongFlow(power=5.0)),
            names=("weights",),
            budget=80,
            initial=10,
            weighting=weighting,
        )

    assert best_path(None).digest == best_path(Unit()).digest
    assert best_path(Lineage()).digest != best_path(Unit()).digest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": -1.0}, "factor must not be negative, got -1.0"),
        ({"factor": math.nan}, "factor must be a finite real number"),
        ({"floor": 2.0}, r"floor must lie in \[0, 1\], got 2.0"),
    ],
)
def test_bad_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Lineage(**options)
