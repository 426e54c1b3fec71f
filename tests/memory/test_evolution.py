"""The shell: five lines of use, replay, idempotence, scopes, joins, and bad input."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from memory import (
    ConfigurationMismatch,
    EvolutionaryMemory,
    InMemoryJournal,
    Pick,
    Settings,
    Solution,
    Status,
)
from memory.mapping.original import Original
from memory.scaling.raw import Raw
from memory.selection.boltzmann import Boltzmann
from memory.selection.loongflow import LoongFlow
from memory.temperature.adaptive import Adaptive
from memory.temperature.fixed import Fixed


class Half:
    """A policy of somebody else's that forgets what a policy says of itself."""

    def probabilities(self, view: Any, temperature: float) -> Any:
        return np.full(view.scores.size, 0.5)

    def draw(self, view: Any, temperature: float, rng: Any) -> Pick:
        return Pick(-1, False, 0.0)


class Wrong(Half):
    closed_form = True


def filled(n: int = 5, **options: Any) -> EvolutionaryMemory:
    memory = EvolutionaryMemory(**options)
    for k in range(n):
        memory.remember(f"text {k}", k / n)
    return memory


def test_five_lines_are_a_loop() -> None:
    memory = EvolutionaryMemory(seed=7)
    memory.remember("x", score=0.1)
    for _ in range(50):
        parent = memory.select()
        memory.remember(parent.text + "x", score=len(parent.text) / 50, parent=parent)
    best = memory.best()
    assert best is not None
    assert best.score is not None
    assert best.score > 0.1
    assert best.provenance.draw is not None
    assert best.parent_ids
    assert best.generation == len(best.text) - 1


def test_the_same_seed_repeats_everything_and_another_does_not() -> None:
    def history(seed: int) -> list[str]:
        memory = filled(20, seed=seed)
        return [memory.select().id for _ in range(30)]

    assert history(1) == history(1)
    assert history(1) != history(2)


def test_any_single_draw_can_be_repeated_from_its_provenance() -> None:
    journal = InMemoryJournal()
    settings = Settings(temperature=Adaptive(Original()), selection=LoongFlow())
    memory = EvolutionaryMemory(settings, journal, seed=5)
    children = []
    for k in range(40):
        parent = memory.select() if k > 3 else None
        children.append(memory.remember(f"text {k * k}", math.sin(k), parent=parent))
    assert memory.seq == 41
    for child in children[5::7]:
        draw = child.provenance.draw
        assert draw is not None
        again = memory.redraw(draw)
        assert again.id == child.parent_ids[0]
        assert again.draw == draw
        assert again.step.effective_parents is not None
    assert memory.seq == 41
    assert memory.select() == memory.select(decision=memory.select().draw.decision - 1)


def test_a_draw_of_another_worker_can_be_repeated_too() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, seed=4, stream="first")
    second = EvolutionaryMemory(journal=journal, seed=4, stream="second")
    for k in range(20):
        first.remember(f"{k}", float(k))
    second.sync()
    parent = second.select()
    for k in range(20, 40):
        first.remember(f"{k}", float(k))
    assert first.redraw(parent.draw).id == parent.id
    with pytest.raises(ValueError, match=r"seq must lie in \[1, 21\]"):
        second.redraw(parent.draw._replace(seq=30))
    with pytest.raises(TypeError, match="draw must be a Draw"):
        second.redraw(parent)  # type: ignore[arg-type]


def test_a_resumed_memory_goes_on_as_if_it_had_never_stopped() -> None:
    def go(stops: set[int]) -> list[tuple[str, str]]:
        journal = InMemoryJournal()
        memory = EvolutionaryMemory(journal=journal, seed=2)
        found = []
        for k in range(60):
            if k in stops:
                if len(memory):
                    memory.select()  # drawn, then lost with the process
                memory = EvolutionaryMemory(journal=journal, seed=2)
            parent = memory.select() if len(memory) else None
            child = memory.remember(f"{k}", math.cos(k), parent=parent)
            found.append((child.id, parent.id if parent else ""))
        return found

    assert go(set()) == go({1, 7, 8, 33}) == go(set(range(60)))


def test_two_streams_draw_for_themselves() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    second = EvolutionaryMemory(journal=journal, stream="second")
    for k in range(10):
        (first if k % 2 else second).remember(f"{k}", float(k))
    first.sync()
    second.sync()
    assert first.digest() == second.digest()
    draws = [[m.select().step.u for _ in range(5)] for m in (first, second)]
    assert draws[0] != draws[1]
    assert len(journal.read(0)) == 11


