"""The figures of a page: as cards on it, and as files that stand alone beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from experiments import table
from experiments.figures import (
    contrasts,
    control,
    convergence,
    cost,
    course,
    profile,
    runtime,
    style,
)
from experiments.figures.lines import banded
from experiments.report import alternatives
from experiments.report.findings import TARGETS, Findings
from experiments.report.inputs import Episode, PageInput
from experiments.report.measures import described
from experiments.report.primary import primary
from experiments.report.words import figures, several

Looks = Mapping[str, style.Look]


class Facet(NamedTuple):
    """Pictures that share their highlighted arms.

    Attributes:
        title: What the arms have in common, empty if nothing is to be said.
        arms: The highlighted arms, for the key; empty for none.
        panels: Pictures, as SVG elements.
    """

    title: str
    arms: tuple[str, ...]
    panels: tuple[Markup, ...]


class Card(NamedTuple):
    """One figure of the page.

    Attributes:
        name: Its name, and the beginning of the names of its files.
        question: Its title.
        caption: What is drawn, n, budget and interval.
        facets: Its pictures.
    """

    name: str
    question: str
    caption: str
    facets: tuple[Facet, ...]


def looks(page_input: PageInput, findings: Findings) -> Looks:
    """Returns the look of every arm on this page."""
    names = [arm.name for arm in page_input.arms]
    return style.highlighted(names, list(findings.groups.values()))


def budgets(page_input: PageInput, findings: Findings) -> str:
    """Returns how many evaluations a run had: 500 evaluations, 300 to 500 evaluations."""
    spent = findings.regret.groupby("task", sort=True)["evaluation"].max()
    least = int(spent.min()) if len(spent) else page_input.budget
    trial = "evaluation" if page_input.episode is None else page_input.episode.trial
    if least >= page_input.budget:
        return several(page_input.budget, trial)
    return f"{least} to {several(page_input.budget, trial)}"


def named(page_input: PageInput, findings: Findings) -> tuple[contrasts.Named, ...]:
    """Returns the verdicts with their questions, group by group."""
    pairs = zip(page_input.contrasts, findings.verdicts, strict=True)
    entries = [contrasts.Named(p.title, p.group, verdict) for p, verdict in pairs]
    groups = list(dict.fromkeys(entry.group for entry in entries))
    return tuple(sorted(entries, key=lambda entry: groups.index(entry.group)))


def cards(page_input: PageInput, findings: Findings) -> list[Card]:
    """Returns the figures of the page; none shows what never ran."""
    made = []
    if page_input.contrasts and findings.finished:
        made.append(_forests(page_input, findings))
    if not findings.finished:
        return made
    if page_input.episode is not None:
        return [*made, *_of_trials(page_input, findings, page_input.episode)]
    by_group = _by_group(page_input, findings)
    captions = _captions(page_input, findings)
    tasks = _tasks(page_input, findings)
    for name, question, panels in (
        ("convergence", convergence.QUESTION, partial(_convergence, findings, tasks)),
        ("control", control.QUESTION, partial(_control, findings, tasks)),
        ("profile", profile.QUESTION, partial(_profile, findings)),
        ("runtime", runtime.QUESTION, partial(_runtime, findings)),
    ):
        facets = tuple(
            Facet(title, findings.groups[title], panels(index, of))
            for index, (title, of) in enumerate(by_group.items())
        )
        made.append(Card(name, question, captions[name], facets))
    return made


def _of_trials(
    page_input: PageInput, findings: Findings, episode: Episode
) -> list[Card]:
    """Returns the figures of tasks that play their runs themselves."""
    captions = _captions(page_input, findings)
    tasks = _tasks(page_input, findings)
    facets = tuple(
        Facet(
            title, findings.groups[title], _course(findings, tasks, episode, index, of)
        )
        for index, (title, of) in enumerate(_by_group(page_input, findings).items())
    )
    made = [Card("course", course.QUESTION, captions["course"], facets)]
    costs = findings.costs
    if not costs.empty:
        figure = cost.figure(costs, _coloured(page_input), _costs(episode))
        label = alternatives.cost(costs, *_costs(episode))
        panels = (_inline(figure, "cost", label),)
        made.append(
            Card("cost", cost.QUESTION, captions["cost"], (Facet("", (), panels),))
        )
    return made


def _coloured(page_input: PageInput) -> Looks:
    """Returns a look of every arm, none as context."""
    return style.looks([arm.name for arm in page_input.arms])


def _costs(episode: Episode) -> tuple[str, str]:
    """Returns the names of the axes of the figure of costs."""
    return episode.score, described("tokens").title.lower()


def _course(
    findings: Findings, tasks: tuple[str, ...], episode: Episode, index: int, of: Looks
) -> tuple[Markup, ...]:
    drawn = []
    for place, task in enumerate(tasks):
        mine = _of_task(findings.course, task)
        figure = course.panel(mine, task, of, episode.score, episode.trial)
        label = alternatives.course(task, _highlighted(mine, of), *episode[:2])
        drawn.append(_inline(figure, f"course-{index}-{place}", label))
    return tuple(drawn)


def save(page_input: PageInput, findings: Findings, folder: Path) -> None:
    """Writes the figures that stand alone, each as SVG and as PDF."""
    for name, figure in _drawings(page_input, findings).items():
        for suffix in (".svg", ".pdf"):
            style.save(figure, folder / f"{name}{suffix}")


def slug(title: str) -> str:
    """Returns a title as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower().replace("'", "")).strip("_")


