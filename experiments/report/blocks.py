"""What the template shows, in words: answers, controls, arms, coverage, registration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments import table
from experiments.figures import style
from experiments.figures.contrasts import reach
from experiments.report import sentences, words
from experiments.report.answers import answer
from experiments.report.cards import looks
from experiments.report.findings import Findings
from experiments.report.glyph import glyph
from experiments.report.inputs import PageInput
from experiments.report.measures import Measure, described, differ
from experiments.report.primary import Primary, primary
from experiments.statistics.verdict import Verdict

Row = dict[str, object]


def answers(page_input: PageInput, findings: Findings) -> Mapping[str, list[Row]]:
    """Returns a block a contrast, by the title of its group."""
    limit = reach(
        [verdict.comparison for verdict in findings.verdicts],
        page_input.margin,
        tasks=False,
    )
    found: dict[str, list[Row]] = {}
    shown, spoken = measures(findings), speech(page_input)
    for plan, verdict in zip(page_input.contrasts, findings.verdicts, strict=True):
        said = answer(plan.title, verdict)
        block: Row = {
            "answer": said,
            "named": not (plan.arm in said.sentence and plan.base in said.sentence),
            "outcome": verdict.outcome.lower(),
            "glyph": glyph(verdict, limit, page_input.margin),
            **_effect(verdict, spoken),
            "arm": plan.arm,
            "base": plan.base,
            "exceptions": sentences.exceptions(
                verdict, page_input.margin, spoken.change
            ),
            "why": sentences.why(
                verdict,
                findings.dials,
                page_input.leverage.get((plan.arm, plan.base)),
                page_input.population,
            ),
            "measured": sentences.measured(
                shown, findings.measured, plan.arm, plan.base
            ),
        }
        found.setdefault(plan.group, []).append(block)
    return found


def speech(page_input: PageInput) -> Primary:
    """Returns how the page speaks of its primary metric."""
    return primary(page_input.metric, page_input.margin, page_input.episode)


def scale(page_input: PageInput, findings: Findings) -> str:
    """Returns how far apart the arms of the study are at all, in one sentence."""
    spoken, runs = speech(page_input), findings.tables.runs
    runs = runs[runs["status"] == "ok"]
    means = runs.groupby(["arm", "task"])[spoken.metric].mean().groupby("arm").mean()
    found = {str(arm): float(mean) for arm, mean in means.items()}
    if len(found) < 2:
        return ""
    best, worst = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    return (
        f"For scale: {spoken.thing} of {best}, the best arm here, is "
        f"{spoken.change(found[best] - found[worst])} than that of {worst}, the worst."
    )


def _effect(verdict: Verdict, spoken: Primary) -> Row:
    """Returns an effect and its interval in words; failed runs alone are no effect."""
    if sentences.nothing_ran(verdict):
        return {"effect": "unknown", "interval": words.NONE}
    interval = spoken.changes(verdict.comparison.tasks_random)
    return {"effect": spoken.change(verdict.effect), "interval": interval}


def numbers(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row a contrast with all its numbers."""
    pairs = zip(page_input.contrasts, findings.verdicts, strict=True)
    return [_numbers(plan.title, verdict) for plan, verdict in pairs]


def _numbers(title: str, verdict: Verdict) -> Row:
    found = verdict.comparison
    correlation = math.nan if found.correlation is None else round(found.correlation, 2)
    return {
        "title": title,
        "arm": verdict.arm,
        "base": verdict.base,
        "verdict": verdict.words,
        "effect": words.signed(found.effect),
        "tasks_random": words.span(found.tasks_random),
        "tasks_fixed": words.span(found.tasks_fixed),
        "equivalence": words.span(verdict.equivalence),
        "p": words.NONE if verdict.p_holm is None else words.figures(verdict.p_holm),
        "better": words.percent(found.better),
        "a12": words.figures(round(verdict.a12, 2)),
        "correlation": words.figures(correlation),
        "n_pairs": found.n_pairs,
    }


