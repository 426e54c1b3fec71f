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
from experiments.report.measures import Measure, described
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
    shown = measures(findings)
    for plan, verdict in zip(page_input.contrasts, findings.verdicts, strict=True):
        said = answer(plan.title, verdict)
        block: Row = {
            "answer": said,
            "named": not (plan.arm in said.sentence and plan.base in said.sentence),
            "outcome": verdict.outcome.lower(),
            "glyph": glyph(verdict, limit, page_input.margin),
            **_effect(verdict),
            "arm": plan.arm,
            "base": plan.base,
            "exceptions": sentences.exceptions(verdict, page_input.margin),
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


def scale(findings: Findings) -> str:
    """Returns how far apart the arms of the study are at all, in one sentence."""
    runs = findings.tables.runs
    runs = runs[runs["status"] == "ok"]
    means = runs.groupby(["arm", "task"])["area"].mean().groupby("arm").mean()
    areas = {str(arm): float(area) for arm, area in means.items()}
    if len(areas) < 2:
        return ""
    best, worst = min(areas, key=areas.__getitem__), max(areas, key=areas.__getitem__)
    return (
        f"For scale: regret of {best}, the best arm here, is "
        f"{words.change(areas[best] - areas[worst])} than that of {worst}, the worst."
    )


def _effect(verdict: Verdict) -> Row:
    """Returns an effect and its interval in words; failed runs alone are no effect."""
    if sentences.nothing_ran(verdict):
        return {"effect": "unknown", "interval": words.NONE}
    interval = words.changes(verdict.comparison.tasks_random)
    return {"effect": words.change(verdict.effect), "interval": interval}


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
    for plan, verdict in zip(page_input.contrasts, findings.verdicts, strict=True):
        other = verdict.sensitivity
        row: Row = {"title": plan.title, "with_failed": verdict.words}
        if other is None:
            row |= dict.fromkeys(("without", "effect", "interval"), words.NONE)
            row["left_out"] = "no pair left"
        else:
            found = other.comparison
            row["without"] = other.words
            row["effect"] = words.change(found.effect)
            row["interval"] = words.changes(found.tasks_random)
            row["left_out"] = words.several(found.n_left_out, "pair")
        rows.append(row)
    return rows


def controls(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a block a control."""
    pairs = zip(page_input.controls, findings.controls, strict=True)
    shown = measures(findings)
    return [
        {
            "title": plan.title,
            "arm": plan.arm,
            "base": plan.base,
            "passed": checked.passed,
            "text": sentences.control(
                checked.verdict, checked.expected, passed=checked.passed
            ),
            **_effect(checked.verdict),
            "measured": sentences.measured(
                shown, findings.measured, plan.arm, plan.base
            ),
            "tasks": words.several(len(plan.tasks), "task") if plan.tasks else "",
        }
        for plan, checked in pairs
    ]


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
        measure = described(str(name))
        if means.map(measure.text).nunique() > 1:
            shown[str(name)] = measure
    return shown


def arms(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row an arm: what it is, how it stands and what its dials did."""
    rows: list[Row] = []
    shown, measured = measures(findings), findings.measured
    for arm, one in zip(page_input.arms, findings.standings, strict=True):
        dial = findings.dials[arm.name]
        behaviour = dial.behaviour
        ran = behaviour.n_runs > 0
        held = sentences.dead(behaviour) or sentences.dead_somewhere(behaviour)
        row: Row = {
            "name": arm.name,
            "description": arm.description,
            "group": arm.group,
            "order": one.area,
            "area": words.signed(one.area),
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
                measure.text(float(measured.loc[arm.name, name]))
                for name, measure in shown.items()
            ],
        }
        if not ran:
            row |= {"dead": "No run finished.", "bounds": words.NONE}
        if one.comparison is not None:
            row["difference"] = words.change(one.comparison.effect)
            row["interval"] = words.changes(one.comparison.tasks_random)
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


def scores(page_input: PageInput, findings: Findings) -> list[Row]:
    """Returns a row a task and arm."""
    found = findings.scores.set_index(["task", "arm"])
    shown, measured = measures(findings), findings.measures.set_index(["task", "arm"])
    rows: list[Row] = []
    for task in page_input.tasks:
        for arm in page_input.arms:
            score: Any = found.loc[(task, arm.name)]
            low, high = score["success_low"], score["success_high"]
            cost = score["expected_running_time"]
            rows.append(
                {
                    "task": task,
                    "arm": arm.name,
                    "area": words.signed(score["area_mean"]),
                    "regret": words.figures(score["regret_median"]),
                    "regret_iqm": words.figures(score["regret_iqm"]),
                    "success": f"{score['successes']:.0f} of {score['n']:.0f}",
                    "rate": f"{words.percent(low)} to {words.percent(high)}",
                    "cost": f"{cost:,.0f}" if math.isfinite(cost) else "never",
                    "measures": [
                        measure.text(float(measured.loc[(task, arm.name), name]))
                        for name, measure in shown.items()
                    ],
                }
            )
    return rows