def _tasks(page_input: PageInput, findings: Findings) -> tuple[str, ...]:
    """Returns the tasks that have curves."""
    return tuple(task for task in page_input.tasks if task in findings.finished)


def _by_group(page_input: PageInput, findings: Findings) -> Mapping[str, Looks]:
    """Returns for each group the looks of all arms, those outside it as context."""
    whole = looks(page_input, findings)
    return {
        title: {
            arm: look if arm in arms else style.CONTEXT for arm, look in whole.items()
        }
        for title, arms in findings.groups.items()
    }


def _of_task(lines: pd.DataFrame, task: str) -> pd.DataFrame:
    return lines[lines["task"] == task]


def _convergence(
    findings: Findings, tasks: tuple[str, ...], index: int, of: Looks
) -> tuple[Markup, ...]:
    drawn = []
    for place, task in enumerate(tasks):
        mine = _of_task(findings.regret, task)
        figure = convergence.panel(mine, task, of, table.EPSILON)
        label = alternatives.convergence(task, _highlighted(mine, of))
        drawn.append(_inline(figure, f"convergence-{index}-{place}", label))
    return tuple(drawn)


def _control(
    findings: Findings, tasks: tuple[str, ...], index: int, of: Looks
) -> tuple[Markup, ...]:
    drawn = []
    for place, task in enumerate(tasks):
        mine = _of_task(findings.control, task)
        figure = control.panel(mine, task, of)
        label = alternatives.control(task, _highlighted(mine, of))
        drawn.append(_inline(figure, f"control-{index}-{place}", label))
    return tuple(drawn)


def _profile(findings: Findings, index: int, of: Looks) -> tuple[Markup, ...]:
    label = alternatives.profile(findings.profile, of)
    return (_inline(profile.figure(findings.profile, of), f"profile-{index}", label),)


def _runtime(findings: Findings, index: int, of: Looks) -> tuple[Markup, ...]:
    label = alternatives.runtime(findings.runtime, of)
    figure = runtime.figure(findings.runtime, of, _span(findings))
    return (_inline(figure, f"runtime-{index}", label),)


def _span(findings: Findings) -> tuple[float, float]:
    evaluations = findings.regret["evaluation"]
    return float(evaluations.min()), float(evaluations.max())


def _highlighted(lines: pd.DataFrame, of: Looks) -> pd.DataFrame:
    """Returns the lines of highlighted arms, or of all if none of those ran."""
    shown = [arm for arm, look in of.items() if not look.context]
    mine = lines[lines["arm"].isin(shown)]
    return lines if mine.empty else mine


def _inline(figure: Figure, name: str, label: str) -> Markup:
    return Markup(style.inline_svg(figure, name, label))


def _forests(page_input: PageInput, findings: Findings) -> Card:
    """Returns the forest of all contrasts, then one for each."""
    entries = named(page_input, findings)
    margin = page_input.margin
    found = [entry.verdict.comparison for entry in entries]
    limit = contrasts.reach(found, margin, tasks=False)
    overall = []
    for index, (group, members) in enumerate(contrasts.groups(entries).items()):
        rows = contrasts.overview_rows(members)
        figure = contrasts.panel(rows, group or contrasts.ALL, limit, margin)
        label = f"{group or contrasts.ALL}: " + "; ".join(
            f"{entry.title} {entry.verdict.words}" for entry in members
        )
        overall.append(_inline(figure, f"contrasts-all-{index}", label))
    facets = [Facet("", (), tuple(overall))]
    limit = contrasts.reach(found, margin, tasks=True)
    drawn: dict[str, list[Markup]] = {}
    for index, entry in enumerate(entries):
        rows = contrasts.task_rows(entry.verdict)
        title = contrasts.titles(entry._replace(group=""))
        figure = contrasts.panel(rows, title, limit, margin)
        label = alternatives.forest(entry.title, entry.verdict)
        svg = _inline(figure, f"contrasts-{index}", label)
        drawn.setdefault(entry.group, []).append(svg)
    for group, panels in drawn.items():
        title = f"{group}, task by task" if group else "Task by task"
        facets.append(Facet(title, (), tuple(panels)))
    caption = _captions(page_input, findings)["contrasts"]
    return Card("contrasts", contrasts.QUESTION, caption, tuple(facets))


