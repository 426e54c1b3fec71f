"""Verdicts: against numbers worked by hand, SciPy, statsmodels and rliable."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from benchmarks import rliable_agreement
from experiments import table as tables
from experiments.statistics import exploratory, holm, profiles, size
from experiments.statistics.blocks import checked
from experiments.statistics.control import Expected, control_verdict
from experiments.statistics.effect import a12, probability_of_improvement
from experiments.statistics.equivalence import equivalence_interval, inside
from experiments.statistics.factorial import Design, factorial, trend_weights
from experiments.statistics.family import verdicts
from experiments.statistics.paired import differences
from experiments.statistics.permutation import DRAWS, sign_flip_p, smallest_p
from experiments.statistics.size import Size, Spread
from experiments.statistics.verdict import Outcome, Verdict
from tests.experiments import synthetic

rng = synthetic.generator
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "rliable.json").read_text("utf-8")
)


class Plan(NamedTuple):
    arm: str
    base: str


AB = [Plan("a", "b")]


def long(arms: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Returns a long table of {arm: values by task and seed}."""
    return pd.DataFrame(
        [
            {"arm": arm, "task": f"t{task}", "instance": 1, "seed": seed}
            | {"value": value}
            for arm, rows in arms.items()
            for task, row in enumerate(rows)
            for seed, value in enumerate(row)
        ]
    )


def against_zero(rows: list[list[float]]) -> pd.DataFrame:
    """Returns a table whose differences a - b are ``rows``."""
    return long({"a": rows, "b": [[0.0] * len(row) for row in rows]})


def verdict(table: pd.DataFrame, margin: float, **options: object) -> Verdict:
    (found,) = verdicts(table, AB, margin=margin, generator=rng, **options)  # type: ignore[arg-type]
    return found


def normal(*names: object, shape: tuple[int, ...]) -> np.ndarray:
    return stats.norm.ppf(rng(*names).random(shape))


# The sign-flip test.


def test_the_p_value_of_three_tasks_is_counted_by_hand() -> None:
    # |sum| is 6 for +++ and ---, 4 for ++- of 1: the sums are 6, 0, 2, 4 and opposites.
    means = np.array([1.0, 2.0, 3.0])
    assert sign_flip_p(means) == 0.25
    assert sign_flip_p(np.array([-1.0, 2.0, 3.0])) == 0.5
    assert sign_flip_p(np.array([1.0, 2.0, -3.0])) == 1.0


@pytest.mark.parametrize("n", [2, 5, 9, 13])
def test_the_exact_p_value_is_that_of_scipy(n: int) -> None:
    for index in range(3):
        means = normal("flip", n, index, shape=(n,)) + 0.4
        theirs = stats.permutation_test(
            (means,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert sign_flip_p(means) == pytest.approx(theirs.pvalue)


def test_drawn_signs_agree_with_all_signs_and_never_give_zero() -> None:
    means = normal("many", shape=(16,)) + 0.5
    signs = np.array(list(product((-1.0, 1.0), repeat=16)))
    exact = np.mean(np.abs(signs @ means) >= abs(means.sum()) - 1e-12)
    error = math.sqrt(exact * (1.0 - exact) / DRAWS)
    assert sign_flip_p(means, rng("signs")) == pytest.approx(exact, abs=5 * error)
    assert (
        sign_flip_p(np.ones(40), rng("signs")) == 1.0 / (1.0 + DRAWS) == smallest_p(40)
    )
    with pytest.raises(ValueError, match="rng must be given for more than 15 tasks"):
        sign_flip_p(means)


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=10), st.integers(0, 9))
def test_the_p_value_ignores_scale_sign_and_order(row: list[int], turn: int) -> None:
    means = np.array(row, dtype=np.float64) / 10.0
    p = sign_flip_p(means)
    assert smallest_p(means.size) <= p <= 1.0
    assert sign_flip_p(-3.7 * np.roll(means, turn)) == p


def test_rounding_does_not_break_ties() -> None:
    # 0.1 + 0.2 - 0.3 is not zero in floating point; all signs give one sum or a tie.
    assert sign_flip_p(np.array([0.1, 0.2, -0.3])) == 1.0
    with pytest.raises(ValueError, match="means must be finite and not empty"):
        sign_flip_p(np.array([math.nan]))


# Families.


