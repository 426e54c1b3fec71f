"""All that is computed for a page, before anything is drawn or said."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments import table
from experiments.figures import control, profile
from experiments.report.inputs import EXPECTED, PageInput
from experiments.report.measures import described
from experiments.statistics.aggregate import (
    NO_INTERVAL,
    Behaviour,
    Interval,
    behaviours,
    curves,
    interquartile_means,
    summary,
)
from experiments.statistics.control import Control as Checked
from experiments.statistics.control import control_verdict
from experiments.statistics.family import verdicts
from experiments.statistics.paired import Comparison, comparison
from experiments.statistics.profiles import (
    expected_running_time,
    performance_profile,
    runtime_ecdf,
)
from experiments.statistics.verdict import Verdict

#: Targets of the runtime picture: these regrets, fixed for all tasks and studies.
TARGETS = np.geomspace(0.8, 1e-3, 30)

#: Factor between the costs of arms from which a picture of them says something.
COSTLIER = 1.25

#: The most arms that are highlighted where no contrast says which.
MOST_HIGHLIGHTED = 6


class Dial(NamedTuple):
    """What the dials of an arm did.

    Attributes:
        behaviour: Diversity, temperature and bounds.
        parents: Effective parents: where nine tenths of all points lie, as shares of the
            population, or as numbers if its cap is not known; none if not computed.
        full: Whether these are points at which the population was full.
    """

    behaviour: Behaviour
    parents: Interval = NO_INTERVAL
    full: bool = False


class Standing(NamedTuple):
    """An arm over all tasks.

    Attributes:
        name: Its name.
        primary: Primary metric, mean of task means.
        iqm: Interquartile mean of final unit scores.
        interval: That of ``iqm``, a bootstrap of runs within tasks.
        successes: Runs that reached the optimum.
        n_runs: All its runs.
        comparison: Exploratory, with the first arm; ``None`` for that arm itself.
    """

    name: str
    primary: float
    iqm: float
    interval: Interval
    successes: int
    n_runs: int
    comparison: Comparison | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that is computed for a page.

    Args:
        tables: The tidy tables.
        verdicts: One for each planned contrast, failed runs counting as worst.
        controls: One for each control.
        secondary: One for each contrast of a measure; ``None`` where no pair was measured.
        dials: What the dials of each arm did.
        standings: The arms over all tasks, in the order of the study.
        scores: Scores of every task and arm.
        measures: Means of what else was measured, of every task and arm.
        groups: The arms that are highlighted together, by the title of their group.
        regret: Curves of log10 regret.
        course: Curves of the score so far, for tasks that play their runs themselves.
        control: Curves of dials, with a column ``quantity``; parents as shares.
        profile: Performance profile: arm, regret, share, low, high.
        runtime: Runtime ECDF: arm, evaluation, share.
    """

    tables: table.Tables
    verdicts: tuple[Verdict, ...]
    controls: tuple[Checked, ...]
    secondary: tuple[Verdict | None, ...]
    dials: Mapping[str, Dial]
    standings: tuple[Standing, ...]
    scores: pd.DataFrame
    measures: pd.DataFrame
    groups: Mapping[str, tuple[str, ...]]
    regret: pd.DataFrame
    course: pd.DataFrame
    control: pd.DataFrame
    profile: pd.DataFrame
    runtime: pd.DataFrame

    @property
    def measured(self) -> Mapping[str, Mapping[str, float]]:
        """Mean of each measure by its name and arm, each task counting once."""
        means = self.measures.drop(columns="task").groupby("arm", sort=True).mean()
        return {
            str(name): dict(zip(map(str, means.index), column.tolist(), strict=True))
            for name, column in means.items()
        }

    @property
    def costs(self) -> pd.DataFrame:
        """Mean score and tokens of each arm, a row each: arm, score, cost.

        Empty where tokens were not measured, or are nearly the same for all arms.
        """
        tokens = self.measured.get("tokens", {})
        known = [number for number in tokens.values() if number > 0.0]
        if not known or max(known) < COSTLIER * min(known):
            return pd.DataFrame(columns=["arm", "score", "cost"])
        rows = [
            (one.name, 1.0 - one.primary, tokens[one.name]) for one in self.standings
        ]
        return pd.DataFrame(rows, columns=["arm", "score", "cost"])

    @property
    def n_failed(self) -> int:
        """Number of runs that did not finish."""
        return int((self.tables.runs["status"] != "ok").sum())

    @property
    def n_pairs(self) -> int:
        """Number of (task, instance, seed) blocks."""
        return len(self.tables.runs.drop_duplicates(list(table.BLOCK)))

    @property
    def finished(self) -> frozenset[str]:
        """Labels of the tasks on which a run finished."""
        return frozenset(self.tables.trajectories["task"])