def test_scopes_share_a_journal_and_nothing_else() -> None:
    journal = InMemoryJournal()
    a = EvolutionaryMemory(journal=journal, scope="a")
    b = EvolutionaryMemory(Settings(capacity=3), journal, scope="a:b")
    a.remember("x", 1.0, id="b:same")
    b.remember("y", 2.0, id="same")
    a.sync()
    assert a.ids == ("b:same",)
    assert b.ids == ("same",)
    assert (a.get("b:same").text, b.get("same").text) == ("x", "y")
    with pytest.raises(ValueError, match="scope must be 'a', this memory's own"):
        a.record(Solution(id="z", text="z", score=1.0, scope="b"))


def test_a_repeated_memory_is_harmless_and_a_contradicting_one_refused() -> None:
    memory = EvolutionaryMemory()
    first = memory.remember("x", 1.0, id="a")
    assert memory.record(first) == first
    assert memory.remember("x", 1.0, id="a") == first
    assert len(memory) == 1
    with pytest.raises(ValueError, match="id must be new or name the same solution"):
        memory.remember("x", 2.0, id="a")


def test_another_configuration_may_not_join_and_the_key_is_named() -> None:
    journal = InMemoryJournal()
    EvolutionaryMemory(Settings(temperature=Fixed(value=0.1)), journal)
    with pytest.raises(
        ConfigurationMismatch, match=r"settings.temperature.value: 0.2 here, 0.1 there"
    ):
        EvolutionaryMemory(Settings(temperature=Fixed(value=0.2)), journal)
    with pytest.raises(ConfigurationMismatch, match="seed: "):
        EvolutionaryMemory(Settings(temperature=Fixed(value=0.1)), journal, seed=3)
    with pytest.raises(ConfigurationMismatch, match=r"settings.temperature._target_"):
        EvolutionaryMemory(Settings(temperature=Adaptive(Original())), journal)


def test_selection_changes_nothing() -> None:
    memory = filled(30, settings=Settings(temperature=Adaptive(Original())))
    before = memory.digest()
    for _ in range(20):
        memory.select(law=True, measure=True)
    assert memory.digest() == before
    assert memory.select(decision=3) == memory.select(decision=3)


def test_a_failed_attempt_is_remembered_and_never_drawn() -> None:
    memory = filled(3)
    failed = memory.remember_failure("broken", "it did not run", parent=memory.select())
    assert failed.status is Status.FAILED
    assert failed.metadata["failure"] == "it did not run"
    assert memory.get(failed.id) == failed
    assert memory.n_failed == 1
    assert failed.id not in {memory.select().id for _ in range(200)}


def test_a_weight_of_zero_is_never_drawn_and_one_is_the_default() -> None:
    memory = EvolutionaryMemory(Settings(selection=Boltzmann(exploration=0.5)))
    memory.remember("never", 1.0, weight=0.0, id="never")
    with pytest.raises(ValueError, match="weight"):
        memory.select()
    memory.remember("always", 0.0, id="always")
    assert {memory.select().id for _ in range(300)} == {"always"}


def test_draws_of_a_memory_follow_its_law() -> None:
    memory = filled(8, settings=Settings(scaling=Raw(), temperature=Fixed(value=0.5)))
    ids, law = memory.law()
    picks = [memory.select().id for _ in range(20_000)]
    counts = [picks.count(id_) for id_ in ids]
    assert stats.chisquare(counts, 20_000 * law).pvalue > 1e-6
    wrong = np.exp(memory.view().scores / 0.6)
    wrong /= wrong.sum()
    assert stats.chisquare(counts, 20_000 * wrong).pvalue < 1e-6