def test_holm_multiplies_step_by_step() -> None:
    assert holm.adjusted([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    drawn = (rng("holm").random(9) ** 3).tolist()
    theirs = multipletests(drawn, method="holm")[1]
    assert holm.adjusted(drawn) == pytest.approx(tuple(theirs))
    assert holm.adjusted([]) == ()
    with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\], got nan"):
        holm.adjusted([math.nan])


def test_a_family_can_pass_only_with_enough_tasks() -> None:
    assert smallest_p(8) == pytest.approx(0.0078, abs=5e-5)
    assert smallest_p(12) == pytest.approx(0.0005, abs=5e-5)
    assert not holm.can_pass(8, 8)
    assert holm.can_pass(12, 8)
    assert holm.least_tasks(8) == 9
    assert holm.least_tasks(1) == 6
    assert holm.least_tasks(820) is None
    assert size.deciding(Size(20, 5), Spread(0.1, 0.1), 1.0, n_contrasts=820) == ()
    for bad in ((0, 1, 0.05), (3, 0, 0.05), (3, 1, 1.0)):
        with pytest.raises(ValueError, match="must"):
            holm.can_pass(*bad)


# Equivalence.


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.6, 1.2])
def test_the_interval_inside_the_margin_is_tost(shift: float) -> None:
    for index in range(5):
        means = normal("tost", shift, index, shape=(9,)) + shift
        p, _, _ = DescrStatsW(means).ttost_mean(-1.0, 1.0)
        assert inside(equivalence_interval(means), 1.0) == (p < 0.05)


def test_the_equivalence_interval_is_worked_by_hand() -> None:
    # Mean 0, standard error 1; the 95 % quantile of t with one degree is tan(0.45 pi).
    low, high = equivalence_interval(np.array([-1.0, 1.0]))
    assert (low, high) == pytest.approx((-math.tan(0.45 * math.pi), -low))
    assert not inside(equivalence_interval(np.array([0.0])), 1.0)
    with pytest.raises(ValueError, match="margin must be positive"):
        inside(equivalence_interval(np.array([0.0, 0.0])), 0.0)


# Effects.


