"""The population is a fold: cap, survival, elites, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, Settings
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.mapping.inverted import Inverted
from memory.survival.worst import Worst
from memory.temperature.adaptive import Adaptive

scores = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=60)


def filled(scores: list[float], **options: Any) -> EvolutionaryMemory:
    memory = EvolutionaryMemory(Settings(**options), InMemoryJournal())
    for index, score in enumerate(scores):
        memory.remember(f"text {index}", score, id=f"s{index}")
    return memory


@given(scores, st.integers(1, 12), st.integers(0, 8))
@settings(deadline=None)
def test_the_living_match_a_plain_model_of_the_rules(
    scores: list[float], capacity: int, elite_size: int
) -> None:
    living: list[tuple[float, int]] = []
    elites: list[tuple[float, int]] = []
    memory = EvolutionaryMemory(Settings(capacity=capacity, elite_size=elite_size))
    for index, score in enumerate(scores):
        memory.remember(f"t{index}", score, id=str(index))
        newcomer = (score, index)
        living.append(newcomer)
        if len(elites) < elite_size:
            elites.append(newcomer)
        elif elite_size and score > min(elites)[0]:
            elites.remove(min(elites))
            elites.append(newcomer)
        if len(living) > capacity:
            before = [p for p in living if p != newcomer]
            best = min(p for p in before if p[0] == max(before)[0])
            others = [p for p in living if p not in (newcomer, best)]
            # With room for one only the better stays, the older one on a tie.
            loser = min(others) if others else min((newcomer, best), key=_age_last)
            living.remove(loser)
            if loser in elites:
                elites.remove(loser)
        assert len(memory) <= capacity
    view = memory.view()
    assert sorted(memory.ids) == sorted(str(index) for _, index in living)
    flagged = {memory.ids[k] for k in np.flatnonzero(view.elites)}
    assert flagged == {str(index) for _, index in elites}


def _age_last(person: tuple[float, int]) -> tuple[float, int]:
    return (person[0], -person[1])


def test_a_population_of_one_holds_one() -> None:
    memory = filled([0.5, 0.1, 0.5, 0.9, 0.2], capacity=1)
    assert memory.ids == ("s3",)


def test_zero_and_negative_scores_live_and_order_as_numbers() -> None:
    memory = filled([-5.0, 0.0, -1.0], capacity=2)
    assert set(memory.ids) == {"s1", "s2"}
    best = memory.best()
    assert best is not None
    assert best.id == "s1"


def test_a_newcomer_has_its_chance_and_the_best_never_leaves() -> None:
    memory = filled([0.9, 0.5, 0.7, 0.1], capacity=3)
    assert set(memory.ids) == {"s0", "s2", "s3"}
    memory.remember("t", 0.2, id="s4")
    assert set(memory.ids) == {"s0", "s2", "s4"}


def test_among_equals_the_oldest_leaves_but_for_the_first_best() -> None:
    assert set(filled([0.5] * 5, capacity=3).ids) == {"s0", "s3", "s4"}


def test_the_archive_takes_only_the_strictly_better_when_full() -> None:
    memory = filled([0.3, 0.4, 0.3, 0.35, 0.4], elite_size=2)
    elites = [memory.ids[k] for k in np.flatnonzero(memory.view().elites)]
    assert elites == ["s1", "s4"]


@given(
    st.lists(
        st.tuples(st.text("ab\n", min_size=4, max_size=4), st.floats(-1, 1)),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([Hamming(), TextShape(), TextShape(sample_size=3)]),
)
@settings(deadline=None, max_examples=60)
def test_a_fold_from_the_journal_equals_the_live_one(
    attempts: list[tuple[str, float]], metric: Any
) -> None:
    configuration = Settings(
        capacity=6, elite_size=3, diversity=metric, temperature=Adaptive(Inverted())
    )
    journal = InMemoryJournal()
    live = EvolutionaryMemory(configuration, journal, seed=3)
    for k, (text, score) in enumerate(attempts):
        if k % 5 == 4:
            live.remember_failure(text, "broken")
        else:
            parent = live.select(measure=k % 2 == 0) if len(live) else None
            live.remember(text, score, parent=parent)
    again = EvolutionaryMemory(configuration, journal, seed=3)
    assert again.digest() == live.digest()
    assert again.diversity() == live.diversity()
    assert again.select(law=True) == live.select(law=True)


def test_a_foreign_survival_rule_that_names_nobody_is_refused() -> None:
    class Broken:
        def victim(self, scores: object, seqs: object) -> int:
            return 7

    memory = EvolutionaryMemory(Settings(capacity=2, survival=Broken()))
    memory.remember("a", 0.1)
    memory.remember("b", 0.1)
    with pytest.raises(ValueError, match=r"the victim must be an index in \[0, 2\]"):
        memory.remember("c", 0.1)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=20), st.randoms())
def test_the_worst_is_chosen_whatever_the_order_of_slots(
    scores: list[float], shuffler: Any
) -> None:
    seqs = np.arange(1, len(scores) + 1)
    order = list(range(len(scores)))
    shuffler.shuffle(order)
    values = np.array(scores)
    straight = Worst().victim(values, seqs)
    shuffled = Worst().victim(values[order], seqs[order])
    assert seqs[straight] == seqs[order][shuffled]
