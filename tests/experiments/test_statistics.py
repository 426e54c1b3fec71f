"""Statistics: against numbers worked by hand, and against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from experiments.statistics import aggregate
from experiments.statistics.paired import comparison, differences
from tests.experiments import synthetic

rng = synthetic.generator


def long(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Returns a long table of {arm: {task: values by seed}}."""
    return pd.DataFrame(
        [
            {"arm": arm, "task": task, "instance": 1, "seed": seed, "value": value}
            for arm, tasks in values.items()
            for task, row in tasks.items()
            for seed, value in enumerate(row)
        ]
    )


HAND = long(
    {
        "a": {"one": [1.0, 2.0, 4.0, 4.0], "two": [0.0, 1.0]},
        "b": {"one": [2.0, 2.0, 3.0, 6.0], "two": [3.0, 3.0]},
    }
)


def test_the_effect_is_the_mean_of_task_means() -> None:
    found = comparison(HAND, "a", "b", rng("hand"))
    # one: -1, 0, 1, -2; two: -3, -2
    assert [task.effect for task in found.tasks] == [-0.5, -2.5]
    assert found.effect == -1.5
    assert [task.n_pairs for task in found.tasks] == [4, 2]
    assert (found.n_pairs, found.n_left_out) == (6, 0)
    assert not found.identical


def test_the_probability_of_better_counts_ties_half_and_tasks_once() -> None:
    found = comparison(HAND, "a", "b", rng("hand"))
    assert found.better == pytest.approx((2.5 / 4.0 + 1.0) / 2.0)
    higher = comparison(HAND, "a", "b", rng("hand"), lower_is_better=False)
    assert higher.better == pytest.approx(1.0 - found.better)


def test_the_tasks_random_interval_is_the_t_interval_of_task_means() -> None:
    found = comparison(HAND, "a", "b", rng("hand"))
    # The t quantile of one degree of freedom is tan(0.475 pi); the standard error is 1.
    half = math.tan(0.475 * math.pi) * 1.0
    assert found.tasks_random.low == pytest.approx(-1.5 - half)
    assert found.tasks_random.high == pytest.approx(-1.5 + half)


def test_one_task_gives_no_tasks_random_interval() -> None:
    found = comparison(HAND[HAND["task"] == "one"], "a", "b", rng("hand"))
    assert math.isnan(found.tasks_random.low)
    assert math.isfinite(found.tasks_fixed.low)


def test_one_pair_a_task_gives_no_tasks_fixed_interval() -> None:
    found = comparison(HAND[HAND["seed"] == 0], "a", "b", rng("hand"))
    assert math.isnan(found.tasks_fixed.low)
    assert all(math.isnan(task.interval.low) for task in found.tasks)
    assert math.isfinite(found.tasks_random.low)


def test_the_bootstrap_agrees_with_scipy_and_with_the_normal_law() -> None:
    drawn = stats.norm.ppf(rng("normal").random(40) * 0.998 + 0.001)
    table = long({"a": {"t": drawn.tolist()}, "b": {"t": [0.0] * 40}})
    found = comparison(table, "a", "b", rng("boot"), resamples=20_000)
    theirs = stats.bootstrap(
        (drawn,), np.mean, method="percentile", n_resamples=20_000, rng=rng("scipy")
    ).confidence_interval
    error = drawn.std() / math.sqrt(40)
    assert found.tasks_fixed.low == pytest.approx(theirs.low, abs=0.06 * error)
    assert found.tasks_fixed.high == pytest.approx(theirs.high, abs=0.06 * error)
    assert found.tasks_fixed.low == pytest.approx(
        drawn.mean() - 1.96 * error, abs=0.15 * error
    )


def test_the_tasks_fixed_interval_ignores_how_far_tasks_lie_apart() -> None:
    noise = (rng("noise").random((2, 20)) - 0.5).tolist()
    near = {"a": {"x": noise[0], "y": noise[1]}}
    far = {"a": {"x": noise[0], "y": [value + 50.0 for value in noise[1]]}}
    base = {"b": {"x": [0.0] * 20, "y": [0.0] * 20}}
    one = comparison(long({**near, **base}), "a", "b", rng("x"))
    two = comparison(long({**far, **base}), "a", "b", rng("x"))
    width = one.tasks_fixed.high - one.tasks_fixed.low
    assert two.tasks_fixed.high - two.tasks_fixed.low == pytest.approx(width)
    assert two.tasks_random.high - two.tasks_random.low > 100.0 * width


def test_pairs_that_are_all_equal_are_identical_with_intervals_of_zero() -> None:
    values = {"x": [0.1, 0.7], "y": [0.3, 0.2]}
    found = comparison(long({"a": values, "b": values}), "a", "b", rng("x"))
    assert found.identical
    assert (found.effect, found.better) == (0.0, 0.5)
    assert found.tasks_fixed == found.tasks_random == (0.0, 0.0)
    assert found.correlation == pytest.approx(1.0)