def test_a12_counts_all_pairs_of_runs_and_ties_half() -> None:
    # 1 beats 2 and 3; 2 ties 2 and beats 3: 3.5 of 4.
    assert a12(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == 3.5 / 4.0
    assert a12(np.array([1.0, 2.0]), np.array([2.0, 3.0]), False) == 0.5 / 4.0
    with pytest.raises(ValueError, match="base must be finite and not empty"):
        a12(np.array([1.0]), np.array([]))


def test_a12_is_the_statistic_of_mann_and_whitney() -> None:
    drawn = np.round(rng("mw").random((2, 30)), 1)
    u = stats.mannwhitneyu(drawn[0], drawn[1]).statistic
    assert a12(drawn[0], drawn[1], False) == pytest.approx(u / 900.0)


def test_pairing_narrows_the_interval_of_the_probability_of_improvement() -> None:
    shared, noise = rng("poi").random((2, 3, 20))
    alone = rng("alone").random((3, 20))
    widths = []
    for arm in (shared + 0.05 * noise, alone):
        table = long({"a": arm.tolist(), "b": shared.tolist()})
        found = probability_of_improvement(differences(table, "a", "b"), rng("i"))
        widths.append(found.interval.high - found.interval.low)
        assert found.interval.low < found.value < found.interval.high
    assert widths[0] < 0.6 * widths[1]


def test_our_aggregates_agree_with_rliable() -> None:
    mine = rliable_agreement.our_numbers(GOLDEN)
    better = "probability_of_improvement"
    for quantity in ("interquartile_mean", "performance_profile", better):
        # A share moves in steps of one run in 60.
        room = 1.01 / 60 if quantity == "performance_profile" else 0.005
        for name, rows in GOLDEN[quantity].items():
            for (value, *ends), (ours, *our_ends) in zip(
                rows, mine[quantity][name], strict=True
            ):
                assert ours == pytest.approx(value, abs=1e-6)
                # There the pairs matter, and rliable throws them away.
                if (quantity, name) != (better, "twin, base"):
                    assert our_ends == pytest.approx(ends, abs=room)
    ((_, low, high),) = GOLDEN[better]["twin, base"]
    ((_, our_low, our_high),) = mine[better]["twin, base"]
    assert our_high - our_low < 0.5 * (high - low)
    written = rliable_agreement.PAGE.read_text("utf-8")
    assert written == rliable_agreement.page(GOLDEN, mine)


# Size.


def test_pairs_follow_the_two_rules_of_thumb() -> None:
    assert size.pairs_for_difference(100.0, 1.0) == pytest.approx(105_074, abs=5)
    assert size.pairs_for_equivalence(100.0, 1.0) == pytest.approx(108_222, abs=5)
    assert size.pairs_for_difference(0.1, 1.0) == 2
    with pytest.raises(ValueError, match="sd and effect must be positive"):
        size.pairs_for_difference(0.0, 1.0)


def test_the_power_of_many_tasks_is_that_of_the_t_test() -> None:
    for n_tasks, ratio in ((20, 2.5), (40, 3.3)):
        theirs = TTestPower().power(ratio / math.sqrt(n_tasks), n_tasks, 0.05)
        assert size.difference_power(ratio, n_tasks) == pytest.approx(theirs, abs=1e-4)


def test_with_thirty_runs_a_margin_of_a_fifth_sd_is_missed_four_times_in_five() -> None:
    power = size.difference_power(math.sqrt(30) / 5.0, 30)
    assert 1.0 - power == pytest.approx(0.81, abs=0.01)


def test_too_few_tasks_have_no_power() -> None:
    assert size.difference_power(99.0, 8, n_contrasts=8) == 0.0
    assert size.needed_ratio(8, 8) == math.inf
    assert size.difference_power(99.0, 9, n_contrasts=8) == 1.0


def test_the_power_of_equivalence_matches_a_hand_simulation() -> None:
    drawn = normal("eq", shape=(20_000, 8))
    error = drawn.std(axis=1, ddof=1) / math.sqrt(8)
    reach = stats.t.isf(0.05, 7) * error
    margin = 3.6 / math.sqrt(8)
    share = np.mean(np.abs(drawn.mean(axis=1)) + reach < margin)
    assert size.equivalence_power(3.6, 8) == pytest.approx(share, abs=0.012)


def test_spread_separates_tasks_from_runs_by_hand() -> None:
    pairs = pd.DataFrame({"task": list("xxyy"), "difference": [0.0, 2.0, 4.0, 6.0]})
    # Means 1 and 5 have variance 8; each task has variance 2, so 2 / 2 of it is noise.
    assert size.spread(pairs) == pytest.approx((math.sqrt(7.0), math.sqrt(2.0)))
    single = size.spread(pairs[::2])
    assert single == (pytest.approx(math.sqrt(8.0)), 0.0)
    with pytest.raises(ValueError, match="pairs must hold at least 2 tasks, got 1"):
        size.spread(pairs[:2])


def test_a_deciding_size_is_the_least_that_keeps_its_promise() -> None:
    spread = Spread(0.1, 0.5)
    few = Size(10, 10)
    found = size.deciding(few, spread, 0.15, n_contrasts=2)
    assert len(found) == 2
    assert [s.n_tasks * s.n_seeds for s in found] == sorted(
        s.n_tasks * s.n_seeds for s in found
    )
    for option in found:
        kept = size.promised(option, spread, 0.15, n_contrasts=2)
        assert min(kept) > 0.895
        less = Size(option.n_tasks - 1, 10) if option.n_seeds == 10 else None
        less = less or Size(10, option.n_seeds - 1)
        assert min(size.promised(less, spread, 0.15, n_contrasts=2)) < 0.905


def test_seeds_cannot_decide_what_tasks_disagree_on() -> None:
    (only,) = size.deciding(Size(10, 10), Spread(1.0, 0.1), 0.2)
    assert only.n_seeds == 10
    assert only.n_tasks > 200
    assert size.deciding(Size(10, 10), Spread(1.0, 0.1), 0.001) == ()
    assert size.promised(Size(10, 10), Spread(0.0, 0.0), 0.1) == (1.0, 1.0)
    for bad, margin in ((Size(1, 9), 0.1), (Size(9, 9), 0.0)):
        with pytest.raises(ValueError, match="must be"):
            size.promised(bad, Spread(1.0, 1.0), margin)


# Verdicts.


def test_a_clear_difference_is_better_or_worse_by_direction() -> None:
    rows = (-1.0 + 0.2 * normal("clear", shape=(10, 4))).tolist()
    better = verdict(against_zero(rows), 0.5)
    assert (better.outcome, better.words) == (Outcome.BETTER, "BETTER")
    assert better.p == better.p_holm == 2.0**-9
    assert better.a12 == better.comparison.better == 1.0
    assert (better.n_tasks, better.n_pairs) == (10, 40)
    assert (better.reason, better.deciding) == ("", ())
    worse = verdict(against_zero(rows), 0.5, lower_is_better=False)
    assert worse.outcome is Outcome.WORSE
    assert worse.a12 == 0.0


def test_a_clear_difference_inside_the_margin_is_negligible() -> None:
    rows = (0.1 + 0.02 * normal("small", shape=(10, 4))).tolist()
    found = verdict(against_zero(rows), 0.5)
    assert (found.outcome, found.negligible) == (Outcome.WORSE, True)
    assert found.words == "WORSE, negligible"


def test_noise_inside_the_margin_is_equivalent_and_beyond_it_inconclusive() -> None:
    drawn = normal("noise", shape=(10, 4))
    rows = (drawn - drawn.mean()).tolist()
    narrow, wide = verdict(against_zero(rows), 0.1), verdict(against_zero(rows), 2.0)
    assert wide.outcome is Outcome.EQUIVALENT
    assert not wide.identical
    assert narrow.outcome is Outcome.INCONCLUSIVE
    assert narrow.reason == "the interval holds zero and reaches beyond the margin"
    assert all(
        option.n_tasks * option.n_seeds > 40 and option.n_tasks >= 10
        for option in narrow.deciding
    )
    assert narrow.deciding


def test_equal_runs_are_identical_before_any_test() -> None:
    rows = rng("same").random((12, 3)).tolist()
    found = verdict(long({"a": rows, "b": rows}), 0.1)
    assert found.words == "EQUIVALENT (identical)"
    assert found.p is found.p_holm is None
    assert found.a12 == 0.5
    # One task is enough for that: nothing is inferred.
    assert verdict(long({"a": rows[:1], "b": rows[:1]}), 0.1).identical


def test_arms_that_never_vary_have_no_correlation() -> None:
    found = verdict(long({"a": [[1.0] * 3] * 9, "b": [[2.0] * 3] * 9}), 0.5)
    assert found.comparison.correlation is None
    # Differences of sd 0 that are not zero: the interval is a point.
    assert found.comparison.tasks_random == found.equivalence == (-1.0, -1.0)
    assert found.outcome is Outcome.BETTER
    assert not found.negligible


def test_one_task_says_nothing_about_others() -> None:
    found = verdict(against_zero([(5.0 + normal("one", shape=(30,))).tolist()]), 0.1)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason == "one task says nothing about others"
    assert found.p == 1.0
    assert math.isnan(found.equivalence.low)
    assert found.deciding == ()
    # The interval for this task is there all the same.
    assert found.comparison.tasks_fixed.low > 4.0


def test_two_tasks_cannot_pass_and_say_so() -> None:
    found = verdict(against_zero([[1.0, 1.01], [1.02, 1.01]]), 0.1)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.p == 0.5
    assert found.reason == "2 tasks cannot give p below 0.5, too much for a family of 1"
    # Even tiny noise needs the six tasks whose signs can give p below 0.05.
    assert found.deciding == (Size(6, 2),)


def test_two_tasks_can_be_equivalent() -> None:
    assert verdict(against_zero([[0.0, 0.1], [0.1, 0.0]]), 9.0).words == "EQUIVALENT"


def test_a_family_asks_more_than_a_contrast_alone() -> None:
    shift = -0.62 + normal("family", shape=(10, 1))
    arms = {"b": [[0.0]] * 10, "a": shift.tolist()}
    for index in range(7):
        arms[f"n{index}"] = normal("null", index, shape=(10, 1)).tolist()
    alone = verdict(long(arms), 0.05)
    family = verdicts(
        long(arms),
        [Plan(arm, "b") for arm in arms if arm != "b"],
        margin=0.05,
        generator=rng,
    )
    assert alone.outcome is Outcome.BETTER
    assert family[0].p == alone.p
    assert family[0].comparison == alone.comparison
    assert family[0].p_holm == pytest.approx(8 * alone.p)
    assert family[0].outcome is Outcome.INCONCLUSIVE
    assert family[0].reason == "the interval excludes zero, the adjusted test does not"


def test_an_identical_contrast_stays_in_its_family() -> None:
    rows = (-1.0 + 0.2 * normal("clear", shape=(10, 4))).tolist()
    zero = [[0.0] * 4] * 10
    found = verdicts(
        long({"a": rows, "b": zero, "c": zero}),
        [Plan("a", "b"), Plan("c", "b")],
        margin=0.5,
        generator=rng,
    )
    assert found[0].p_holm == pytest.approx(2 * found[0].p)
    assert found[1].identical


def test_a_task_counts_once_however_many_runs_it_has() -> None:
    rows = [[0.3] * 2, [-0.1] * 50, [0.2] * 3]
    found = verdict(against_zero(rows), 1.0)
    assert found.effect == pytest.approx(0.4 / 3)
    means = np.array([0.3, -0.1, 0.2])
    ends = stats.ttest_1samp(means, 0.0).confidence_interval(0.90)
    assert found.equivalence == pytest.approx((ends.low, ends.high))


def test_failed_runs_count_as_worst_and_are_left_out_beside_it() -> None:
    runs, _ = synthetic.tables(4)
    failed = [f"{task}-adaptive-0" for task in synthetic.TASKS]
    runs = synthetic.with_failures(runs, failed)
    worst = tables.values(runs, "area")
    known = tables.values(runs, "area", failed="missing")
    plans = [Plan("adaptive", "fixed"), Plan("twin", "fixed")]
    found, twin = verdicts(
        worst, plans, margin=0.2, sensitivity=known, generator=rng, resamples=200
    )
    assert found.sensitivity is not None
    assert (found.n_pairs, found.sensitivity.n_pairs) == (12, 9)
    assert found.sensitivity.effect < found.effect
    assert twin.identical
    assert twin.sensitivity is not None


def test_arms_that_all_failed_are_not_equivalent() -> None:
    rows = [[1.0] * 3] * 8
    worst = long({"a": rows, "b": rows, "c": rows})
    known = worst.copy()
    known.loc[known["arm"] != "c", "value"] = math.nan
    found, half = verdicts(
        worst,
        [Plan("a", "b"), Plan("a", "c")],
        margin=0.1,
        sensitivity=known,
        generator=rng,
    )
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason == "no pair of runs finished"
    assert found.words == "INCONCLUSIVE"
    # The other arm finished, and as badly as a failure counts: no pair says anything.
    assert half.identical
    assert half.outcome is Outcome.INCONCLUSIVE
    assert half.reason == "no pair of runs finished"
    assert half.sensitivity is None


def test_an_arm_that_all_failed_is_worse() -> None:
    ran = (0.5 * rng("ran").random((8, 3))).tolist()
    worst = long({"a": [[1.0] * 3] * 8, "b": ran})
    known = worst.assign(value=worst["value"].mask(worst["arm"] == "a"))
    found = verdict(worst, 0.1, sensitivity=known)
    assert found.outcome is Outcome.WORSE
    assert found.sensitivity is None


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=9
    ),
    margin=st.floats(0.01, 3.0),
)
def test_swapping_arms_swaps_better_and_worse(
    rows: list[list[float]], margin: float
) -> None:
    table = against_zero(rows)
    one = verdict(table, margin, resamples=50)
    (two,) = verdicts(
        table, [Plan("b", "a")], margin=margin, generator=rng, resamples=50
    )
    mirror = {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}
    assert two.outcome is mirror.get(one.outcome, one.outcome)
    assert (one.p, one.negligible, one.reason) == (two.p, two.negligible, two.reason)
    assert one.a12 == pytest.approx(1.0 - two.a12)


