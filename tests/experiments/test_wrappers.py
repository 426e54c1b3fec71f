"""Wrappers: what the search sees, and what stays true."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import memory
from experiments import loop
from experiments.contracts import Anchors, Evaluation, Task
from experiments.proposers.bit_flip import BitFlip
from experiments.study import load
from experiments.tasks.bbob import Bbob
from experiments.tasks.failing import Failing
from experiments.tasks.noisy import Noisy
from experiments.tasks.pbo import Pbo
from experiments.tasks.rescaled import WARPS, Rescaled
from memory.scaling.rank import Rank
from memory.scaling.raw import Raw
from memory.selection.boltzmann import Boltzmann

INNER = Pbo("OneMax", 20)
WRAPPERS: dict[str, Callable[[Task], Any]] = {
    "rescaled": Rescaled,
    "noisy": Noisy,
    "failing": Failing,
}
SIGNIFICANCE = 1e-6


def texts(n: int) -> list[str]:
    rng, problem = np.random.default_rng(1), INNER.problem(1)
    return [problem.initial(rng) for _ in range(n)]


def run(task: Task, settings: memory.Settings, budget: int = 150) -> loop.Run:
    return loop.run(
        task.problem(1),
        BitFlip(),
        settings,
        names=("wrappers",),
        budget=budget,
        initial=10,
    )


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_passes_on_what_it_does_not_change(name: str) -> None:
    inner = Bbob("Sphere", 5)
    task = WRAPPERS[name](inner)
    assert task.family == name
    assert task.natural_diversity == "hamming"
    assert task.natural_proposer == "gaussian_lines"
    assert task.cheap() == WRAPPERS[name](Bbob("Sphere", 2))
    problem = task.problem(3)
    assert problem.anchors == inner.problem(3).anchors
    generators = [np.random.default_rng(5) for _ in range(2)]
    initial = inner.problem(3).initial(generators[0])
    assert problem.initial(generators[1]) == initial
    assert problem.evaluate("no number") == inner.problem(3).evaluate("no number")
    with pytest.raises(ValueError, match="instance must be at"):
        task.problem(0)


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("task", [None, "pbo", Pbo, {"function": "OneMax"}])
def test_a_wrapper_needs_a_task(name: str, task: Any) -> None:
    with pytest.raises(TypeError, match="task must be a task with a method problem"):
        WRAPPERS[name](task)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapped_task_is_set_by_dotted_keys_of_a_study(name: str) -> None:
    entry = f"{{task: {name}, task.function: LeadingOnes, task.dimension: 12}}"
    study = load(["study=smoke", f"+study.tasks.x={entry}"])
    assert study.tasks[-1].task == WRAPPERS[name](Pbo("LeadingOnes", 12))
    assert study.tasks[-1].proposer == BitFlip()


def test_a_rescaled_score_is_bent_stretched_and_shifted() -> None:
    bent = {"none": lambda s: s, "exp": math.exp, "cbrt": lambda s: np.cbrt(s)}
    assert set(bent) == set(WARPS)
    for warp, function in bent.items():
        problem = Rescaled(INNER, factor=3.0, offset=-2.0, warp=warp).problem(2)
        for text in texts(50):
            plain, seen = INNER.problem(2).evaluate(text), problem.evaluate(text)
            assert plain.score is not None
            assert seen.score == pytest.approx(3.0 * function(plain.score) - 2.0)
            assert seen.truth == seen.true_score == plain.score
            assert (seen.value, seen.failure) == (plain.value, "")


@pytest.mark.parametrize("warp", WARPS)
def test_a_rescaled_search_that_reads_ranks_is_the_same_search(warp: str) -> None:
    ranked = memory.Settings(scaling=Rank(), selection=Boltzmann())
    task = Rescaled(INNER, factor=7.0, offset=5.0, warp=warp)
    mine, plain = run(task, ranked), run(INNER, ranked)
    assert mine.trajectory == plain.trajectory
    assert mine.best == plain.best


def test_a_rescaled_search_that_reads_differences_is_another() -> None:
    raw = memory.Settings(scaling=Raw(), selection=Boltzmann())
    task = Rescaled(INNER, factor=50.0)
    assert run(task, raw).trajectory != run(INNER, raw).trajectory
    assert run(Rescaled(INNER), raw).digest == run(INNER, raw).digest


def test_a_rescaled_score_beyond_the_floats_fails() -> None:
    assert Rescaled(INNER, factor=1e308).problem(1).evaluate("1" * 20).score == 1e308
    for warp, factor in (("exp", 1e308), ("none", 1.7e308)):
        problem = Rescaled(INNER, factor, offset=1e308, warp=warp).problem(1)
        evaluation = problem.evaluate("1" * 20)
        assert evaluation == (None, None, "the rescaled score is not finite", None)
    far = Rescaled(Prescribed(1000.0), warp="exp").problem(1).evaluate("x")
    assert far.failure == "the rescaled score is not finite"


@dataclass(frozen=True)
class Prescribed:
    """A task on which every text has one score."""

    score: float = 0.25
    family: str = "prescribed"
    natural_diversity: str = "hamming"
    natural_proposer: str = "bit_flip"

    @property
    def anchors(self) -> Anchors:
        return Anchors(0.0, 1.0, False, "made up")

    def problem(self, instance: int) -> Prescribed:
        return self

    def cheap(self) -> Prescribed:
        return self

    def initial(self, rng: np.random.Generator) -> str:
        return "0"

    def evaluate(self, text: str) -> Evaluation:
        return Evaluation(self.score, 2.0 * self.score)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"factor": 0.0}, ValueError, "factor must be positive and finite"),
        ({"factor": -1.0}, ValueError, "factor must be positive and finite"),
        ({"factor": "2"}, TypeError, "factor must be"),
        ({"offset": math.nan}, ValueError, "offset must be a finite real number"),
        ({"warp": "log"}, ValueError, "warp must be one of none, exp, cbrt, got 'log'"),
        ({"warp": None}, ValueError, "warp must be one of none, exp, cbrt, got None"),
    ],
)
def test_a_scale_that_is_none_is_refused(
    options: dict, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Rescaled(INNER, **options)


def noise(n: int, **options: Any) -> np.ndarray:
    problem = Noisy(Prescribed(), **options).problem(1)
    found = [problem.evaluate("01") for _ in range(n)]
    assert {(e.value, e.truth, e.failure) for e in found} == {(0.5, 0.25, "")}
    return np.array([e.score for e in found]) - 0.25


def test_noise_is_normal_with_the_given_sd() -> None:
    sample = noise(10_000, sd=0.2)
    assert stats.kstest(sample, stats.norm(0.0, 0.2).cdf).pvalue > SIGNIFICANCE


def test_heavy_tailed_noise_is_a_t_of_three_degrees_with_the_given_sd() -> None:
    sample = noise(10_000, sd=0.2, heavy_tail=True)
    law = stats.t(3, scale=0.2 / math.sqrt(3.0))
    assert law.std() == pytest.approx(0.2)
    assert stats.kstest(sample, law.cdf).pvalue > SIGNIFICANCE
    # Powerful enough to tell it from a normal of the same sd.
    assert stats.kstest(sample, stats.norm(0.0, 0.2).cdf).pvalue < SIGNIFICANCE


def test_the_test_of_the_noise_has_power() -> None:
    sample = noise(10_000, sd=0.23)
    assert stats.kstest(sample, stats.norm(0.0, 0.2).cdf).pvalue < SIGNIFICANCE


def test_noise_depends_on_instance_text_and_index_alone() -> None:
    def seen(task: Task, instance: int, sequence: list[str]) -> list[float | None]:
        problem = task.problem(instance)
        return [problem.evaluate(text).score for text in sequence]

    task = Noisy(INNER, sd=0.1)
    a, b, c = texts(3)
    assert seen(task, 1, [a, b, c]) == seen(task, 1, [a, b, c])
    assert seen(task, 1, [c, b, b])[1] == seen(task, 1, [a, b, c])[1]
    again = seen(task, 1, [a, a, a])
    assert len(set(again)) == 3
    errors = [
        np.array(seen(task, instance, [text])) - np.array(seen(INNER, instance, [text]))
        for instance, text in ((1, a), (2, a), (1, b))
    ]
    assert len({float(error[0]) for error in errors}) == 3


def test_the_index_counts_failures_too() -> None:
    first, second = Noisy(INNER).problem(1), Noisy(INNER).problem(1)
    first.evaluate("no bits")
    second.evaluate("0" * 20)
    assert first.evaluate("1" * 20) == second.evaluate("1" * 20)


def test_noise_within_noise_is_independent() -> None:
    once = Noisy(Prescribed(), sd=1.0).problem(1)
    twice = Noisy(Noisy(Prescribed(), sd=1.0), sd=1.0).problem(1)
    pairs = [(once.evaluate("0").score, twice.evaluate("0")) for _ in range(2_000)]
    outer = [seen.score - inner for inner, seen in pairs]
    inner_noise = [inner for inner, _ in pairs]
    assert abs(np.corrcoef(outer, inner_noise)[0, 1]) < 5.0 / math.sqrt(2_000)
    assert {seen.truth for _, seen in pairs} == {0.25}


def test_the_regret_of_a_noisy_search_is_true() -> None:
    noisy = run(Noisy(INNER, sd=2.0), memory.Settings())
    assert 0.0 < noisy.best <= 1.0
    # Bits give true scores in tenths; noise would not.
    assert all(10.0 * best == round(10.0 * best) for best in noisy.trajectory.best)


def test_no_noise_changes_nothing() -> None:
    settings = memory.Settings()
    quiet, plain = run(Noisy(INNER, sd=0.0), settings), run(INNER, settings)
    assert quiet.digest == plain.digest
    assert run(Noisy(INNER, sd=0.5), settings).digest != plain.digest
    assert run(Noisy(INNER, sd=0.5), settings) == run(Noisy(INNER, sd=0.5), settings)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sd": -0.1}, ValueError, "sd must not be negative, got -0.1"),
        ({"sd": math.inf}, ValueError, "sd must be a finite real number"),
        ({"heavy_tail": 3}, TypeError, "heavy_tail must be true or false"),
    ],
)
def test_noise_that_is_none_is_refused(
    options: dict, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Noisy(INNER, **options)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_evaluations_fail_at_the_given_rate(rate: float) -> None:
    problem = Failing(Prescribed(), rate=rate).problem(1)
    found = [problem.evaluate("01") for _ in range(4_000)]
    n_failed = sum(evaluation.score is None for evaluation in found)
    law = stats.binomtest(n_failed, 4_000, rate)
    assert law.pvalue > SIGNIFICANCE
    assert stats.binomtest(n_failed, 4_000, 0.35).pvalue < SIGNIFICANCE
    failed = Evaluation(None, None, "the evaluation failed by chance")
    assert set(found) <= {failed, Evaluation(0.25, 0.5)}


def test_failures_repeat_with_the_run_and_cost_evaluations() -> None:
    first, second = (run(Failing(INNER, rate=0.4), memory.Settings()) for _ in range(2))
    assert first == second
    assert 35 < first.failures < 85
    assert first.evaluations == 150


def test_failures_leave_the_truth_of_a_noisy_score() -> None:
    problem = Failing(Noisy(Prescribed(), sd=0.1), rate=0.5).problem(1)
    found = [problem.evaluate("01") for _ in range(200)]
    assert {evaluation.true_score for evaluation in found} == {None, 0.25}


@pytest.mark.parametrize(
    ("rate", "error"), [(-0.1, ValueError), (1.1, ValueError), ("1", TypeError)]
)
def test_a_rate_that_is_none_is_refused(rate: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="rate must"):
        Failing(INNER, rate=rate)


def test_persistent_noise_belongs_to_the_text_in_every_run() -> None:
    texts = ["a", "b", "a", "c", "a"]
    first, second = (Noisy(Prescribed(), persistent=True).problem(1) for _ in range(2))
    scores = [first.evaluate(text).score for text in texts]
    assert scores[0] == scores[2] == scores[4]
    assert len(set(scores)) == 3
    assert [second.evaluate(text).score for text in ("c", "a")] == [
        scores[3],
        scores[0],
    ]
    fresh = Noisy(Prescribed()).problem(1)
    assert len({fresh.evaluate("a").score for _ in range(5)}) == 5
    other = Noisy(Prescribed(), persistent=True).problem(2)
    assert other.evaluate("a").score != scores[0]


def test_persistent_is_a_flag() -> None:
    with pytest.raises(TypeError, match="persistent must be true or false"):
        Noisy(INNER, persistent=1)  # type: ignore[arg-type]