def test_the_correlation_is_taken_within_tasks() -> None:
    found = comparison(
        long(
            {
                "a": {"x": [0.0, 1.0, 2.0], "y": [100.0, 101.0, 102.0]},
                "b": {"x": [2.0, 1.0, 0.0], "y": [102.0, 101.0, 100.0]},
            }
        ),
        *("a", "b", rng("x")),
    )
    assert found.correlation == pytest.approx(-1.0)


def test_an_arm_that_never_varies_within_a_task_has_no_correlation() -> None:
    # A mean of three times 0.1 is not 0.1, so deviations alone would not tell.
    table = long(
        {"a": {"x": [0.1] * 3, "y": [0.3] * 3}, "b": {"x": [1, 2, 3], "y": [2, 1, 3]}}
    )
    assert comparison(table, "a", "b", rng("x")).correlation is None


def test_pairs_without_a_value_are_left_out_and_counted() -> None:
    table = HAND.copy()
    table.loc[(table["arm"] == "b") & (table["task"] == "two"), "value"] = math.nan
    found = comparison(table, "a", "b", rng("hand"))
    assert (found.n_pairs, found.n_left_out) == (4, 2)
    assert [task.task for task in found.tasks] == ["one"]
    table["value"] = math.nan
    with pytest.raises(ValueError, match="must hold a pair of a and b"):
        comparison(table, "a", "b", rng("hand"))


def test_tables_that_cannot_be_paired_are_refused() -> None:
    with pytest.raises(ValueError, match="must have the columns seed"):
        differences(HAND.drop(columns="seed"), "a", "b")
    with pytest.raises(ValueError, match="base must be another arm than 'a'"):
        differences(HAND, "a", "a")
    with pytest.raises(ValueError, match="base must be an arm of the table, got 'c'"):
        differences(HAND, "a", "c")
    with pytest.raises(ValueError, match="must hold a once in each block"):
        differences(pd.concat([HAND, HAND[:1]]), "a", "b")
    with pytest.raises(ValueError, match="at task one, instance 1, seed 0"):
        differences(HAND[1:], "a", "b")


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(
        st.lists(st.floats(-5, 5), min_size=8, max_size=8), min_size=2, max_size=4
    ),
    seed=st.integers(0, 99),
)
def test_the_order_of_rows_does_not_matter_and_swapping_arms_changes_signs(
    values: list[list[float]], seed: int
) -> None:
    arms = {
        name: {f"t{index}": row[part : part + 4] for index, row in enumerate(values)}
        for name, part in (("a", 0), ("b", 4))
    }
    table = long(arms)
    mixed = table.iloc[np.argsort(rng("mix", seed).random(len(table)))]
    straight = comparison(table, "a", "b", rng("x"), resamples=200)
    shuffled = comparison(mixed, "a", "b", rng("x"), resamples=200)
    swapped = comparison(table, "b", "a", rng("x"), resamples=200)
    assert repr(straight) == repr(shuffled)
    assert swapped.effect == -straight.effect
    assert swapped.better == pytest.approx(1.0 - straight.better)
    assert swapped.tasks_fixed.low == pytest.approx(-straight.tasks_fixed.high)
    assert straight.tasks_fixed.low <= straight.effect + 1e-12
    assert straight.effect <= straight.tasks_fixed.high + 1e-12


def test_the_interquartile_mean_is_the_mean_of_the_middle_half() -> None:
    assert aggregate.interquartile_mean(np.array([100.0, 1.0, 2.0, 3.0])) == 2.5
    assert aggregate.interquartile_mean(np.arange(9.0)) == 4.0
    assert math.isnan(aggregate.interquartile_mean(np.empty(0)))


def test_the_wilson_interval_matches_its_formula() -> None:
    interval = aggregate.wilson_interval(8, 10)
    z, p, n = stats.norm.ppf(0.975), 0.8, 10
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert interval == pytest.approx((centre - half, centre + half))
    assert aggregate.wilson_interval(0, 10).low == 0.0
    assert math.isnan(aggregate.wilson_interval(0, 0).low)


def points(arms: dict[str, list[list[float]]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "arm": arm,
                "task": "t",
                "instance": 1,
                "seed": seed,
                "evaluation": 10 ** (index + 1),
                "value": value,
            }
            for arm, runs in arms.items()
            for seed, run in enumerate(runs)
            for index, value in enumerate(run)
        ]
    )