def test_tables_that_are_not_what_they_should_be_are_refused() -> None:
    good = against_zero([[0.1, 0.2], [0.3, 0.1]])
    mixed = good.assign(metric=["area", "regret"] * 4)
    cases: list[tuple[pd.DataFrame, type[Exception], str]] = [
        (good.drop(columns="seed"), ValueError, "must have the columns seed"),
        (good[:0], ValueError, "values must not be empty"),
        (mixed, ValueError, "values must hold one metric, got area, regret"),
        (pd.concat([good, good[:1]]), ValueError, "a run once, got of a at task t0"),
        (good[1:], ValueError, "got no a at task t0, instance 1, seed 0"),
        (good.assign(value="x"), TypeError, "value of values must hold real numbers"),
        (good.assign(seed=0.5), TypeError, "seed of values must hold integers"),
        (good.assign(task=1), TypeError, "task of values must hold strings"),
        (good.assign(value=math.nan), ValueError, "value must be finite, got nan of a"),
        (good.assign(value=math.inf), ValueError, "value must be finite, got inf of a"),
    ]
    for table, error, message in cases:
        with pytest.raises(error, match=message):
            verdict(table, 0.1)
    assert checked(good.assign(value=math.nan), missing=True)["value"].isna().all()


def test_families_that_are_not_what_they_should_be_are_refused() -> None:
    good = against_zero([[0.1, 0.2], [0.3, 0.1]])
    for plans, message in (
        ([], "contrasts must not be empty"),
        ([Plan("a", "b"), Plan("b", "a")], "contrasts must hold a pair of arms once"),
        ([Plan("a", "z")], "base must be an arm of the table, got 'z'"),
    ):
        with pytest.raises(ValueError, match=message):
            verdicts(good, plans, margin=0.1, generator=rng)
    for options, message in (
        ({"margin": 0.0}, "margin must be positive"),
        ({"margin": 0.1, "alpha": 0.5}, "alpha must lie in"),
        ({"margin": 0.1, "sensitivity": good[::2]}, "every arm|the same runs"),
    ):
        with pytest.raises(ValueError, match=message):
            verdict(good, **options)


