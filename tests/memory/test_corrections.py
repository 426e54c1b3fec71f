"""Later words on a solution: felt at once, kept with their reasons, the same for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import EvolutionaryMemory, InMemoryJournal, Settings, Status
from memory.bounds.fixed import Fixed
from memory.descriptors.length import Length
from memory.grid import Axis
from memory.ranking.lower_bound import LowerBound
from memory.retention.keep_living import KeepLiving
from tests.memory.builds import document, document_of, refolded

AXES = (Axis(Length(), Fixed(0.0, 100.0, 2)),)


def filled(
    scores: list[float], journal: Any = None, **options: Any
) -> EvolutionaryMemory:
    memory = EvolutionaryMemory(Settings(**options), journal)
    for k, score in enumerate(scores):
        memory.remember(f"text {k}", score, id=f"s{k}")
    return memory


def best_of(memory: EvolutionaryMemory) -> str:
    best = memory.best()
    assert best is not None
    return best.id


def elites_of(memory: EvolutionaryMemory) -> set[str]:
    return {memory.ids[slot] for slot in np.flatnonzero(memory.view().elites)}


def test_a_rescored_solution_is_ranked_anew_at_once() -> None:
    memory = filled([0.1, 0.2, 0.3, 0.4], elite_size=2, axes=AXES)
    assert (best_of(memory), elites_of(memory)) == ("s3", {"s2", "s3"})
    corrected = memory.rescore("s0", 0.9, "the unit was wrong")
    assert (corrected.score, corrected.status) == (0.9, Status.VALID)
    assert memory.get("s0").score == 0.9
    assert best_of(memory) == "s0"
    assert elites_of(memory) == {"s0", "s3"}
    assert memory.living()[0].id == "s0"
    view = memory.view()
    assert view.champions is not None
    assert [memory.ids[k] for k in np.flatnonzero(view.champions)] == ["s0"]
    ids, law = memory.law()
    assert ids[int(law.argmax())] == "s0"
    memory.rescore("s0", -1.0, "and now it is right")
    assert (best_of(memory), elites_of(memory)) == ("s3", {"s2", "s3"})
    assert memory.living()[-1].id == "s0"


def test_what_was_thought_before_is_history_with_its_reasons() -> None:
    memory = filled([0.1])
    memory.repeat("s0", 0.3, "once more")
    memory.rescore("s0", 0.9, "the unit was wrong")
    memory.repeat("s0", 0.7)
    memory.retract("s0", "it cheats")
    told = [(one.kind, one.score, one.reason) for one in memory.amendments("s0")]
    assert told == [
        ("repeated", 0.3, "once more"),
        ("rescored", 0.9, "the unit was wrong"),
        ("repeated", 0.7, ""),
        ("retracted", None, "it cheats"),
    ]
    places = [one.seq for one in memory.amendments("s0")]
    assert places == [3, 4, 5, 6]
    assert memory.past(2).scores().tolist() == [0.1]
    assert memory.past(5).scores().tolist() == [pytest.approx(0.8)]


def test_a_retracted_solution_is_a_tombstone_and_its_lineage_readable() -> None:
    memory = EvolutionaryMemory()
    root = memory.remember("root", 0.5, id="root")
    middle = memory.remember("middle", 0.9, parent=root, id="middle")
    memory.remember("leaf", 0.1, parent=middle, id="leaf")
    tomb = memory.retract("middle", "it reads the answers")
    assert (tomb.status, tomb.text, tomb.score) == (Status.RETRACTED, "middle", 0.9)
    assert memory.get("middle") == tomb
    assert "middle" not in {memory.select().id for _ in range(200)}
    assert (set(memory.ids), best_of(memory)) == ({"root", "leaf"}, "root")
    lineage = memory.lineage()
    assert lineage.ancestors("leaf") == ("middle", "root")
    assert lineage.descendants("root") == ("middle", "leaf")
    assert memory.remember("late child", 0.2, parent=middle).parent_ids == ("middle",)
    assert [one.status for one in memory.history()][:2] == ["valid", "retracted"]


def test_a_superseded_solution_names_the_one_in_its_place() -> None:
    memory = filled([0.9, 0.5])
    tomb = memory.supersede("s0", "s1", "the same, and shorter")
    assert tomb.status is Status.SUPERSEDED
    assert memory.amendments("s0")[0].by == "s1"
    assert memory.ids == ("s1",)
    assert best_of(memory) == "s1"


def test_evaluations_are_kept_with_number_mean_and_standard_error() -> None:
    memory = filled([1.0, 0.0])
    alone = memory.evaluations("s0")
    assert (alone.n, alone.mean) == (1, 1.0)
    assert math.isnan(alone.standard_error)
    for score in (2.0, 3.0, 6.0):
        known = memory.repeat("s0", score)
    scores = np.array([1.0, 2.0, 3.0, 6.0])
    assert known.scores == tuple(scores)
    assert known.mean == pytest.approx(3.0)
    assert known.standard_error == pytest.approx(scores.std(ddof=1) / 2.0)
    assert memory.get("s0").score == pytest.approx(3.0)
    assert memory._population.scores().tolist() == [pytest.approx(3.0), 0.0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12))
@settings(deadline=None)
def test_mean_and_error_are_those_of_numpy(scores: list[float]) -> None:
    memory = filled(scores[:1])
    for score in scores[1:]:
        known = memory.repeat("s0", score)
    size = max(map(abs, scores)) + 1.0
    assert abs(known.mean - np.mean(scores)) < 1e-9 * size
    error = np.std(scores, ddof=1) / math.sqrt(len(scores))
    assert abs(known.standard_error - error) < 1e-6 * size


def test_a_lower_bound_ranks_the_proven_before_the_lucky() -> None:
    ranking = LowerBound(z=1.0, standard_deviation=0.5)
    memory = filled([0.8, 0.75], ranking=ranking)
    assert best_of(memory) == "s0"
    for score in (0.75, 0.76, 0.74):
        memory.repeat("s1", score)
    assert best_of(memory) == "s1"
    assert memory.living()[0].id == "s1"
    expected = [ranking.score(1, 0.8, 0.0), ranking.score(4, 0.75, 0.0002)]
    assert memory._population.scores().tolist() == pytest.approx(expected)
    assert memory.get("s1").score == pytest.approx(0.75)


@pytest.mark.parametrize("extreme", [1.7e308, -1.7e308])
def test_the_mean_of_extremes_is_finite_and_nobody_is_poisoned(extreme: float) -> None:
    memory = filled([-extreme, 0.5])
    known = memory.repeat("s0", extreme)
    assert math.isfinite(known.mean)
    memory.repeat("s0", extreme)
    assert math.isfinite(memory.get("s0").score or math.nan)
    assert {memory.select().id for _ in range(50)} <= {"s0", "s1"}


def test_the_dead_are_corrected_too() -> None:
    memory = filled([0.1, 0.2, 0.3, 0.4], capacity=2)
    assert "s0" not in memory.ids
    before = memory.view()
    assert memory.rescore("s0", 0.35, "measured again").score == 0.35
    np.testing.assert_array_equal(memory.view().seqs, before.seqs)
    assert best_of(memory) == "s3"
    memory.rescore("s0", 2.0, "the unit was wrong")
    assert best_of(memory) == "s0"
    assert memory.repeat("s0", 0.0).mean == 1.0
    assert best_of(memory) == "s0"
    memory.repeat("s0", -1.0)
    assert best_of(memory) == "s3"
    memory.repeat("s1", 2.2, "it was better than thought")
    assert best_of(memory) == "s1"
    assert memory.retract("s1", "it cheats").status is Status.RETRACTED
    assert best_of(memory) == "s3"
    assert len(memory) == 2


def test_the_best_of_equals_is_the_oldest_of_any_island_when_named_anew() -> None:
    memory = EvolutionaryMemory(Settings(islands=3))
    for k, island in enumerate((2, 1, 0, 2)):
        memory.remember(f"{k}", (0.9, 0.5, 0.5, 0.5)[k], island=island, id=f"s{k}")
    memory.retract("s0", "it cheats")
    assert best_of(memory) == "s1"


def test_a_correction_reaches_the_copies_on_every_island() -> None:
    configuration = Settings(islands=3, migration_interval=4, migration_rate=0.5)
    memory = EvolutionaryMemory(configuration)
    for k in range(8):
        memory.remember(f"{k}", k / 8, island=k % 3, id=f"s{k}")
    lives = [island for island in range(3) if "s3" in memory._population.ids(island)]
    assert len(lives) > 1
    memory.rescore("s3", 7.0, "the unit was wrong")
    for island in lives:
        assert memory.living(island)[0].id == "s3"
        assert memory._population.scores(island).max() == 7.0
    memory.retract("s3", "it cheats")
    assert "s3" not in memory.ids
    assert memory.home("s3") is None


def test_what_is_out_of_use_stays_so() -> None:
    memory = filled([0.1, 0.2, 0.3])
    memory.retract("s0", "it cheats")
    memory.supersede("s1", "s2", "shorter")
    before = document(memory)
    for call in (
        lambda: memory.rescore("s0", 0.5, "no"),
        lambda: memory.repeat("s1", 0.5),
        lambda: memory.retract("s0", "again"),
        lambda: memory.supersede("s2", "s0", "no"),
        lambda: memory.supersede("s1", "s2", "again"),
        lambda: memory.supersede("s2", "s2", "no"),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
    assert document(memory) == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.rescore("x", 1.0, "why"), "id must name a solution, got 'x'"),
        (lambda m: m.retract("x", "why"), "id must name a solution, got 'x'"),
        (lambda m: m.supersede("s0", "x", "why"), "id must name a solution, got 'x'"),
        (lambda m: m.amendments("x"), "id must name a solution, got 'x'"),
        (lambda m: m.rescore("s0", math.nan, "why"), "score must be a finite real"),
        (lambda m: m.rescore("s0", None, "why"), "score must be a finite real number"),
        (lambda m: m.repeat("s0", "0.5"), "score must be a finite real number"),
        (lambda m: m.rescore("s0", 1.0, None), "reason must be a string, got None"),
        (lambda m: m.retract("s0", "\ud800"), "reason must be encodable as UTF-8"),
        (lambda m: m.rescore("f", 1.0, "why"), "id must name a scored solution"),
        (lambda m: m.repeat("f", 1.0), "id must name a scored solution"),
        (lambda m: m.evaluations("f"), "id must name a scored solution"),
        (lambda m: m.rescore("s0", scoer=3, reason="why"), "scoer"),
    ],
)
def test_a_bad_correction_is_refused_by_name_and_leaves_nothing(
    call: Any, message: str
) -> None:
    memory = filled([0.1, 0.2])
    memory.remember_failure("broken", "no", id="f")
    before = document(memory)
    with pytest.raises((KeyError, TypeError, ValueError), match=message):
        call(memory)
    memory.sync()
    assert document(memory) == before


def test_two_workers_agree_on_the_order_of_what_they_say_at_once() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    first.remember("a", 0.5, id="a")
    first.remember("b", 0.6, id="b")
    second = EvolutionaryMemory(journal=journal, stream="second")
    # Neither has read what the other writes.
    first.rescore("a", 0.7, "first")
    assert second.rescore("a", 0.8, "second").score == 0.8
    first.retract("b", "it cheats")
    with pytest.raises(ValueError, match="'b': another worker was faster"):
        second.rescore("b", 0.9, "it had not heard")
    assert second.get("b").status is Status.RETRACTED
    assert second.get("b").score == 0.6
    first.sync()
    assert document(first) == document(second)
    assert [one.score for one in first.amendments("a")] == [0.7, 0.8]
    assert first.ids == ("a",)
    assert best_of(first) == best_of(second) == "a"


def test_two_that_supersede_each_other_are_not_both_lost() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    first.remember("a", 0.5, id="a")
    first.remember("b", 0.6, id="b")
    second = EvolutionaryMemory(journal=journal, stream="second")
    first.supersede("a", by="b", reason="b is better")
    with pytest.raises(ValueError, match="another worker was faster"):
        second.supersede("b", by="a", reason="a is better")
    first.sync()
    assert first.ids == second.ids == ("b",)
    assert document(first) == document(second)


class LosesReplies(InMemoryJournal):
    """Appends, and says that somebody else had: as after a lost reply."""

    losing = False

    def append_and_read(self, *arguments: Any) -> Any:
        done = super().append_and_read(*arguments)
        return done._replace(new=False) if self.losing else done


def test_an_amendment_whose_reply_was_lost_counts_once() -> None:
    journal = LosesReplies()
    memory = EvolutionaryMemory(journal=journal)
    memory.remember("a", 0.0, id="a")
    journal.losing = True
    for k in range(1, 5):
        memory.repeat("a", float(k))
    memory.rescore("a", 7.0, "all wrong")
    memory.retract("a", "and out")
    assert memory.amendments("a")[-2].score == 7.0
    assert len(memory.amendments("a")) == 6
    made = [memory.remember(f"text {k}", 0.1) for k in range(3)]
    assert len(memory) == len({one.id for one in made}) == 3


def test_repeats_of_two_workers_all_count() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    first.remember("a", 0.0, id="a")
    second = EvolutionaryMemory(journal=journal, stream="second")
    for k in range(1, 11):
        (first if k % 2 else second).repeat("a", float(k))
    first.sync()
    second.sync()
    assert first.evaluations("a").n == 11
    assert first.evaluations("a") == second.evaluations("a")
    assert document(first) == document(second)


words = st.lists(
    st.tuples(
        st.sampled_from(["remember", "rescore", "repeat", "retract", "supersede"]),
        st.integers(0, 11),
        st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
    ),
    max_size=40,
)


@given(words, st.integers(1, 6), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_any_words_leave_a_population_that_folds_again_and_names_its_best(
    words: list[tuple[str, int, float]], capacity: int, forgets: bool, islands: bool
) -> None:
    journal = InMemoryJournal()
    retention = {"retention": KeepLiving(grace=2)} if forgets else {}
    apart = {"islands": 2, "migration_interval": 3} if islands else {}
    configuration = Settings(capacity=capacity + 1, axes=AXES, **retention, **apart)
    memory = EvolutionaryMemory(configuration, journal)
    n = 0
    for word, k, score in words:
        if word == "remember" or not n:
            memory.remember(f"{n}", score, id=f"s{n}", island=k % (1 + islands))
            n += 1
            continue
        name, reason = f"s{k % n}", f"{k}"
        try:
            match word:
                case "rescore":
                    memory.rescore(name, score, reason)
                case "repeat":
                    memory.repeat(name, score, reason)
                case "retract":
                    memory.retract(name, reason)
                case _:
                    memory.supersede(name, f"s{(k + 1) % n}", reason)
        except (KeyError, ValueError):
            continue
    best = memory.best()
    usable = [one for one in memory.history() if one.status is Status.VALID]
    if best is None:
        assert not memory.ids
    else:
        assert best.status is Status.VALID
        assert best.id in {one.id for one in usable}
        assert all(best.score >= one.score for one in memory.living())
    for one in memory.living():
        assert one.status is Status.VALID
        assert one.score == pytest.approx(memory.evaluations(one.id).mean)
    assert document_of(refolded(memory, journal)) == document(memory)


def test_the_report_on_scores_reads_all_evaluations_of_the_whole_history() -> None:
    memory = filled([0.1, 0.9, 0.5, 0.7], capacity=2)
    for k in range(4):
        memory.repeat(f"s{k}", (0.12, 0.88, 0.52, 0.71)[k])
    memory.remember_failure("broken", "no")
    report = memory.validity()
    assert (report.n_solutions, report.n_evaluations) == (4, 8)
