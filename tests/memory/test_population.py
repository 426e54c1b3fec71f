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
from memory.retention.max_bytes import MaxBytes
from memory.survival.oldest import Oldest
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
    # Nothing is in the journal that nobody could read.
    del rule.wrong
    assert memory.seq == 3
    assert len(EvolutionaryMemory(memory.settings, memory._following.journal)) == 2
    memory.remember("c", 0.3)
    assert memory.seq == 4


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


class Astray:
    """A rule of assignment, or a topology, that gives what it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def island(self, origin: Any, sizes: Any, n_assigned: int) -> Any:
        return self.answer

    def targets(self, island: int, n_islands: int) -> Any:
        return [self.answer]


@pytest.mark.parametrize("answer", [None, 2, -1, 1.0, True, "0"])
def test_a_rule_of_assignment_that_goes_astray_spoils_nothing(answer: Any) -> None:
    memory = EvolutionaryMemory(Settings(islands=2, assignment=Astray(answer)))
    with pytest.raises(
        ValueError, match=r"Astray must name an island in \[0, 2\), got"
    ):
        memory.remember("a", 0.1)
    assert memory.seq == 1
    assert memory.remember("b", 0.1, island=1).island == 1


@pytest.mark.parametrize("target", [None, 2, -1, 0.5, True])
def test_a_topology_that_goes_astray_is_refused_at_construction(target: Any) -> None:
    with pytest.raises(ValueError, match="Astray must send migrants of island 0 to"):
        Settings(islands=2, topology=Astray(target))


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), None, True])
def test_a_ranking_that_gives_no_number_spoils_nothing(answer: Any) -> None:
    class Ranked:
        def score(self, n: int, mean: float, squares: float) -> Any:
            return answer

    memory = EvolutionaryMemory(Settings(ranking=Ranked()))
    with pytest.raises((TypeError, ValueError), match="the score by Ranked must be"):
        memory.remember("a", 0.1)
    assert memory.seq == 1


def test_an_interrupted_measure_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = filled([k / 7 for k in range(30)])
    expected = filled([k / 7 for k in range(30)]).diversity()
    deme = memory._population._demes[0]
    append = deme._tracker.append
    calls = iter(range(100))

    def interrupted(features: Any) -> None:
        append(features)
        if next(calls) == 12:
            raise KeyboardInterrupt

    monkeypatch.setattr(type(deme._tracker), "append", lambda _, f: interrupted(f))
    with pytest.raises(KeyboardInterrupt):
        memory.diversity()
    monkeypatch.undo()
    assert memory.diversity() == expected


def test_a_best_that_is_forgotten_makes_room_for_the_best_of_the_living() -> None:
    memory = EvolutionaryMemory(
        Settings(capacity=5, survival=Oldest(), retention=MaxBytes(3_000))
    )
    memory.remember("the best", 99.0, id="best")
    for k in range(4):
        memory.remember(f"{k}", 1.0)
    for k in range(40):
        memory.remember("x" * 500 + str(k), 2.0)
    assert memory.forgotten("best") is not None or len(memory) == 5
    best = memory.best()
    assert best is not None
    assert best.id in memory.ids