# Controls.


def test_controls_pass_or_fail_apart_from_the_family() -> None:
    null = normal("aa", shape=(9, 3))
    null -= null.mean()
    same = against_zero(null.tolist())
    off = against_zero((null * 0.1 + 1.0).tolist())
    options = {"margin": 0.1, "generator": rng}
    assert control_verdict(same, AB[0], Expected.SAME, **options).passed
    assert not control_verdict(off, AB[0], Expected.SAME, **options).passed
    assert control_verdict(off, AB[0], Expected.WORSE, **options).passed
    assert not control_verdict(off, AB[0], Expected.BETTER, **options).passed
    assert not control_verdict(same, AB[0], Expected.WORSE, **options).passed


def test_a_control_that_must_be_identical_fails_at_the_smallest_difference() -> None:
    options = {"margin": 0.1, "generator": rng}
    zero = np.zeros((9, 3))
    assert control_verdict(
        against_zero(zero.tolist()), AB[0], Expected.IDENTICAL, **options
    ).passed
    zero[4, 1] = 1e-12
    found = control_verdict(
        against_zero(zero.tolist()), AB[0], Expected.IDENTICAL, **options
    )
    assert found.verdict.outcome is Outcome.EQUIVALENT
    assert not found.passed


def test_a_control_is_held_to_its_registered_tasks() -> None:
    rows = [[1.0 + 0.01 * task] for task in range(7)] + [[-3.0]] * 6
    table = against_zero(rows)
    rewarding = tuple(f"t{task}" for task in range(7))
    options = {"margin": 0.1, "generator": rng}
    assert control_verdict(
        table, AB[0], Expected.WORSE, tasks=rewarding, **options
    ).passed
    assert not control_verdict(table, AB[0], Expected.WORSE, **options).passed
    with pytest.raises(ValueError, match="tasks must be tasks of the table, got 'no'"):
        control_verdict(table, AB[0], Expected.SAME, tasks=("no",), **options)