def _captions(page_input: PageInput, findings: Findings) -> Mapping[str, str]:
    n_runs = findings.n_pairs // len(page_input.tasks)
    size = (
        f"n = {several(n_runs, 'run')} per arm and task, "
        f"{budgets(page_input, findings)} each"
    )
    facets = _by_group(page_input, findings).values()
    with_bands = all(banded(of) for of in facets)
    band = (
        "bands are 95 % bootstrap intervals of the mean over runs"
        if with_bands
        else "no bands, which would hide each other: intervals of differences are in the "
        "forest of contrasts"
        if page_input.contrasts
        else "no bands, which would hide each other"
    )
    if findings.n_failed:
        band += "; runs that failed are left out"
    along = (
        "The mean of the logarithm along a curve is the primary metric."
        if page_input.metric == "area"
        else "The primary metric is regret at the end, and its mean no geometric one."
    )
    context = any(look.context for of in facets for look in of.values())
    grey = " Grey: the other arms of the study." if context else ""
    spoken = primary(page_input.metric, page_input.margin, page_input.episode)
    pointwise = band.replace("of the mean over runs", "of runs within tasks")
    pointwise = pointwise.replace("are left out", "count as the worst")
    return {
        "contrasts": (
            f"Difference of the primary metric, {spoken.unit}. Line: 95 % interval for "
            "tasks like these (t interval of task means), the one that decides; an arrow "
            "where it leaves the picture. Pale bar: 95 % interval for these very tasks "
            f"(bootstrap of pairs). Grey band: the margin, {spoken.inside}, inside which a "
            f"difference does not matter. Hollow: undecided. {size}."
        ),
        "convergence": (
            "Regret = 1 \u2212 best score so far, geometric mean of runs; lower is "
            "better. Both axes are logarithmic, and each task has a y axis of its own. "
            f"{along} {size}; {band}.{grey}"
        ),
        "course": (
            f"Share of the {spoken.trial}s so far that went right, mean of runs; higher is "
            "better. At the end of a run it is the primary metric. The x axis is "
            f"logarithmic, and each task has a y axis of its own. {size}; {band}.{grey}"
        ),
        "cost": (
            f"Mean of tasks of {spoken.thing} (higher is better) against "
            f"{described('tokens').title.lower()} (fewer is cheaper; logarithmic). {size}; "
            "no interval."
        ),
        "control": (
            "Top: diversity D of the population. Middle: temperature T of selection, "
            "logarithmic, each task on an axis of its own; \u25b2 and \u25bc mark where "
            "most runs asked for a T beyond its upper or lower bound and were cut. "
            f"Bottom: effective parents as a share of {_room(page_input)}. Means of runs. "
            f"{size}; {band}."
        ),
        "profile": (
            "Share of runs whose final regret is below the number on the axis, a task "
            "counting once. The scale is fixed for each task, 1 for a random text and 0 "
            "for the optimum, and does not depend on the arms compared. "
            f"{size}; {pointwise}.{grey}"
        ),
        "runtime": (
            f"Share of (task, run, target) reached by each evaluation, of "
            f"{TARGETS.size} targets of regret between {figures(TARGETS[0])} and "
            f"{figures(TARGETS[-1])}, the same for all tasks; a task counts once. "
            f"{size}; no interval.{grey}"
        ),
    }


def _room(page_input: PageInput) -> str:
    """Returns what effective parents are drawn as a share of, in words."""
    populations = page_input.populations.values()
    if any(one.shared < one.capacity for one in populations):
        return "the population, or of the island that is drawn from"
    same = len(dict.fromkeys(populations)) < 2
    return "the population" if same else "the arm's own population"


def _drawings(page_input: PageInput, findings: Findings) -> Mapping[str, Figure]:
    """Returns the figures that stand alone, by name."""
    if not findings.finished:
        return {}
    captions = _captions(page_input, findings)
    tasks = _tasks(page_input, findings)
    drawn = {}
    if page_input.contrasts:
        drawn["contrasts"] = contrasts.figure(
            named(page_input, findings), page_input.margin, captions["contrasts"]
        )
    for title, of in _by_group(page_input, findings).items():
        end = f"_{slug(title)}" if title else ""

        def asked(question: str, title: str = title) -> str:
            return f"{title}: {question}" if title else question

        if page_input.episode is not None:
            drawn[f"course{end}"] = course.figure(
                findings.course,
                tasks,
                of,
                page_input.episode[:2],
                captions["course"],
                asked(course.QUESTION),
            )
            continue
        drawn[f"convergence{end}"] = convergence.figure(
            findings.regret,
            tasks,
            of,
            table.EPSILON,
            captions["convergence"],
            asked(convergence.QUESTION),
        )
        drawn[f"control{end}"] = control.figure(
            findings.control, tasks, of, captions["control"], asked(control.QUESTION)
        )
        drawn[f"profile{end}"] = profile.figure(
            findings.profile, of, captions["profile"], asked(profile.QUESTION)
        )
        drawn[f"runtime{end}"] = runtime.figure(
            findings.runtime,
            of,
            _span(findings),
            captions["runtime"],
            asked(runtime.QUESTION),
        )
    if page_input.episode is not None and not findings.costs.empty:
        names = _costs(page_input.episode)
        coloured = _coloured(page_input)
        drawn["cost"] = cost.figure(findings.costs, coloured, names, captions["cost"])
    return drawn
