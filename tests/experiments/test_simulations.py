"""Simulated studies: the verdicts keep the level and the power that they promise.

Every study has tasks whose true effects differ and whose runs differ in how noisy they
are. Bounds are 3.3 standard errors of the simulation: right code passes for all but one
key in a thousand, and the keys are fixed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.statistics import holm, size
from experiments.statistics.equivalence import equivalence_interval
from experiments.statistics.family import verdicts
from experiments.statistics.paired import t_interval
from experiments.statistics.permutation import sign_flip_p
from experiments.statistics.size import Size, Spread
from experiments.statistics.verdict import Outcome, Rule, decided
from tests.experiments.synthetic import generator as rng

STUDIES = 1_000
PLANNED = Size(12, 20)
WITHIN = 0.33
CLAIMS = (Outcome.BETTER, Outcome.WORSE)


class Plan(NamedTuple):
    arm: str
    base: str


def error(share: float, n: int = STUDIES) -> float:
    """Returns 3.3 standard errors of a share of ``n`` studies."""
    return 3.3 * math.sqrt(share * (1.0 - share) / n)


def runs(
    *names: object,
    spread: Spread,
    effect: float = 0.0,
    planned: Size = PLANNED,
    n: int = STUDIES,
) -> np.ndarray:
    """Returns ``(n, tasks, seeds)`` paired differences of simulated studies."""
    source = rng("runs", *names)
    tasks = stats.norm.ppf(source.random((n, planned.n_tasks, 1)))
    noise = stats.norm.ppf(source.random((n, *planned)))
    # Noisy and quiet tasks, of the same variance on average.
    scales = np.sqrt(np.linspace(0.2, 1.8, planned.n_tasks))[:, None]
    return effect + spread.between * tasks + spread.within * scales * noise


def outcomes(
    differences: np.ndarray, margin: float, n_contrasts: int = 1
) -> list[Outcome]:
    """Returns the outcome of each study, at the first step of Holm's rule."""
    means = differences.mean(axis=2)
    rule = Rule(margin, n_contrasts=n_contrasts)
    ps = np.minimum(1.0, n_contrasts * sign_flip_p(means, rng("signs")))
    return [
        decided(
            float(row.mean()),
            t_interval(row),
            equivalence_interval(row),
            float(p),
            rule,
        )[0]
        for row, p in zip(means, ps, strict=True)
    ]


def share(found: list[Outcome], *wanted: Outcome) -> float:
    return sum(outcome in wanted for outcome in found) / len(found)


def table(differences: np.ndarray) -> pd.DataFrame:
    """Returns the long table of one study, ``(tasks, seeds)``."""
    n_tasks, n_seeds = differences.shape
    shared = rng("shared").random(differences.shape)
    blocks = {
        "task": np.repeat([f"t{task:02d}" for task in range(n_tasks)], n_seeds),
        "instance": 1,
        "seed": np.tile(np.arange(n_seeds), n_tasks),
    }
    arm = pd.DataFrame({"arm": "a", **blocks, "value": (shared + differences).ravel()})
    base = pd.DataFrame({"arm": "b", **blocks, "value": shared.ravel()})
    return pd.concat([arm, base], ignore_index=True)


def pooled(differences: np.ndarray) -> float:
    """Returns how often a t test over all runs, as if they were tasks, is significant."""
    flat = differences.reshape(len(differences), -1)
    return float((stats.ttest_1samp(flat, 0.0, axis=1).pvalue < 0.05).mean())


def test_a_study_relabelled_a_thousand_times_stays_at_its_level() -> None:
    # One study whose tasks differ; swapping the labels of whole tasks makes its null.
    (study,) = runs("relabel", spread=Spread(0.2, WITHIN), n=1)
    signs = np.where(rng("labels").random((STUDIES, 12, 1)) < 0.5, 1.0, -1.0)
    relabelled = study * signs
    found = outcomes(relabelled, 0.1)
    claimed = share(found, *CLAIMS)
    assert 0.02 < claimed <= 0.05 + error(0.05)
    # The short cut that these tests take says what the whole pipeline says.
    for differences, outcome in zip(relabelled[:100], found, strict=False):
        (verdict,) = verdicts(
            table(differences),
            [Plan("a", "b")],
            margin=0.1,
            resamples=2,
            generator=rng,
        )
        assert verdict.outcome is outcome
    # What counts each run as evidence about other tasks does not stay there.
    assert pooled(relabelled) > 0.25


@pytest.mark.parametrize(("between", "least"), [(0.1, 0.22), (0.2, 0.4)])
def test_new_null_studies_stay_at_their_level_where_pooled_runs_do_not(
    between: float, least: float
) -> None:
    drawn = runs("null", between, spread=Spread(between, 0.3))
    claimed = share(outcomes(drawn, 0.1), *CLAIMS)
    assert 0.02 < claimed <= 0.05 + error(0.05)
    assert pooled(drawn) > least


