"""Tasks that play their runs themselves: facts asked for, needles kept."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from experiments import conversations, loop
from experiments.cells import cells_of, computed
from experiments.contracts import Graded, Played
from experiments.study import cheap, load
from experiments.tasks.needles import Needles
from experiments.tasks.recall_facts import RecallFacts
from memory.graded.compressors.nothing import Nothing
from memory.graded.compressors.truncation import Truncation
from memory.graded.recall import Recall
from memory.graded.settings import GradedSettings

BEST = Graded()
DRAWN = Graded(recall=Recall(temperature=0.1))
HOT = Graded(recall=Recall(temperature=5.0))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def small(tokens: int, **parts: Any) -> Graded:
    return Graded(GradedSettings(threshold_tokens=tokens), **parts)


def accuracy(played: Played) -> float:
    return sum(played.rights) / len(played.rights)


def test_values_stand_in_nothing_but_their_own_fact() -> None:
    random = rng()
    values = [conversations.value(place, random) for place in range(300)]
    chatter = conversations.chatter(random, 500)
    chatter += conversations.chatter(random, 500, varied=True)
    assert len(set(values)) == 300
    for value in values:
        assert value not in chatter
        assert sum(value in other for other in values) == 1


def test_names_differ_and_chatter_is_as_long_as_it_should_be() -> None:
    found = conversations.names(1000, rng())
    assert len(set(found)) == 1000
    assert conversations.chatter(rng(), 4).count(".") == 4
    old = set(conversations.chatter(rng(), 60).lower().split())
    new = set(conversations.chatter(rng(), 60, varied=True).lower().split())
    assert len(old) < 100 < len(new)


def test_a_question_names_the_attribute_or_avoids_it() -> None:
    fact = conversations.Fact("Zelora", 5, "4711kip")
    assert fact.asked() == "What is the port of Zelora?"
    assert "port" not in fact.asked(paraphrased=True)
    for seed in range(20):
        stated = fact.stated(rng(seed))
        assert all(part in stated for part in ("Zelora", "port", "4711kip"))


def test_the_best_recall_finds_plain_facts_every_time() -> None:
    played = RecallFacts().play(BEST, 1, ("a",), 50)
    assert played.rights == (1.0,) * 50
    assert played.measures["consistency"] == 1.0
    assert played.measures["tokens"] > 0.0


def test_a_hot_draw_finds_them_by_luck_and_never_answers_the_same() -> None:
    played = RecallFacts().play(HOT, 1, ("a",), 50)
    assert accuracy(played) < 0.3
    assert played.measures["consistency"] < 0.1


def test_an_episode_is_a_function_of_its_names_and_arms_see_the_same_conversation() -> (
    None
):
    for task in (RecallFacts(n_similar=2), Needles()):
        for arm in (DRAWN, small(300)):
            assert task.play(arm, 1, ("a",), 30) == task.play(arm, 1, ("a",), 30)
            other = task.play(arm, 1, ("b",), 30)
            assert task.play(arm, 1, ("a",), 30).digest != other.digest
            assert task.play(arm, 2, ("a",), 30).digest != other.digest
    plain = RecallFacts(n_similar=2)
    one, other = (plain.play(arm, 1, ("a",), 30) for arm in (BEST, DRAWN))
    assert one.digest == other.digest


def test_a_corrected_fact_must_be_recalled_in_its_current_version() -> None:
    stale = RecallFacts(n_messages=40, n_facts=5, n_stale=2)
    names = [("a", seed) for seed in range(12)]

    def mean(recency: float) -> float:
        arm = Graded(recall=Recall(recency=recency, half_life_messages=20.0))
        return float(np.mean([accuracy(stale.play(arm, 1, n, 5)) for n in names]))

    # The older versions say nearly the same words, so only their age tells them apart.
    assert mean(0.0) < 0.6 < mean(1.0)


def test_the_current_version_comes_last_and_every_message_is_there() -> None:
    task = RecallFacts(n_messages=60, n_facts=4, n_similar=3, n_stale=3)
    facts, lines = task._conversation(rng(3))
    assert len(lines) == 60
    for which, fact in enumerate(facts):
        versions = [line for line in lines if line.which == which]
        assert [line.current for line in versions] == [False, False, False, True]
        assert fact.value in versions[-1].text
    values = {str(1000 + place) for place in range(60)}
    misses = [
        line
        for line in lines
        if line.which is None and any(value in line.text for value in values)
    ]
    assert len(misses) == 12


def test_near_misses_and_paraphrases_make_it_harder() -> None:
    names = [("a", seed) for seed in range(5)]

    def mean(**changes: Any) -> float:
        task = RecallFacts(size=1, **changes)
        return float(np.mean([accuracy(task.play(BEST, 1, n, 10)) for n in names]))

    plain = mean()
    assert mean(n_similar=6) < plain
    assert mean(n_similar=6, paraphrased=True) < plain


def test_what_fits_is_kept_and_what_is_compressed_is_kept_in_part() -> None:
    task = Needles()
    whole = task.play(small(100_000), 1, ("a",), 100)
    assert whole.rights == (1.0,) * 100
    for compressor in (Nothing(), Truncation()):
        little, more = (
            task.play(small(tokens, compressor=compressor), 1, ("a",), 150)
            for tokens in (300, 900)
        )
        assert 0.0 < accuracy(little) < accuracy(more) < 1.0
        assert little.measures["tokens"] <= 300.0
        assert more.measures["tokens"] <= 900.0


def test_extraction_keeps_what_recurs_and_loses_what_stands_alone() -> None:
    arms = [small(600), small(600, compressor=Truncation())]
    talk = [Needles(varied=True, first_share=0.25), Needles()]
    varied, alike = (
        [accuracy(task.play(arm, 1, ("a",), 250)) for arm in arms] for task in talk
    )
    assert varied[0] > varied[1] + 0.1
    assert alike[0] < alike[1] + 0.05


def test_needles_come_where_and_as_often_as_they_should() -> None:
    task = Needles(needle_rate=1.0, first_share=0.2, statements=1)
    comes = [task._comes(place, 100, rng(place)) for place in range(100)]
    assert comes == [True] * 20 + [False] * 80
    sparse = Needles(needle_rate=1e-9)
    comes = [sparse._comes(place, 100, rng(place)) for place in range(100)]
    assert comes == [True] + [False] * 99


def test_tools_speak_in_calls_and_outputs() -> None:
    drafts = Needles(tools=True)._drafts("It is 12.", 3)
    assert [str(draft.role) for draft in drafts] == ["assistant", "tool"]
    played = Needles(tools=True).play(small(100_000), 1, ("a",), 20)
    assert played.rights == (1.0,) * 20


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RecallFacts(n_facts=0), "n_facts must be at least 1, got 0"),
        (lambda: RecallFacts(n_messages=5), "n_messages must hold 10 facts"),
        (
            lambda: RecallFacts().play(BEST, 0, ("a",), 5),
            "instance must be at least 1, got 0",
        ),
        (lambda: Needles(needle_rate=0.0), "needle_rate must be positive, got 0.0"),
        (lambda: Needles(first_share=1.5), r"first_share must lie in \[0, 1\]"),
        (lambda: Needles(statements=0), "statements must be at least 1, got 0"),
        (
            lambda: Needles().play(BEST, 0, ("a",), 5),
            "instance must be at least 1, got 0",
        ),
        (
            lambda: loop.played(Played((1.0,), {}, ""), 2),
            "an episode must have 2 trials, got 1",
        ),
        (lambda: loop.played(Played((1.5,), {}, ""), 1), "rights must lie in"),
    ],
)
def test_what_is_wrong_is_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_flags_are_flags() -> None:
    for build in (
        lambda: RecallFacts(paraphrased=1),  # type: ignore[arg-type]
        lambda: Needles(tools="no"),  # type: ignore[arg-type]
        lambda: Needles(varied=0),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="must be true or false"):
            build()


def test_an_episode_earns_its_score_trial_by_trial() -> None:
    rights = tuple(float(trial % 4 != 0) for trial in range(100))
    run = loop.played(Played(rights, {"tokens": 3.0}, "d"), 100)
    assert run.best == run.trajectory.best[-1] == 0.75
    assert run.trajectory.evaluation[0] == 1
    assert run.trajectory.evaluation[-1] == run.evaluations == 100
    assert list(run.trajectory.best) == sorted(run.trajectory.best)
    for point, best in zip(run.trajectory.evaluation, run.trajectory.best, strict=True):
        assert best == pytest.approx(sum(rights[:point]) / 100.0)
    assert np.isnan(run.trajectory.temperature).all()
    assert run.measures == {"tokens": 3.0}


@pytest.mark.parametrize("name", ["recall_facts", "compression"])
def test_a_cell_of_an_episode_is_a_row_like_any_other(name: str) -> None:
    study = cheap(load([f"study={name}", "study.budget=20"]))
    cells = cells_of(study)
    assert len({cell.id for cell in cells}) == len(cells)
    row = computed(study, cells[0])
    assert row["status"] == "ok"
    assert row["best"] == pytest.approx(1.0 - row["regret"])
    assert row["tokens"] > 0.0
    again = {**computed(study, cells[0]), "seconds": row["seconds"]}
    assert repr(row) == repr(again)


def test_a_cell_of_an_episode_reads_its_graded_memory_and_nothing_of_the_other() -> (
    None
):
    base = load(["study=recall_facts", "study.budget=20"])
    arm = base.arms[0]
    assert arm.graded is not None
    other = dataclasses.replace(
        arm, settings=dataclasses.replace(arm.settings, capacity=7)
    )
    hotter = dataclasses.replace(arm, graded=Graded(recall=Recall(temperature=0.7)))
    ids = [
        cells_of(dataclasses.replace(base, arms=(one,)))[0].id
        for one in (arm, other, hotter)
    ]
    assert ids[0] == ids[1] != ids[2]


def test_a_compressor_that_fails_is_noted_and_the_episode_goes_on() -> None:
    tight = Graded(GradedSettings(threshold_tokens=60, summary_share=0.02))
    played = Needles().play(tight, 1, ("a",), 60)
    assert 0.0 < accuracy(played) < 1.0