def find(page_input: PageInput, tables: table.Tables) -> Findings:
    """Returns all that the page shows, from tidy tables."""
    runs, trajectories = tables
    generator = partial(keyed, page_input.name)
    values = table.values(runs, page_input.metric)
    known = table.values(runs, page_input.metric, failed="missing")
    standings = _standings(page_input, runs)
    groups = page_input.groups or _exploratory_groups(page_input, standings)
    shown = list(dict.fromkeys(arm for group in groups.values() for arm in group))
    of_shown = trajectories[trajectories["arm"].isin(shown)]
    return Findings(
        tables=tables,
        verdicts=tuple(
            verdicts(
                values,
                page_input.contrasts,
                margin=page_input.margin,
                alpha=page_input.alpha,
                sensitivity=known,
                generator=generator,
            )
            if page_input.contrasts
            else ()
        ),
        controls=tuple(
            control_verdict(
                values,
                plan,
                EXPECTED[plan.expected],
                margin=page_input.margin,
                tasks=plan.tasks,
                alpha=page_input.alpha,
                sensitivity=known,
                generator=generator,
            )
            for plan in page_input.controls
        ),
        secondary=_secondary(page_input, runs),
        dials=_dials(page_input, tables),
        standings=standings,
        scores=_scores(runs),
        measures=table.measures(runs),
        groups=groups,
        regret=_curves(page_input, trajectories, "log_regret"),
        course=_course(page_input, trajectories),
        control=_control(page_input, of_shown),
        profile=_profile(page_input, runs),
        runtime=_runtime(tables),
    )


def _secondary(page_input: PageInput, runs: pd.DataFrame) -> tuple[Verdict | None, ...]:
    """Returns the verdicts of contrasts of measures, one family over all measures.

    Each is tested at a level shared out evenly over the family (Bonferroni), which needs
    no test of one measure to know those of another.
    """
    found: list[Verdict | None] = []
    for plan in page_input.secondary:
        pair = runs[runs["arm"].isin(plan[:2])]
        values = table.measured(pair, plan.measure)
        if values.empty:
            found.append(None)
            continue
        found += verdicts(
            values,
            [plan],
            margin=plan.margin,
            alpha=page_input.alpha / len(page_input.secondary),
            lower_is_better=described(plan.measure).lower_is_better,
            generator=partial(keyed, page_input.name, plan.measure),
        )
    return tuple(found)


def keyed(*names: str) -> np.random.Generator:
    """Returns the generator of one statistic, keyed by its names.

    Each has its own, so that a contrast more does not change the intervals of others.
    """
    text = "\x1f".join(names).encode()
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _curves(
    page_input: PageInput, trajectories: pd.DataFrame, quantity: str
) -> pd.DataFrame:
    rng = keyed(page_input.name, "curves", quantity)
    at_most = 32 if quantity == "log_regret" else 24
    points = table.points(trajectories, quantity, at_most=at_most)
    return curves(points, rng, resamples=400)


def _course(page_input: PageInput, trajectories: pd.DataFrame) -> pd.DataFrame:
    """Returns the share of the trials so far that went right.

    The trajectory holds the share of all trials of a run, which never falls.
    """
    points = table.points(trajectories, "best", at_most=32)
    if page_input.episode is not None:
        last = points.groupby("task")["evaluation"].transform("max")
        points["value"] *= last / points["evaluation"]
    return curves(points, keyed(page_input.name, "curves", "course"), resamples=400)


def _control(page_input: PageInput, trajectories: pd.DataFrame) -> pd.DataFrame:
    parts = [
        _curves(page_input, trajectories, quantity).assign(quantity=quantity)
        for quantity in control.QUANTITIES
    ]
    whole = pd.concat(parts, ignore_index=True)
    heat = whole["quantity"].isin(("temperature", "floor", "ceiling"))
    whole = whole[~(heat & whole["arm"].isin(page_input.unheated))]
    parents = whole["quantity"] == "effective_parents"
    sizes = _room(page_input, whole)
    for column in ("centre", "low", "high"):
        whole[column] = whole[column].where(~parents, whole[column] / sizes)
    return whole[~parents | sizes.notna()]


def _room(page_input: PageInput, curves: pd.DataFrame) -> pd.Series[float]:
    """Returns how many solutions there were to choose from, at most; NaN if unknown."""
    shared = {name: one.shared for name, one in page_input.populations.items()}
    caps = curves["arm"].map(shared).fillna(page_input.population or math.nan)
    return (curves["evaluation"] - 1.0).clip(lower=1.0, upper=caps).where(caps.notna())