def test_a_curve_is_the_mean_or_median_over_runs() -> None:
    table = points({"a": [[0.0, 1.0], [3.0, 1.0], [9.0, 1.0]]})
    mean = aggregate.curves(table, rng("c"))
    median = aggregate.curves(table, rng("c"), centre="median")
    assert mean["centre"].tolist() == [4.0, 1.0]
    assert median["centre"].tolist() == [3.0, 1.0]
    assert mean["n"].tolist() == [3, 3]
    # Points where all runs agree have an interval of no width.
    for curve in (mean, median):
        assert curve.loc[1, ["low", "high"]].tolist() == [1.0, 1.0]
        assert curve.loc[0, "low"] < curve.loc[0, "centre"] < curve.loc[0, "high"]
    with pytest.raises(ValueError, match="centre must be 'mean' or 'median'"):
        aggregate.curves(table, rng("c"), centre="mode")  # type: ignore[arg-type]


def test_the_bootstrap_interval_of_a_curve_is_that_of_scipy() -> None:
    drawn = rng("runs").random((30, 1))
    table = points({"a": drawn.tolist()})
    curve = aggregate.curves(table, rng("c"), resamples=20_000).iloc[0]
    theirs = stats.bootstrap(
        (drawn[:, 0],), np.mean, method="percentile", n_resamples=20_000, rng=rng("s")
    ).confidence_interval
    assert curve["low"] == pytest.approx(theirs.low, abs=0.004)
    assert curve["high"] == pytest.approx(theirs.high, abs=0.004)


def test_a_curve_does_not_depend_on_which_other_arms_there_are() -> None:
    runs = rng("runs").random((2, 5, 3)).tolist()
    both = aggregate.curves(points({"a": runs[0], "b": runs[1]}), rng("c"))
    alone = aggregate.curves(points({"b": runs[1]}), rng("c"))
    mine = both[both["arm"] == "b"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone)


def test_points_without_a_number_are_left_out_of_a_curve() -> None:
    table = points({"a": [[1.0, math.nan, 3.0], [1.0, 2.0, 5.0]]})
    curve = aggregate.curves(table, rng("c"))
    assert curve["evaluation"].tolist() == [10.0, 1000.0]
    assert aggregate.curves(table[:0], rng("c")).empty


def test_the_curve_of_a_single_run_has_no_interval() -> None:
    curve = aggregate.curves(points({"a": [[1.0, 2.0]]}), rng("c"))
    assert curve["centre"].tolist() == [1.0, 2.0]
    assert curve["low"].isna().all()


def test_runs_on_different_evaluations_make_no_curve() -> None:
    table = points({"a": [[1.0, 2.0], [3.0, 4.0]]})
    with pytest.raises(ValueError, match="got otherwise in a at t"):
        aggregate.curves(table[:3], rng("c"))


def test_a_summary_holds_means_medians_and_success_rates() -> None:
    area = long({"a": {"x": [0.0, 1.0, 2.0, 9.0]}})
    success = long({"a": {"x": [1.0, 0.0, 1.0, 1.0]}})
    row = aggregate.summary({"area": area, "success": success}).iloc[0]
    assert (row["area_mean"], row["area_median"], row["area_iqm"]) == (3.0, 1.5, 1.5)
    assert (row["successes"], row["n"]) == (3, 4)
    low, high = aggregate.wilson_interval(3, 4)
    assert (row["success_low"], row["success_high"]) == (low, high)


def test_behaviour_is_taken_from_runs_that_finished() -> None:
    runs, trajectories = synthetic.tables(3)
    runs = synthetic.with_failures(runs, ["nk_32-stuck-0"])
    found = aggregate.behaviours(
        runs, trajectories.merge(runs[["cell", "arm", "task"]], on="cell")
    )
    assert found["stuck"].n_runs == 8
    mine = runs[(runs["arm"] == "stuck") & (runs["status"] == "ok")]
    assert found["stuck"].minimum_share == pytest.approx(mine["minimum_share"].mean())
    here = mine.loc[mine["task"] == "nk_32", "minimum_share"]
    assert found["stuck"].tasks["nk_32"].n_runs == 2
    assert found["stuck"].tasks["nk_32"].minimum_share == pytest.approx(here.mean())
    fixed = found["fixed"]
    assert (fixed.temperature_low, fixed.temperature_high) == (1.0, 1.0)
    assert fixed.parents_low == pytest.approx(100.0 * math.exp(-0.4))


def test_an_arm_that_never_finished_has_no_behaviour() -> None:
    runs, trajectories = synthetic.tables(1)
    runs = synthetic.with_failures(runs, runs["cell"].tolist())
    none = trajectories.merge(runs[["cell", "arm", "task"]], on="cell")[:0]
    found = aggregate.behaviours(runs, none)["fixed"]
    assert found.n_runs == 0
    assert math.isnan(found.temperature_low)