def sensitivity(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row a contrast without failed runs; none if nothing failed."""
    if not findings.n_failed:
        return []
    rows: list[Row] = []
    spoken = speech(page_input)
    for plan, verdict in zip(page_input.contrasts, findings.verdicts, strict=True):
        other = verdict.sensitivity
        row: Row = {"title": plan.title, "with_failed": verdict.words}
        if other is None:
            row |= dict.fromkeys(("without", "effect", "interval"), words.NONE)
            row["left_out"] = "no pair left"
        else:
            found = other.comparison
            row["without"] = other.words
            row["effect"] = spoken.change(found.effect)
            row["interval"] = spoken.changes(found.tasks_random)
            row["left_out"] = words.several(found.n_left_out, "pair")
        rows.append(row)
    return rows


def controls(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a block a control."""
    pairs = zip(page_input.controls, findings.controls, strict=True)
    shown, spoken = measures(findings), speech(page_input)
    return [
        {
            "title": plan.title,
            "arm": plan.arm,
            "base": plan.base,
            "passed": checked.passed,
            "text": sentences.control(
                checked.verdict, checked.expected, passed=checked.passed
            ),
            **_effect(checked.verdict, spoken),
            "measured": sentences.measured(
                shown, findings.measured, plan.arm, plan.base
            ),
            "tasks": words.several(len(plan.tasks), "task") if plan.tasks else "",
        }
        for plan, checked in pairs
    ]


def secondary(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a block a contrast of a measure."""
    rows: list[Row] = []
    for plan, verdict in zip(page_input.secondary, findings.secondary, strict=True):
        measure = described(plan.measure)
        row: Row = {"arm": plan.arm, "base": plan.base, "measure": measure.title}
        row |= {"title": plan.title, "margin": measure.size(plan.margin)}
        if verdict is None:
            nothing = {"answer": None, "effect": "unknown", "interval": words.NONE}
            rows.append(row | nothing)
            continue
        rows.append(
            row
            | {
                "answer": answer(plan.title, verdict),
                "effect": measure.change(verdict.effect),
                "interval": measure.changes(verdict.comparison.tasks_random),
            }
        )
    return rows


def swatches(page_input: PageInput, findings: Findings) -> Mapping[str, Row]:
    """Returns how the line of each arm looks, as the page draws it."""
    return {
        arm: {
            "colour": style.variable(look.colour),
            "dashes": style.dash_array(look),
        }
        for arm, look in looks(page_input, findings).items()
    }


def measures(findings: Findings) -> Mapping[str, Measure]:
    """Returns what was measured beside the search and is not the same in all arms."""
    shown = {}
    for name, means in findings.measured.items():
        if differ(means.values()):
            shown[name] = described(name)
    return shown


def arms(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row an arm: what it is, how it stands and what its dials did."""
    rows: list[Row] = []
    shown, measured = measures(findings), findings.measured
    spoken = speech(page_input)
    for arm, one in zip(page_input.arms, findings.standings, strict=True):
        dial = findings.dials[arm.name]
        behaviour = dial.behaviour
        ran = behaviour.n_runs > 0
        held = sentences.dead(behaviour) or sentences.dead_somewhere(behaviour)
        row: Row = {
            "name": arm.name,
            "description": arm.description,
            "group": arm.group,
            "order": one.primary,
            "primary": spoken.mean(one.primary),
            "iqm": words.figures(one.iqm),
            "iqm_interval": f"{words.figures(one.interval.low)} to "
            f"{words.figures(one.interval.high)}",
            "success": f"{one.successes:,} of {one.n_runs:,}",
            "temperature": sentences.temperature(behaviour) or words.NONE,
            "bounds": sentences.bounds(behaviour) or "never",
            "diversity": sentences.diversity(behaviour),
            "parents": sentences.parents(dial, page_input.population) or words.NONE,
            "dead": f"Dead dial: {held}." if held else "",
            "difference": "\u2013",
            "interval": "\u2013",
            "measures": [
                measure.text(measured[name][arm.name])
                for name, measure in shown.items()
            ],
        }
        if not ran:
            row |= {"dead": "No run finished.", "bounds": words.NONE}
        if one.comparison is not None:
            row["difference"] = spoken.change(one.comparison.effect)
            row["interval"] = spoken.changes(one.comparison.tasks_random)
        rows.append(row)
    return rows


def full(findings: Findings) -> bool:
    """Returns whether effective parents are those of full populations."""
    return all(
        dial.full or math.isnan(dial.parents.low) for dial in findings.dials.values()
    )


class Failure(NamedTuple):
    """A reason why runs did not finish, and how many of which arm it stopped."""

    arm: str
    status: str
    reason: str
    n_runs: int


def failures(findings: Findings) -> list[Failure]:
    """Returns why runs did not finish, the most frequent reason first."""
    runs = findings.tables.runs
    failed = runs[runs["status"] != "ok"]
    # A traceback says what happened in its last line.
    lines = failed["failure"].str.strip().str.split("\n").str[-1].str.slice(0, 200)
    counts = Counter(zip(failed["arm"], failed["status"], lines, strict=True))
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Failure(*triple, n) for triple, n in order]


def coverage(
    page_input: PageInput, findings: Findings
) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Returns a row an arm: how many runs of each task there are, and if any failed."""
    counts = table.coverage(findings.tables.runs).set_index(["task", "arm"])
    rows = []
    for arm in page_input.arms:
        cells = []
        for task in page_input.tasks:
            ok, failed, timeout = counts.loc[(task, arm.name), list(table.STATUSES)]
            text = str(ok)
            text += f" + {failed} failed" if failed else ""
            text += f" + {timeout} timeout" if timeout else ""
            cells.append((text, bool(failed or timeout)))
        rows.append((arm.name, cells))
    return rows


def score_titles(page_input: PageInput, findings: Findings) -> list[str]:
    """Returns the heads of the columns of scores."""
    more = [measure.title for measure in measures(findings).values()]
    spoken = speech(page_input)
    if spoken.played:
        return [f"{spoken.title}, mean", "median", "interquartile mean", *more]
    return [
        "Area, mean",
        "Final regret, mean",
        *("median", "interquartile mean", "Optimum reached", "95 % Wilson interval"),
        *("Expected evaluations to reach it", *more),
    ]


def scores(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row a task and arm, its cells as ``score_titles`` says."""
    found = findings.scores.set_index(["task", "arm"])
    shown, spoken = measures(findings), speech(page_input)
    measured: Any = findings.measures.set_index(["task", "arm"])
    rows: list[Row] = []
    for task in page_input.tasks:
        for arm in page_input.arms:
            score: Any = found.loc[(task, arm.name)]
            cells = (
                [spoken.mean(score[f"regret_{kind}"]) for kind in _MIDDLES]
                if spoken.played
                else _searched(score)
            )
            cells += [
                measure.text(float(measured.loc[(task, arm.name), name]))
                for name, measure in shown.items()
            ]
            rows.append({"task": task, "arm": arm.name, "cells": cells})
    return rows


_MIDDLES = ("mean", "median", "iqm")


def _searched(score: Any) -> list[str]:  # noqa: ANN401
    """Returns the scores of a task that is searched and an arm, in words."""
    low, high = score["success_low"], score["success_high"]
    cost = score["expected_running_time"]
    return [
        words.signed(score["area_mean"]),
        *[words.figures(score[f"regret_{kind}"]) for kind in _MIDDLES],
        f"{score['successes']:.0f} of {score['n']:.0f}",
        f"{words.percent(low)} to {words.percent(high)}",
        f"{cost:,.0f}" if math.isfinite(cost) else "never",
    ]