def test_an_empty_memory_says_so() -> None:
    memory = EvolutionaryMemory()
    assert len(memory) == 0
    assert memory.best() is None
    with pytest.raises(ValueError, match="population must not be empty"):
        memory.select()
    with pytest.raises(KeyError, match="id must name a solution, got 'x'"):
        memory.get("x")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.remember("x", None), "score must be a finite real number"),
        (lambda m: m.remember("x", math.nan), "score must be a finite real number"),
        (lambda m: m.remember("x", True), "score must be a finite real number"),
        (lambda m: m.remember(None, 1.0), "text must be a string, got None"),
        (lambda m: m.remember("x", 1.0, weight=-1), "weight must not be negative"),
        (lambda m: m.remember("x", 1.0, id=""), "id must not be empty"),
        (
            lambda m: m.remember("x", 1.0, parent=7),
            "parent must be a Parent, a Solution or",
        ),
        (lambda m: m.remember("x", 1.0, metadata={"a": {}}), "metadata"),
        (lambda m: m.remember_failure("x", "no", metadata={"a": {}}), "metadata"),
        (lambda m: m.remember_failure("x", None), "reason must be a string, got None"),
        (
            lambda m: m.remember_failure("x", "no", metadata={"failure": "mine"}),
            "metadata must be a mapping without the key 'failure'",
        ),
        (
            lambda m: m.remember_failure("x", "no", metadata=None),
            "metadata must be a mapping",
        ),
        (
            lambda m: m.remember("x", 1.0, other_parents=["a"]),
            "other_parents must be a sequence of Solutions",
        ),
        (
            lambda m: m.remember("x", 1.0, other_parents=None),
            "other_parents must be a sequence of Solutions",
        ),
        (
            lambda m: m.remember("x", 1.0, instance_scores=3),
            "instance_scores must be a tuple of numbers",
        ),
        (lambda m: m.select(decision=2**64), "decision must be at most"),
        (lambda m: m.select(part=-1), "part must be at least 0"),
        (lambda m: m.select(part=1.5), "part must be an integer"),
        (lambda m: m.record("x"), "solution must be a Solution, got 'x'"),
        (lambda m: m.select(decision=-1), "decision must be at least 0, got -1"),
        (lambda m: m.select(decision=1.5), "decision must be an integer, got 1.5"),
    ],
)
def test_bad_input_is_refused_by_name_and_leaves_nothing(
    call: Callable[[EvolutionaryMemory], object], message: str
) -> None:
    memory = filled(3)
    before = memory.digest()
    with pytest.raises((TypeError, ValueError), match=message):
        call(memory)
    assert memory.digest() == before
    memory.sync()
    assert memory.digest() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity must be at least 1, got 0"),
        ({"capacity": 2.0}, "capacity must be an integer, got 2.0"),
        ({"elite_size": -1}, "elite_size must be at least 0, got -1"),
        ({"selection": "boltzmann"}, "selection must be a policy with a method"),
        ({"selection": Boltzmann}, "selection must be a policy with a method"),
        ({"diversity": Fixed()}, "diversity must be a policy with a method features"),
        ({"temperature": None}, "temperature must be a policy with a method control"),
        (
            {"selection": Half()},
            "selection must be a policy whose closed_form is a bool",
        ),
    ],
)
def test_bad_settings_are_refused_by_name(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Settings(**options)
    with pytest.raises(TypeError, match="settings must be Settings or None"):
        EvolutionaryMemory(options)  # type: ignore[arg-type]


def test_a_foreign_policy_that_is_wrong_is_refused_by_name() -> None:
    memory = filled(3, settings=Settings(selection=Wrong()))
    with pytest.raises(
        ValueError, match=r"Wrong must pick a place in \[0, 3\), got -1"
    ):
        memory.select()
    with pytest.raises(ValueError, match="Wrong must give 3 probabilities that sum to"):
        memory.law()


def test_weights_multiply_by_default() -> None:
    memory = EvolutionaryMemory()
    for weight in (1.0, 9.0):
        memory.remember(f"{weight}", 0.5, weight=weight)
    np.testing.assert_allclose(memory.law()[1], [0.1, 0.9])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": {3, 4}}, "seed must be an integer, a string, or a list of them"),
        ({"seed": 1.5}, "seed must be an integer, a string, or a list of them"),
        ({"seed": None}, "seed must be an integer, a string, or a list of them"),
        ({"seed": [1, True]}, "seed must be .* got True at place 1"),
        ({"seed": "\ud800"}, r"seed\[0\] must be encodable"),
        ({"journal": 3}, "journal must be a Journal or None, got 3"),
        ({"stream": 3}, "stream must be a string, got 3"),
        ({"scope": None}, "scope must be a string, got None"),
    ],
)
def test_bad_arguments_of_a_memory_are_named(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        EvolutionaryMemory(**options)


def test_numpy_integers_are_integers() -> None:
    memory = EvolutionaryMemory(Settings(capacity=np.int64(5)), seed=np.int64(3))
    assert memory.settings.capacity == 5
    twin = EvolutionaryMemory(Settings(capacity=5), seed=3)
    for one in (memory, twin):
        one.remember("x", 1.0)
    assert memory.ids == twin.ids


def test_a_configuration_written_with_integers_is_the_same() -> None:
    journal = InMemoryJournal()
    EvolutionaryMemory(Settings(temperature=Fixed(value=1)), journal)
    EvolutionaryMemory(Settings(temperature=Fixed(value=1.0)), journal)


def test_the_draw_of_a_part_can_be_repeated() -> None:
    memory = filled(40)
    parents = [memory.select(decision=0, part=part) for part in range(6)]
    assert len({parent.id for parent in parents}) > 1
    for parent in parents:
        assert memory.redraw(parent.draw).id == parent.id


def test_a_parent_may_be_named_by_its_id() -> None:
    memory = EvolutionaryMemory()
    root = memory.remember("a", 1.0)
    assert memory.remember("b", 1.0, parent=root.id).parent_ids == (root.id,)
    with pytest.raises(KeyError, match="id must name a solution, got 'stranger'"):
        memory.remember("c", 1.0, parent="stranger")


def test_workers_that_share_a_stream_lose_nothing() -> None:
    journal = InMemoryJournal()
    first, second = (
        EvolutionaryMemory(journal=journal),
        EvolutionaryMemory(journal=journal),
    )
    for k in range(5):
        first.remember(f"a{k}", 1.0)
        second.remember(f"b{k}", 1.0)
    first.sync()
    assert len(first) == len(second) == 10
    assert first.digest() == second.digest()


def test_an_explanation_holds_the_law_and_what_it_was_made_of() -> None:
    memory = filled(40)
    ids, law = memory.law()
    parent = memory.select()
    memory.remember("later", 1.0, parent=parent)
    found = memory.explain(parent.draw)
    assert found.parent == memory.redraw(parent.draw)
    assert found.parent.id == parent.id == found.ids[found.parent.step.pick]
    assert found.ids == ids
    np.testing.assert_array_equal(found.law, law)
    assert found.scores.shape == found.view.scores.shape == (40,)


def test_where_nobody_is_alive_it_says_so_and_what_might_help() -> None:
    memory = EvolutionaryMemory(Settings(islands=2))
    memory.remember("a", 1.0, island=0)
    with pytest.raises(ValueError, match=r"the sizes \[1, 0\] of its islands; sync"):
        memory.select(island=1)


def test_a_long_text_does_not_bury_what_is_shown() -> None:
    memory = EvolutionaryMemory()
    shown = repr(memory.remember("x" * 5000, 0.5, id="a"))
    assert len(shown) < 200
    assert shown.startswith("Solution(id='a', ")
    assert "score=0.5" in shown


def test_records_can_be_copied_pickled_hashed_and_listed() -> None:
    memory = filled(3)
    parent = memory.select()
    solution = memory.remember("y", 0.5, parent=parent, metadata={"tokens": 3})
    for record in (solution, parent):
        # Unmeasured numbers are NaN, which equals nothing; how it reads is compared.
        assert repr(copy.deepcopy(record)) == repr(record)
        assert repr(pickle.loads(pickle.dumps(record))) == repr(record)
        assert record in {record}
    assert dataclasses.asdict(solution)["metadata"] == {"tokens": 3}


def test_the_generation_counts_the_longest_lineage() -> None:
    memory = EvolutionaryMemory()
    root = memory.remember("a", 1.0)
    child = memory.remember("b", 1.0, parent=root)
    grandchild = memory.remember("c", 1.0, parent=child)
    assert (
        memory.remember("d", 1.0, parent=root, other_parents=[grandchild]).generation
        == 3
    )


def test_the_best_is_the_oldest_of_equals() -> None:
    memory = EvolutionaryMemory(Settings(capacity=2))
    first = memory.remember("a", 1.0)
    memory.remember("b", 1.0)
    assert memory.best() == first


def test_threads_may_share_a_memory() -> None:
    memory = filled(5)
    errors: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for k in range(100):
                parent = memory.select()
                memory.remember(f"{worker} {k}", k / 100, parent=parent)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert memory.seq == 1 + 5 + 400
    assert len(memory) == 100


def test_a_thousand_dead_leave_no_texts_behind() -> None:
    memory = EvolutionaryMemory(Settings(capacity=10))
    for k in range(1000):
        memory.remember(f"text {k}", float(k % 17))
    assert len(memory._known) <= 3 * 10 + 65
    assert memory.get(memory.ids[0]).score is not None


def test_the_history_holds_everything_in_its_order() -> None:
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(capacity=2), journal, scope="a")
    EvolutionaryMemory(journal=journal, scope="b").remember("other", 1.0)
    made = [memory.remember(f"{k}", float(k)) for k in range(5)]
    made.append(memory.remember_failure("broken", "no"))
    assert memory.history() == made
    assert EvolutionaryMemory().history() == []


def test_a_number_of_a_policy_that_is_not_finite_is_named() -> None:
    class Endless(Wrong):
        def __init__(self) -> None:
            self.horizon = math.inf

    with pytest.raises(
        ValueError, match=r"settings\.selection\.horizon must be finite"
    ):
        EvolutionaryMemory(Settings(selection=Endless()))