def test_a_control_of_failed_runs_has_not_passed() -> None:
    rows = [[1.0] * 2] * 8
    worst = long({"a": rows, "b": rows})
    found = control_verdict(
        worst,
        AB[0],
        Expected.SAME,
        margin=0.1,
        sensitivity=worst.assign(value=math.nan),
        generator=rng,
    )
    assert not found.passed


# Profiles.


def test_a_profile_is_the_share_of_runs_above_a_threshold_by_task() -> None:
    table = long({"a": [[0.2, 0.6], [0.9, 0.9, 0.9, 0.1]]})
    found = profiles.performance_profile(table, np.array([0.0, 0.5, 0.9]), rng("p"))
    # One half of the first task and three quarters of the second lie above 0.5.
    assert found["share"].tolist() == [1.0, (0.5 + 0.75) / 2, 0.0]
    assert found["n"].tolist() == [6] * 3
    assert (found["low"] <= found["share"]).all()
    assert (found["share"] <= found["high"]).all()
    assert found.loc[0, ["low", "high"]].tolist() == [1.0, 1.0]


def test_the_runtime_ecdf_counts_targets_of_all_runs_failed_ones_too() -> None:
    curves = {("t0", 0): [-1.0, -2.0], ("t0", 1): [0.0, -1.0], ("t1", 0): [-3.0, -3.0]}
    points = pd.DataFrame(
        [
            {"arm": "a", "task": task, "instance": 1, "seed": seed}
            | {"evaluation": 10.0 ** (index + 1), "value": value}
            for (task, seed), row in curves.items()
            for index, value in enumerate(row)
        ]
    )
    runs = pd.DataFrame({"arm": "a", "task": ["t0", "t0", "t1", "t1"]})
    found = profiles.runtime_ecdf(points, runs, np.array([-1.0, -2.0]))
    # At 10: one of four on t0, two of four on t1; at 100: three of four on t0.
    assert found["evaluation"].tolist() == [10.0, 100.0]
    assert found["share"].tolist() == pytest.approx([(1 + 2) / 8, (3 + 2) / 8])
    with pytest.raises(ValueError, match="targets must not be empty"):
        profiles.runtime_ecdf(points, runs, np.empty(0))
    with pytest.raises(ValueError, match="points must be of the runs, got more of a"):
        profiles.runtime_ecdf(points, runs[1:3], np.array([0.0]))


