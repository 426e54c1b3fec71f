"""Score validity: each number by hand, by simulation, and on public runs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.randomness import KeyedRandom
from memory.validity import Sentinel, Validity, validity

ROOT = Path(__file__).parents[2]
# Runs of other systems, which lie beside the repository where they are at hand.
DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"there are no public runs at {DATA}"
)


def named(*groups: list[float]) -> dict[str, list[float]]:
    return {f"s{index}": group for index, group in enumerate(groups)}


def singles(scores: list[float]) -> dict[str, list[float]]:
    return named(*([score] for score in scores))


def simulated(
    n: int, n_evaluations: int, differences: float, noise: float
) -> dict[str, list[float]]:
    """Returns normal scores, of solutions and noise of these standard deviations."""
    rng = KeyedRandom("validity").generator("noise", 0)
    true = differences * rng.standard_normal((n, 1))
    scores = true + noise * rng.standard_normal((n, n_evaluations))
    return named(*scores.tolist())


def test_solutions_and_evaluations_are_counted() -> None:
    found = validity(named([1.0], [2.0, 3.0], [4.0, 5.0, 6.0], [7.0]))
    assert found.n_solutions == 4
    assert found.n_evaluations == 7
    assert found.n_repeated == 2


def test_the_rank_correlation_is_the_one_worked_by_hand() -> None:
    # Ranks 1, 2, 3, 4 and 2, 1, 3, 4: one less 6 * 2 / (4 * 15). Third ones are not read.
    groups = named([0.1, 0.3], [9.0], [0.2, 0.2], [0.3, 0.4, -9.0], [7.0, 0.9])
    assert validity(groups).rank_correlation == pytest.approx(0.8, abs=1e-15)


def test_the_share_of_noise_is_the_one_worked_by_hand() -> None:
    # Mean squares 2 within and 32 between: differences (32 - 2) / 2.
    balanced = validity(named([1.0, 3.0], [5.0, 7.0], [9.0, 11.0]))
    assert balanced.noise_share == pytest.approx(2 / 17, rel=1e-14)
    # Means 1, 5, 6 of 2, 1, 3; grand mean 25 / 6; n0 = (6 - 14 / 6) / 2.
    within = Fraction(10, 3)
    between = (
        2 * Fraction(19, 6) ** 2 + Fraction(5, 6) ** 2 + 3 * Fraction(11, 6) ** 2
    ) / 2
    share = within / (within + (between - within) / Fraction(11, 6))
    unbalanced = validity(named([0.0, 2.0], [5.0], [4.0, 6.0, 8.0]))
    assert unbalanced.noise_share == pytest.approx(float(share), rel=1e-14)


def test_equal_repeats_are_no_noise_and_equal_means_nothing_else() -> None:
    assert validity(named([0.1] * 3, [0.3] * 3, [0.7] * 6)).noise_share == 0.0
    assert validity(named([1.0, 3.0], [3.0, 1.0], [2.0, 2.0])).noise_share == 1.0


def test_the_share_of_ties_is_the_one_worked_by_hand() -> None:
    # Means 1, 1, 2, 1, 2: three pairs and one of ten.
    groups = named([1.0, 1.0], [1.0], [2.0], [0.0, 2.0], [1.0, 3.0])
    assert validity(groups).tied_share == 0.4
    # Three tenths, summed and divided, are no tenth in floats.
    assert validity(named([0.1, 0.1, 0.1], [0.1])).tied_share == 1.0


@pytest.mark.parametrize(
    ("groups", "unknown"),
    [
        ({}, ["rank_correlation", "noise_share", "tied_share"]),
        (named([1.0, 2.0]), ["rank_correlation", "noise_share", "tied_share"]),
        (named([1.0], [2.0]), ["rank_correlation", "noise_share"]),
        (named([1.0, 2.0], [2.0, 3.0]), ["rank_correlation"]),
        (named([1.0, 2.0], [1.0, 3.0], [1.0, 4.0]), ["rank_correlation"]),
        (named([2.0, 1.0], [3.0, 1.0], [4.0, 1.0]), ["rank_correlation"]),
        (named([5.0, 5.0], [5.0, 5.0]), ["rank_correlation", "noise_share"]),
        (named([1.0, 2.0], [2.0, 3.0], [3.0, 4.0]), []),
    ],
)
def test_what_cannot_be_known_is_nan(
    groups: dict[str, list[float]], unknown: list[str]
) -> None:
    found = validity(groups)
    measured = ("rank_correlation", "noise_share", "tied_share")
    assert [name for name in measured if math.isnan(getattr(found, name))] == unknown


@pytest.mark.parametrize(("differences", "noise"), [(2.0, 1.0), (1.0, 1.0), (1.0, 3.0)])
def test_a_simulation_gives_back_its_variances(
    differences: float, noise: float
) -> None:
    n, n_evaluations = 2000, 3
    found = validity(simulated(n, n_evaluations, differences, noise))
    correlation = differences**2 / (differences**2 + noise**2)
    # Standard error of an intraclass correlation (Fisher 1925), and of a rank
    # correlation of normal pairs, whose mean is 6 / pi * asin(correlation / 2).
    error = (
        math.sqrt(2.0 / (n * n_evaluations * (n_evaluations - 1)))
        * (1.0 - correlation)
        * (1.0 + (n_evaluations - 1) * correlation)
    )
    assert abs(found.noise_share - (1.0 - correlation)) < 4 * error
    assert error < 0.02
    expected = 6.0 / math.pi * math.asin(correlation / 2.0)
    assert abs(found.rank_correlation - expected) < 4 * 1.1 / math.sqrt(n)
    assert found.tied_share == 0.0
    assert found.sentinels == ()


def test_unequal_numbers_of_repeats_bias_nothing() -> None:
    rng = KeyedRandom("unequal").generator("noise", 0)
    sizes = (1 + 5 * rng.random(3000)).astype(int)
    groups = [2.0 * rng.standard_normal() + rng.standard_normal(k) for k in sizes]
    found = validity(named(*(group.tolist() for group in groups)))
    assert found.noise_share == pytest.approx(0.2, abs=0.03)


@given(
    groups=st.lists(
        st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=4),
        min_size=1,
        max_size=8,
    ),
    scale=st.sampled_from([2.0**-60, 0.25, 3.0, 2.0**200]),
    shift=st.integers(-100, 100),
)
def test_neither_shift_nor_scale_nor_order_of_solutions_matters(
    groups: list[list[float]], scale: float, shift: int
) -> None:
    plain = validity(named(*groups))
    moved = [[scale * (score + shift) for score in group] for group in groups[::-1]]
    again = validity(named(*moved))
    assert again.noise_share == pytest.approx(plain.noise_share, abs=1e-9, nan_ok=True)
    assert again.rank_correlation == pytest.approx(
        plain.rank_correlation, abs=1e-9, nan_ok=True
    )
    assert again.tied_share == pytest.approx(plain.tied_share, nan_ok=True)


def test_huge_scores_of_both_signs_are_measured() -> None:
    found = validity(named([1.7e308, 1.6e308], [-1.7e308, -1.6e308], [0.0, 1e307]))
    assert found.rank_correlation == 1.0
    assert 0.0 < found.noise_share < 0.01


SCORES = [0.61, 0.64, 0.66, 0.67, 0.7, 0.72, 0.75, 0.79, 0.79, 0.8]


@pytest.mark.parametrize(
    "value",
    [1e10, -1000.0, -1e9, 1e308, -1.7976931348623157e308, 0.0, -1.0, 999999.0, 1e23],
)
def test_a_value_that_stands_for_failure_is_named_with_its_counts(
    value: float,
) -> None:
    groups = named(*([score] for score in SCORES), [value], [value, 0.7, value])
    assert validity(groups).sentinels == (Sentinel(value, 3, 2),)


def test_several_sentinels_are_named_in_rising_order() -> None:
    found = validity(singles([*SCORES, -1.0, 1e10, 1e10, 1e10, -1.0])).sentinels
    assert found == (Sentinel(-1.0, 2, 2), Sentinel(1e10, 3, 3))


def test_most_evaluations_may_be_sentinels() -> None:
    found = validity(singles([*SCORES, *[0.0] * 60, *[-1.0] * 20])).sentinels
    assert found == (Sentinel(-1.0, 20, 20), Sentinel(0.0, 60, 60))


def test_whole_scores_hide_no_sentinel() -> None:
    scores = [float(k % 9 + 1) for k in range(40)]
    assert validity(singles(scores)).sentinels == ()
    for others in ([], [0.5] * 5):
        found = validity(singles([*scores, *others, *[-1000.0] * 3])).sentinels
        assert found == (Sentinel(-1000.0, 3, 3),)


@pytest.mark.parametrize(
    "scores",
    [
        # Once only.
        [*SCORES, 1e10],
        # Far and twice, but nothing that people write for a failure.
        [*SCORES, 123.4, 123.4],
        # Twice, but near.
        [*SCORES, 1.0, 1.0],
        # Passed or failed: nothing says which of the two is no score.
        [0.0] * 20 + [1.0] * 20,
        [1e10] * 3 + [0.5] * 20,
        # Too few scores to say where they lie.
        [1e10, 1e10, 0.5, 0.6, 0.7],
        [7.0] * 9,
    ],
)
def test_what_may_be_a_score_is_not_named(scores: list[float]) -> None:
    assert validity(singles(scores)).sentinels == ()


def test_one_solution_that_repeats_itself_is_no_sentinel() -> None:
    groups = named(*([score] for score in SCORES), [0.0, 0.0, 0.0])
    assert validity(groups).sentinels == ()


def test_sentinels_hide_the_noise_until_they_are_left_out() -> None:
    groups = [[score, score + 0.05 * (-1) ** k] for k, score in enumerate(SCORES)]
    failed = named(*groups, [-1e10, -1e10], [-1e10])
    found = validity(failed)
    assert found.noise_share < 1e-15
    assert found.sentinels == (Sentinel(-1e10, 3, 2),)
    assert validity(failed, without=[-1e10]) == validity(named(*groups))
    assert validity(named(*groups)).noise_share > 0.1


def test_a_person_can_read_it() -> None:
    groups = named([1.0, 3.0], [5.0, 7.0], [9.0, 11.0], [9.0], [11.0])
    assert str(validity(groups)).splitlines() == [
        "5 solutions, 8 evaluations; 3 solutions evaluated twice or more.",
        "Rank correlation of first and second evaluations: 1.00.",
        f"Share of the variance of an evaluation that is noise: "
        f"{validity(groups).noise_share:.1%}.",
        "Share of the pairs of solutions with equal mean scores: 0.0%.",
    ]
    lines = validity(singles([*SCORES, 1e10, 1e10])).lines
    assert lines[1].endswith("evaluations: not known.")
    assert lines[-1] == (
        "10000000000.0 is far from all scores and came back 2 times, from 2 solutions: "
        "is it a failure and not a score?"
    )


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ({"a": []}, ValueError, r"repeats\['a'\] must hold an evaluation, got none"),
        ({"a": [1.0, math.nan]}, ValueError, r"repeats\['a'\]\[1\] must be a finite"),
        ({"a": [-math.inf]}, ValueError, r"repeats\['a'\]\[0\] must be a finite"),
        ({"a": ["1"]}, TypeError, r"repeats\['a'\]\[0\] must be a finite"),
        ({"a": [True]}, TypeError, r"repeats\['a'\]\[0\] must be a finite"),
    ],
)
def test_an_evaluation_that_is_no_score_is_named(
    groups: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        validity(groups)


def test_scipy_is_imported_only_when_it_is_needed() -> None:
    code = (
        "import sys; from memory.validity import validity; "
        "validity({'a': [1.0], 'b': [2.0]}); "
        "print('scipy' in sys.modules); "
        "validity({c: [float(i), float(i)] for i, c in enumerate('abc')}); "
        "print('scipy' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert out.stdout.split() == ["False", "True"]


def pong() -> list[dict[str, Any]]:
    """Returns the samples of EoH on Pong, without the aborted shard."""
    shards = sorted((DATA / "eoh_pong").glob("samples_*~*.json"))
    return [
        sample
        for shard in shards
        if "201~336" not in shard.name
        for sample in json.loads(shard.read_text("utf-8"))
    ]


@needs_data
def test_programs_that_pong_scored_again_got_the_same_score() -> None:
    repeats: dict[str, list[float]] = {}
    for sample in pong():
        if sample["code"] and sample["objective"] is not None:
            repeats.setdefault(sample["code"], []).append(-sample["objective"])
    found = validity(repeats)
    assert (found.n_solutions, found.n_evaluations, found.n_repeated) == (707, 765, 15)
    assert found.rank_correlation == pytest.approx(1.0)
    assert found.noise_share == 0.0
    # Some two hundred programs lose every game, at -21, which is a score.
    assert 0.08 < found.tied_share < 0.09
    assert found.sentinels == ()


@needs_data
def test_the_failures_of_pong_written_as_1e10_are_found() -> None:
    scores = [-(s["objective"] if s["objective"] is not None else 1e10) for s in pong()]
    failures = scores.count(-1e10)
    assert failures > 40
    assert validity(singles(scores)).sentinels == (Sentinel(-1e10, failures, failures),)


@needs_data
def test_circle_packing_has_neither_ties_nor_sentinels() -> None:
    scores: dict[str, list[float]] = {}
    folder = DATA / "openevolve_circle26" / "checkpoint_100" / "programs"
    for path in sorted(folder.glob("*.json")):
        program = json.loads(path.read_text("utf-8"))
        scores[program["id"]] = [program["metrics"]["combined_score"]]
    found = validity(scores)
    assert found.n_solutions > 40
    assert found.n_repeated == 0
    assert found.tied_share == 0.0
    assert found.sentinels == ()


@needs_data
def test_no_generation_of_bin_packing_is_accused() -> None:
    generations = sorted((DATA / "eoh_binpack").glob("*.json"))
    assert len(generations) == 21
    for path in generations:
        population = json.loads(path.read_text("utf-8"))
        found: Validity = validity(singles([-row["objective"] for row in population]))
        assert found.n_solutions == len(population)
        assert found.sentinels == ()
