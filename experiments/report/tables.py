"""The tables beside a page, as CSV; columns are named by what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from experiments import table
from experiments.report.findings import Findings
from experiments.report.inputs import PageInput
from experiments.statistics.verdict import Verdict

Row = dict[str, object]


def texts(page_input: PageInput, findings: Findings) -> Mapping[str, str]:
    """Returns the tables, six significant digits, by name."""
    frames = {
        "arms": _arms(page_input, findings),
        "scores": findings.scores.merge(findings.measures, on=["task", "arm"]),
        "coverage": table.coverage(findings.tables.runs),
    }
    if page_input.episode is None:
        frames |= {"profile": findings.profile, "runtime": findings.runtime}
    else:
        frames = {name: _of_trials(frame) for name, frame in frames.items()}
    if page_input.contrasts:
        labels: Sequence[Row] = [
            {"group": plan.group, "question": plan.title}
            for plan in page_input.contrasts
        ]
        frames["contrasts"], frames["contrasts_by_task"] = _verdicts(
            labels, findings.verdicts, failed=bool(findings.n_failed)
        )
    if page_input.controls:
        labels = [
            {
                "control": plan.title,
                "expected": str(checked.expected),
                "passed": checked.passed,
            }
            for plan, checked in zip(
                page_input.controls, findings.controls, strict=True
            )
        ]
        frames["controls"], _ = _verdicts(
            labels,
            [checked.verdict for checked in findings.controls],
            failed=bool(findings.n_failed),
        )
    told = [
        (plan, verdict)
        for plan, verdict in zip(page_input.secondary, findings.secondary, strict=True)
        if verdict is not None
    ]
    if told:
        labels = [
            {"question": plan.title, "measure": plan.measure, "margin": plan.margin}
            for plan, _ in told
        ]
        verdicts = [verdict for _, verdict in told]
        frames["secondary"], _ = _verdicts(labels, verdicts, failed=False)
    return {
        name: frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        for name, frame in frames.items()
    }


#: What only a search has.
_OF_SEARCH = (
    *("area_mean", "area_median", "area_iqm", "successes", "success_low"),
    *("success_high", "expected_running_time", "mean_diversity"),
    *("zero_diversity_share", "temperature_low", "temperature_high"),
    *("lower_bound_share", "upper_bound_share", "effective_parents_low"),
    "effective_parents_high",
)


def _of_trials(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a table without what only a search has."""
    return frame.drop(columns=[name for name in _OF_SEARCH if name in frame])


def _arms(page_input: PageInput, findings: Findings) -> pd.DataFrame:
    rows = []
    measured = findings.measured
    for one in findings.standings:
        dial = findings.dials[one.name]
        arm = dial.behaviour
        rows.append(
            {
                "arm": one.name,
                "n_runs": one.n_runs,
                "n_finished": arm.n_runs,
                page_input.metric: one.primary,
                "interquartile_mean_score": one.iqm,
                "interval_iqm_low": one.interval.low,
                "interval_iqm_high": one.interval.high,
                "successes": one.successes,
                "mean_diversity": arm.mean_diversity,
                "zero_diversity_share": arm.zero_diversity_share,
                "temperature_low": arm.temperature_low,
                "temperature_high": arm.temperature_high,
                "lower_bound_share": arm.minimum_share,
                "upper_bound_share": arm.maximum_share,
                "effective_parents_low": dial.parents.low,
                "effective_parents_high": dial.parents.high,
                **{name: means[one.name] for name, means in measured.items()},
            }
        )
    return pd.DataFrame(rows)


def _verdicts(
    labels: Sequence[Row], verdicts: Sequence[Verdict], *, failed: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns a row a verdict, and one for each of its tasks.

    Where runs failed each is there twice, as a column says: with failed runs as the worst
    value, and without their pairs.
    """
    overall, by_task = [], []
    entries = [("count as worst", *pair) for pair in zip(labels, verdicts, strict=True)]
    if failed:
        entries += [
            ("left out", label, found.sensitivity)
            for label, found in zip(labels, verdicts, strict=True)
            if found.sensitivity is not None
        ]
    for treated, label, found in entries:
        start: Row = {"arm": found.arm, "base": found.base}
        if failed:
            start["failed_runs"] = treated
        overall.append({**start, **label, **_numbers(found)})
        by_task += [
            {
                **start,
                "task": task.task,
                "n_pairs": task.n_pairs,
                "effect": task.effect,
                "interval_low": task.interval.low,
                "interval_high": task.interval.high,
            }
            for task in found.comparison.tasks
        ]
    return pd.DataFrame(overall), pd.DataFrame(by_task)


def _numbers(verdict: Verdict) -> Row:
    found = verdict.comparison
    return {
        "verdict": str(verdict.outcome),
        "identical": verdict.identical,
        "negligible": verdict.negligible,
        "effect": found.effect,
        "interval_random_low": found.tasks_random.low,
        "interval_random_high": found.tasks_random.high,
        "interval_fixed_low": found.tasks_fixed.low,
        "interval_fixed_high": found.tasks_fixed.high,
        "interval_equivalence_low": verdict.equivalence.low,
        "interval_equivalence_high": verdict.equivalence.high,
        "p": verdict.p,
        "p_holm": verdict.p_holm,
        "probability_pair_better": found.better,
        "a12": verdict.a12,
        "correlation": found.correlation,
        "n_tasks": len(found.tasks),
        "n_pairs": found.n_pairs,
        "n_pairs_left_out": found.n_left_out,
    }