def test_the_expected_running_time_is_all_evaluations_by_successes() -> None:
    runs = pd.DataFrame(
        {
            "task": "t",
            "arm": ["a", "a", "a", "b"],
            "status": ["ok", "ok", "failed", "ok"],
            "evaluations": [500, 500, 3, 500],
            "success": [True, False, False, False],
            "hit": [120.0, math.nan, math.nan, math.nan],
        }
    )
    found = profiles.expected_running_time(runs)
    # 120 to the success, 500 without, and a failed run costs what the dearest one did.
    assert found["expected_running_time"].tolist() == [1120.0, math.inf]
    assert found["successes"].tolist() == [1, 0]


# All pairs.


def test_all_pairs_are_friedman_then_wilcoxon_with_holm() -> None:
    drawn = normal("pairs", shape=(3, 9, 2))
    drawn[2] += 1.0
    table = long(dict(zip("abc", drawn.tolist(), strict=True)))
    found = exploratory.all_pairs(table)
    means = drawn.mean(axis=2)
    assert found.friedman_p == pytest.approx(stats.friedmanchisquare(*means).pvalue)
    p = [
        stats.wilcoxon(means[i] - means[j]).pvalue for j, i in ((0, 1), (0, 2), (1, 2))
    ]
    assert found.pairs["p"].tolist() == pytest.approx(p)
    assert found.pairs["p_holm"].tolist() == pytest.approx(list(holm.adjusted(p)))
    level = exploratory.all_pairs(table.assign(value=1.0))
    assert level.friedman_p == 1.0
    assert (level.pairs["p"] == 1.0).all()
    with pytest.raises(ValueError, match="values must hold 3 arms and 2 tasks"):
        exploratory.all_pairs(table[table["arm"] != "c"])


# Factorial studies.

FACTORS = {"mapping": ("fixed", "original", "inverted"), "scaling": ("raw", "rank")}


def design(**options: object) -> Design:
    arms = {
        f"{mapping}_{scaling}": {"mapping": mapping, "scaling": scaling}
        for mapping, scaling in product(*FACTORS.values())
    }
    fields: dict[str, object] = {
        "factors": FACTORS,
        "arms": arms,
        "interactions": (("mapping", "scaling"),),
    }
    return Design(**fields | options)  # type: ignore[arg-type]


def cells(effects: dict[str, float], noise: float = 0.05) -> pd.DataFrame:
    """Returns 10 tasks x 2 seeds of arms with these effects and tasks far apart."""
    tasks = 3.0 * normal("levels", shape=(10, 1))
    return long(
        {
            arm: (
                tasks + effects.get(arm, 0.0) + noise * normal("n", arm, shape=(10, 2))
            ).tolist()
            for arm in design().arms
        }
    )


def test_a_factor_without_interaction_is_claimed_overall() -> None:
    effects = {f"inverted_{scaling}": -0.5 for scaling in FACTORS["scaling"]}
    found = factorial(cells(effects), design(), rng("f"), margin=0.1)
    claims = {(c.overall.factor, c.overall.contrast): c for c in found.claims}
    inverted = claims["mapping", "inverted against fixed"]
    assert inverted.is_overall
    assert inverted.overall.outcome is Outcome.BETTER
    assert [effect.at for effect in inverted.simple] == [
        "scaling = raw",
        "scaling = rank",
    ]
    assert all(effect.outcome is Outcome.BETTER for effect in inverted.simple)
    assert claims["mapping", "original against fixed"].overall.outcome is (
        Outcome.EQUIVALENT
    )
    mapping, scaling, both = found.terms
    assert mapping.p < 1e-6 < 0.01 < both.p == both.p_holm
    assert mapping.share > 0.9
    assert mapping.share + scaling.share + both.share <= 1.0
    assert (mapping.degrees, scaling.degrees, both.degrees) == (2, 1, 2)