def _sizes(
    evaluations: np.ndarray[tuple[int], np.dtype[np.float64]], population: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns how many solutions there were to choose from at each evaluation, at most."""
    return np.clip(evaluations - 1.0, 1.0, float(population))


def _dials(page_input: PageInput, tables: table.Tables) -> Mapping[str, Dial]:
    found = {
        arm: _unheated(behaviour) if arm in page_input.unheated else behaviour
        for arm, behaviour in behaviours(*tables).items()
    }
    parents = {
        str(arm): _parents(rows, page_input.population)
        for arm, rows in tables.trajectories.groupby("arm", sort=True)
    }
    return {
        arm: Dial(behaviour, *parents.get(arm, (NO_INTERVAL, False)))
        for arm, behaviour in found.items()
    }


def _unheated(arm: Behaviour) -> Behaviour:
    """Returns what the dials of an arm did whose selection reads no temperature."""
    return replace(
        arm,
        temperature_low=math.nan,
        temperature_high=math.nan,
        minimum_share=0.0,
        maximum_share=0.0,
        tasks={task: _unheated(one) for task, one in arm.tasks.items()},
    )


def _parents(
    trajectories: pd.DataFrame, population: int | None
) -> tuple[Interval, bool]:
    """Returns where nine tenths of effective parents lie, and if populations were full."""
    evaluations = np.concatenate(trajectories["evaluation"].tolist())
    numbers = np.concatenate(trajectories["effective_parents"].tolist())
    known = np.isfinite(numbers)
    full = known & (evaluations > (population or 0))
    is_full = population is not None and bool(full.any())
    chosen = full if is_full else known
    if not chosen.any():
        return NO_INTERVAL, False
    numbers, evaluations = numbers[chosen], evaluations[chosen]
    if population is not None:
        numbers = np.minimum(1.0, numbers / _sizes(evaluations, population))
    low, high = np.quantile(numbers, (0.05, 0.95))
    return Interval(float(low), float(high)), is_full


def _standings(page_input: PageInput, runs: pd.DataFrame) -> tuple[Standing, ...]:
    values = table.values(runs, page_input.metric)
    by_task = values.groupby(["arm", "task"])["value"].mean()
    means = by_task.groupby("arm").mean()
    scores = table.values(runs, "regret")
    scores["value"] = 1.0 - scores["value"]
    rng = keyed(page_input.name, "interquartile means")
    middles = interquartile_means(scores, rng, resamples=1000)
    named = {str(arm): rows for arm, rows in middles.groupby("arm", sort=False)}
    grouped = runs.groupby("arm")
    successes = grouped["success"].sum()
    sizes = grouped.size()
    first = page_input.arms[0].name
    standings = []
    for name in (arm.name for arm in page_input.arms):
        iqm, low, high = named[name][["iqm", "low", "high"]].to_numpy(np.float64)[0]
        rng = keyed(page_input.name, "exploratory", name, first)
        with_first = not page_input.contrasts and name != first
        standings.append(
            Standing(
                name=name,
                primary=float(means.loc[name]),
                iqm=float(iqm),
                interval=Interval(float(low), float(high)),
                successes=int(successes.loc[name]),
                n_runs=int(sizes.loc[name]),
                comparison=comparison(values, name, first, rng) if with_first else None,
            )
        )
    return tuple(standings)


def _exploratory_groups(
    page_input: PageInput, standings: tuple[Standing, ...]
) -> Mapping[str, tuple[str, ...]]:
    """Returns all arms if they are few, else the first one, the best and the worst."""
    names = [arm.name for arm in page_input.arms]
    if len(names) <= MOST_HIGHLIGHTED:
        return {"": tuple(names)}
    ranked = [one.name for one in sorted(standings, key=lambda one: one.primary)]
    chosen = [names[0], *ranked[: MOST_HIGHLIGHTED - 2], ranked[-1]]
    return {"": tuple(name for name in names if name in chosen)}


def _scores(runs: pd.DataFrame) -> pd.DataFrame:
    metrics = {metric: table.values(runs, metric) for metric in table.METRICS}
    running = expected_running_time(runs).drop(columns=["n", "successes"])
    return summary(metrics).merge(running, on=["task", "arm"])


def _profile(page_input: PageInput, runs: pd.DataFrame) -> pd.DataFrame:
    scores = table.values(runs, "regret")
    positive = scores["value"][scores["value"] > table.EPSILON]
    lowest = float(min(positive.min(), 0.1)) if len(positive) else 0.1
    regrets = profile.thresholds(10.0 ** np.floor(np.log10(lowest)))
    scores["value"] = 1.0 - scores["value"]
    rng = keyed(page_input.name, "profile")
    found = performance_profile(scores, 1.0 - regrets, rng, resamples=400)
    arms = found["arm"].nunique()
    return found.assign(regret=np.tile(regrets, arms)).drop(columns="threshold")


def _runtime(tables: table.Tables) -> pd.DataFrame:
    points = table.points(tables.trajectories, "log_regret", at_most=10_000)
    targets = np.log10(TARGETS + table.EPSILON)
    return runtime_ecdf(points, tables.runs, targets)
