"""The population is a fold: cap, survival, elites, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, KeyedRandom, Settings
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.mapping.inverted import Inverted
from memory.policies import Candidates
from memory.survival.worst import Worst
from memory.temperature.adaptive import Adaptive
from memory.temperature.annealed import Annealed

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
        def victim(self, candidates: object) -> int:
            return 7

    memory = EvolutionaryMemory(Settings(capacity=2, survival=Broken()))
    memory.remember("a", 0.1)
    memory.remember("b", 0.1)
    with pytest.raises(
        ValueError, match=r"Broken must name who leaves by an index in \[0, 3\), got 7"
    ):
        memory.remember("c", 0.1)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=20), st.randoms())
def test_the_worst_is_chosen_whatever_the_order_of_slots(
    scores: list[float], shuffler: Any
) -> None:
    seqs = np.arange(1, len(scores) + 1)
    order = list(range(len(scores) - 1))
    shuffler.shuffle(order)
    order.append(len(scores) - 1)
    values = np.array(scores)
    straight = Worst().victim(candidates(values, seqs))
    shuffled = Worst().victim(candidates(values[order], seqs[order]))
    assert seqs[straight] == seqs[order][shuffled]


@pytest.mark.parametrize("metric", [TextShape(), Hamming(), TextShape(sample_size=3)])
def test_the_diversity_is_that_of_the_living_at_every_step(metric: Any) -> None:
    memory = EvolutionaryMemory(Settings(capacity=7, diversity=metric), seed=9)
    random = KeyedRandom(9)
    for k in range(60):
        text = "ab\n"[k % 3] * (1 + k * k % 11)
        memory.remember(text, float(k * 7 % 13))
        texts = [memory.get(id_).text for id_ in memory.ids]
        tracker = metric.tracker()
        for one in texts:
            tracker.append(metric.features(one))
        fresh = tracker.measure(random.generator("diversity", memory.seq))
        assert memory.diversity() == fresh


def test_a_newcomer_that_leaves_at_once_changes_nothing_of_the_living() -> None:
    controller = Annealed(start=1.0, rate=0.5, minimum=0.01)
    memory = EvolutionaryMemory(Settings(capacity=1, temperature=controller))
    memory.remember("best", 1.0)
    temperature = memory.select().step.temperature
    memory.remember("worse", 0.5)
    assert memory.select().step.temperature == temperature
    memory.remember("better", 2.0)
    assert memory.select().step.temperature == temperature / 2


def candidates(scores: Any, seqs: Any) -> Candidates:
    return Candidates(scores, seqs, None, None, lambda index: np.zeros(len(scores)))


class Unruly:
    """A survival rule that goes wrong when told to."""

    wrong: Any = None

    def victim(self, candidates: Any) -> Any:
        return 0 if self.wrong is None else self.wrong


@pytest.mark.parametrize("wrong", [99, -1, 1.0, True, "x"])
def test_a_rule_that_raises_leaves_the_population_whole(wrong: Any) -> None:
    rule = Unruly()
    memory = EvolutionaryMemory(Settings(capacity=2, elite_size=1, survival=rule))
    memory.remember("a", 0.1)
    memory.remember("b", 0.2)
    before = memory.digest()
    rule.wrong = wrong
    with pytest.raises(ValueError, match="Unruly must name who leaves by an index"):
        memory.remember("c", 0.3)
    assert memory.digest() == before
    assert len(memory) == 2
    # The event is in the journal, and is folded in once the rule is mended.
    rule.wrong = None
    memory.sync()
    assert memory.seq == 4
    assert len(memory) == 2


def test_a_population_grows_as_it_fills_and_no_sooner() -> None:
    memory = EvolutionaryMemory(Settings(capacity=10**9, elite_size=300))
    for k in range(700):
        memory.remember(f"{k}", float(k % 50))
    view = memory.view()
    assert len(memory) == 700
    assert view.elites.sum() == 300
    assert memory._population.scores().tolist() == [float(k % 50) for k in range(700)]


def test_nobody_can_change_what_a_view_shows() -> None:
    memory = filled([0.1, 0.2, 0.3])
    seen = memory._population.view()
    for array in seen[:4]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