def test_a_factor_whose_sign_turns_is_claimed_per_level_only() -> None:
    effects = {"inverted_raw": -0.6, "inverted_rank": 0.3}
    found = factorial(cells(effects), design(), rng("f"), margin=0.1)
    claim = found.claims[1]
    assert claim.overall.contrast == "inverted against fixed"
    # On average it is better, and to say so would be wrong at one of the two levels.
    assert claim.overall.outcome is Outcome.BETTER
    assert claim.reversed_by == ("scaling",)
    assert not claim.is_overall
    assert [e.outcome for e in claim.simple] == [Outcome.BETTER, Outcome.WORSE]
    assert found.terms[2].p_holm < 1e-6


def test_an_ordered_factor_has_a_trend() -> None:
    assert trend_weights(2).tolist() == [-1.0, 1.0]
    assert trend_weights(3).tolist() == [-1.0, 0.0, 1.0]
    # Any line rises by its own rise, whatever the number of levels.
    assert trend_weights(5) @ np.linspace(2.0, 3.0, 5) == pytest.approx(1.0)
    effects = {f"original_{s}": 0.2 for s in FACTORS["scaling"]}
    effects |= {f"inverted_{s}": 0.4 for s in FACTORS["scaling"]}
    found = factorial(
        cells(effects), design(ordered=("mapping",)), rng("f"), margin=0.1
    )
    trend = found.claims[0].overall
    assert (trend.factor, trend.contrast) == ("mapping", "trend")
    assert trend.outcome is Outcome.WORSE
    assert trend.estimate == pytest.approx(0.4, abs=0.03)


def test_the_mixed_model_is_the_analysis_of_a_block_design() -> None:
    table = cells({"inverted_raw": -0.05}, noise=0.3)
    found = factorial(table, design(), rng("f"), margin=0.1)
    _, cube = design().tensor(table)
    n, levels, others = cube.shape
    # Sums of squares by hand.
    grand = cube.mean()
    by_task = cube.mean(axis=(1, 2), keepdims=True)
    by_cell = cube.mean(axis=0, keepdims=True)
    error = ((cube - by_task - by_cell + grand) ** 2).sum()
    mean_square = error / ((n - 1) * (levels * others - 1))
    one, two = cube.mean(axis=(0, 2)), cube.mean(axis=(0, 1))
    between = [
        n * others * ((one - grand) ** 2).sum() / (levels - 1),
        n * levels * ((two - grand) ** 2).sum() / (others - 1),
        n
        * ((by_cell[0] - one[:, None] - two[None, :] + grand) ** 2).sum()
        / ((levels - 1) * (others - 1)),
    ]
    statistics = [term.statistic for term in found.terms]
    assert statistics == pytest.approx([b / mean_square for b in between], rel=1e-3)


def test_tasks_that_do_not_differ_put_the_model_at_its_boundary() -> None:
    flat = {arm: normal("flat", arm, shape=(10, 2)).tolist() for arm in design().arms}
    found = factorial(long(flat), design(), rng("f"), margin=0.1)
    assert all(0.0 <= term.p <= 1.0 for term in found.terms)


def test_arms_that_are_all_the_same_have_no_statistic() -> None:
    table = cells({}, noise=0.0)
    found = factorial(table, design(), rng("f"), margin=0.1)
    assert all(math.isnan(term.p) for term in found.terms)
    assert {claim.overall.outcome for claim in found.claims} == {Outcome.EQUIVALENT}


def test_designs_that_are_not_full_are_refused() -> None:
    arms = dict(design().arms)
    for options, message in (
        (
            {"arms": dict(list(arms.items())[1:])},
            "each combination once, got 0 of fixed",
        ),
        ({"arms": arms | {"x": arms["fixed_raw"]}}, "each combination once, got 2"),
        (
            {"arms": arms | {"x": {"mapping": "odd", "scaling": "raw"}}},
            "levels of the factors only",
        ),
        ({"factors": FACTORS | {"scaling": ("raw",)}}, "scaling must have 2 different"),
        ({"ordered": ("blend",)}, "factors must hold 'blend'"),
        ({"interactions": (("mapping", "mapping"),)}, "must be of two factors"),
    ):
        with pytest.raises(ValueError, match=message):
            design(**options)
    table = cells({})
    with pytest.raises(ValueError, match="got no inverted_rank"):
        factorial(table[table["arm"] != "inverted_rank"], design(), rng("f"), margin=1)
    with pytest.raises(ValueError, match="values must hold at least 2 tasks, got 1"):
        factorial(table[table["task"] == "t0"], design(), rng("f"), margin=1)