def test_a_family_of_nulls_claims_anything_in_one_study_of_twenty_at_most() -> None:
    k, n = 8, 600
    base = runs("base", spread=Spread(0.1, WITHIN), n=n)
    means = np.stack(
        [
            (runs("arm", arm, spread=Spread(0.1, WITHIN), n=n) - base).mean(axis=2)
            for arm in range(k)
        ],
        axis=1,
    )
    ps = sign_flip_p(means)
    # Holm's first step is what any false claim has to pass.
    smallest = np.minimum(1.0, k * ps.min(axis=1))
    assert [min(holm.adjusted(row.tolist())) for row in ps[:5]] == pytest.approx(
        smallest[:5].tolist()
    )
    assert 0.005 < (smallest <= 0.05).mean() <= 0.05 + error(0.05, n)
    assert (ps.min(axis=1) <= 0.05).mean() > 0.15


@pytest.mark.parametrize(
    ("planned", "n_contrasts", "margin"),
    [
        (Size(8, 20), 1, 0.16),
        (Size(12, 20), 1, 0.11),
        (Size(12, 20), 8, 0.16),
        (Size(15, 20), 8, 0.14),
        (Size(25, 10), 8, 0.12),
    ],
)
def test_a_planted_margin_is_found_with_the_power_that_was_promised(
    planned: Size, n_contrasts: int, margin: float
) -> None:
    spread = Spread(0.1, WITHIN)
    promised = size.promised(planned, spread, margin, n_contrasts=n_contrasts)
    assert 0.5 < promised.difference < 0.97
    drawn = runs("planted", *planned, spread=spread, effect=-margin, planned=planned)
    found = share(outcomes(drawn, margin, n_contrasts), Outcome.BETTER)
    # The promise of few tasks is itself simulated, that of many within two points.
    room = error(promised.difference) + error(promised.difference, 2_000)
    assert found == pytest.approx(promised.difference, abs=room)


@pytest.mark.parametrize("margin", [0.08, 0.12, 0.16])
def test_a_planted_zero_is_equivalent_as_often_as_promised_or_inconclusive(
    margin: float,
) -> None:
    spread = Spread(0.1, WITHIN)
    promised = size.promised(PLANNED, spread, margin)
    drawn = runs("zero", spread=spread)
    found = outcomes(drawn, margin)
    claimed = share(found, *CLAIMS)
    assert claimed <= 0.05 + error(0.05)
    equivalent = share(found, Outcome.EQUIVALENT)
    room = error(max(0.05, min(0.95, promised.equivalence)))
    # A false claim inside the margin, "negligible", is taken from what was promised.
    assert promised.equivalence - room - claimed <= equivalent
    assert equivalent <= promised.equivalence + room
    rest = share(found, Outcome.INCONCLUSIVE)
    assert equivalent + rest + claimed == pytest.approx(1.0)


def test_a_true_margin_is_called_equivalent_in_one_study_of_twenty_at_most() -> None:
    drawn = runs("edge", spread=Spread(0.1, WITHIN), effect=0.3)
    means = drawn.mean(axis=2)
    inside = [equivalence_interval(row).high < 0.3 for row in means]
    assert 0.02 < np.mean(inside) <= 0.05 + error(0.05)


def test_the_size_that_would_decide_does() -> None:
    spread, margin = Spread(0.05, WITHIN), 0.08
    promised = size.promised(PLANNED, spread, margin, n_contrasts=4)
    assert promised.difference < 0.6
    options = size.deciding(PLANNED, spread, margin, n_contrasts=4)
    assert len(options) == 2
    for option in options:
        planted = runs("more", *option, spread=spread, effect=-margin, planned=option)
        zero = runs("more zero", *option, spread=spread, planned=option)
        found = share(outcomes(planted, margin, 4), Outcome.BETTER)
        held = share(outcomes(zero, margin, 4), Outcome.EQUIVALENT)
        assert found > 0.9 - error(0.9) - 0.01
        assert held > 0.9 - error(0.9) - 0.05


def test_the_spread_of_a_pilot_is_right_on_average() -> None:
    drawn = runs("pilot", spread=Spread(0.2, WITHIN), planned=Size(12, 10), n=200)
    found = [
        size.spread(
            pd.DataFrame(
                {"task": np.repeat(np.arange(12), 10), "difference": study.ravel()}
            )
        )
        for study in drawn
    ]
    between, within = np.mean(np.square(found), axis=0)
    assert between == pytest.approx(0.2**2, rel=0.1)
    assert within == pytest.approx(WITHIN**2, rel=0.05)
