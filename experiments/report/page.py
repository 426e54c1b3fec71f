"""The page of a study: one self-contained file, with its figures and tables beside it.

Nothing on it depends on when or where it is written: the same tables give the same bytes.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from experiments import table
from experiments.figures import contrasts, control, convergence, style
from experiments.report import sentences
from experiments.statistics.aggregate import Behaviour, behaviours, curves, summary
from experiments.statistics.paired import Comparison, comparison

_FOLDER = Path(__file__).parent

#: Name of the primary metric in words.
PRIMARY = (
    "area: the mean over log-spaced budgets of log10(best-so-far regret + 1e-6), "
    "regret being 1 - unit score"
)


class Arm(NamedTuple):
    """An arm as the page introduces it: its name, one line about it, and its group."""

    name: str
    description: str
    group: str = ""


class Contrast(NamedTuple):
    """A planned contrast: an arm, what it is compared with, and what it asks."""

    arm: str
    base: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """What a study says about itself.

    Args:
        name: Name of the study, as in the tables.
        question: What it asks.
        arms: Its arms, in the order of all tables and figures.
        contrasts: Its planned contrasts.
        budget: Evaluations a run, the most of any task.
        n_seeds: Number of seeds.
        tasks: Labels of its tasks, in the order of all tables and figures.
        reproduce: Command that makes the page again.
        population: Cap of the population, if it is one number.
        plan_hash: Hash of the registered plan, empty if none is.
        code_version: Version of the code that made the runs, empty if unknown.

    Raises:
        ValueError: There is no arm, task or evaluation, a name is there twice, or a
            contrast names an arm that the study does not have.
    """

    name: str
    question: str
    arms: tuple[Arm, ...]
    contrasts: tuple[Contrast, ...]
    budget: int
    n_seeds: int
    tasks: tuple[str, ...]
    reproduce: str
    population: int | None = None
    plan_hash: str = ""
    code_version: str = ""

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        for field, entries in (("arms", names), ("tasks", list(self.tasks))):
            if not entries:
                raise ValueError(f"{field} must not be empty")
            if len(dict.fromkeys(entries)) < len(entries):
                raise ValueError(f"{field} must differ from each other, got {entries}")
        for contrast in self.contrasts:
            for name in (contrast.arm, contrast.base):
                if name not in names:
                    raise ValueError(
                        f"contrasts must name arms of the study, got {name!r}"
                    )
        if self.budget < 1 or self.n_seeds < 1:
            raise ValueError(
                "budget and n_seeds must be at least 1, got "
                f"{self.budget} and {self.n_seeds}"
            )


class Card(NamedTuple):
    """One figure of the page.

    Attributes:
        name: Name of its file, without suffix.
        question: Its title.
        caption: What is drawn, n, budget and interval.
        panels: Its pictures, as SVG elements.
        with_key: Whether the key of the arms stands above it.
    """

    name: str
    question: str
    caption: str
    panels: tuple[Markup, ...]
    with_key: bool = True


class Findings(NamedTuple):
    """All that is computed for a page, before anything is drawn or said.

    Attributes:
        tables: The tidy tables.
        comparisons: One for each planned contrast, failed runs counting as worst.
        sensitivity: The same with their pairs left out.
        dials: What the dials of each arm did.
        regret: Curves of log10 regret.
        control: Curves of D, T and clamps, with a column ``quantity``.
    """

    tables: table.Tables
    comparisons: tuple[Comparison, ...]
    sensitivity: tuple[Comparison | None, ...]
    dials: Mapping[str, Behaviour]
    regret: pd.DataFrame
    control: pd.DataFrame


def write(
    page_input: PageInput,
    runs: pd.DataFrame,
    trajectories: pd.DataFrame,
    folder: Path,
) -> Path:
    """Writes the page, its figures and its tables, and returns the path of the page.

    Args:
        page_input: What the study says about itself.
        runs: Its runs, as ``table.tidy`` wants them.
        trajectories: Their trajectories, likewise.
        folder: Where to write; made if it is not there.

    Raises:
        TypeError: As ``table.tidy``.
        ValueError: As ``table.tidy``, or the tables are of another study, or have other
            arms, tasks or seeds than the study.
    """
    tables = table.tidy(runs, trajectories)
    _check_same(page_input, tables.runs)
    findings = find(page_input, tables)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, text in _tables(page_input, findings).items():
        _write(folder / f"{name}.csv", text)
    for name, text in _drawings(page_input, findings).items():
        _write(folder / "figures" / f"{name}.svg", text)
    path = folder / "report.html"
    _write(path, html(page_input, findings))
    return path


def find(page_input: PageInput, tables: table.Tables) -> Findings:
    """Returns all that the page shows, from tidy tables."""
    runs, trajectories = tables
    dials = dict(behaviours(runs, trajectories))
    regret = _curves(page_input, tables, "log_regret")
    controls = [
        _curves(page_input, tables, quantity).assign(quantity=quantity)
        for quantity in control.QUANTITIES
    ]
    return Findings(
        tables=tables,
        comparisons=tuple(
            _comparison(page_input, table.values(runs, "area"), contrast)
            for contrast in page_input.contrasts
        ),
        sensitivity=_sensitivity(page_input, runs),
        dials=dials,
        regret=regret,
        control=pd.concat(controls, ignore_index=True),
    )


def html(page_input: PageInput, findings: Findings) -> str:
    """Returns the page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(
        study=page_input,
        primary=PRIMARY,
        css=Markup((_FOLDER / "page.css").read_text(encoding="utf-8")),
        light=style.variables(dark=False),
        dark=style.variables(dark=True),
        contrasts=_contrast_rows(page_input, findings),
        sensitivity=_sensitivity_rows(page_input, findings),
        failures=_failures(findings.tables.runs),
        arms=_arm_rows(page_input, findings),
        cards=_cards(page_input, findings),
        coverage=_coverage(page_input, findings.tables.runs),
        scores=_scores(page_input, findings.tables.runs),
        budgets=_budgets(page_input, findings),
        n_pairs=_n_pairs(findings.tables.runs),
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _check_same(page_input: PageInput, runs: pd.DataFrame) -> None:
    got = runs["study"].iloc[0]
    if got != page_input.name:
        raise ValueError(f"runs must be of the study {page_input.name}, got {got}")
    names = [arm.name for arm in page_input.arms]
    for column, planned in (("arm", names), ("task", list(page_input.tasks))):
        found = sorted(runs[column].unique())
        if found != sorted(planned):
            odd = sorted({*found}.symmetric_difference(planned))
            raise ValueError(
                f"runs must have the {column}s of the study and no others, got a "
                f"difference in {', '.join(odd)}"
            )
    n_seeds = runs["seed"].nunique()
    if n_seeds != page_input.n_seeds:
        raise ValueError(
            f"runs must have {page_input.n_seeds} seeds as the study, got {n_seeds}"
        )


def _rng(*names: str) -> np.random.Generator:
    """Returns the generator of one statistic, keyed by its name.

    Each has its own, so that a contrast more does not change the intervals of others.
    """
    text = "\x1f".join(names).encode()
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _curves(page_input: PageInput, tables: table.Tables, quantity: str) -> pd.DataFrame:
    rng = _rng(page_input.name, "curves", quantity)
    at_most = 40 if quantity == "log_regret" else 24
    points = table.points(tables.trajectories, quantity, at_most=at_most)
    return curves(points, rng)


def _comparison(
    page_input: PageInput, values: pd.DataFrame, contrast: Contrast
) -> Comparison:
    rng = _rng(page_input.name, "contrast", contrast.arm, contrast.base)
    return comparison(values, contrast.arm, contrast.base, rng)


def _sensitivity(
    page_input: PageInput, runs: pd.DataFrame
) -> tuple[Comparison | None, ...]:
    """Returns the contrasts without pairs that failed; None where no pair is left."""
    values = table.values(runs, "area", failed="missing")
    found: list[Comparison | None] = []
    for contrast in page_input.contrasts:
        sides = values[values["arm"].isin((contrast.arm, contrast.base))]
        n_known = sides.groupby(list(table.BLOCK))["value"].count()
        left = bool(n_known.eq(2).any())
        found.append(_comparison(page_input, values, contrast) if left else None)
    return tuple(found)


def _n_pairs(runs: pd.DataFrame) -> int:
    """Returns the number of (task, instance, seed) blocks."""
    return len(runs.drop_duplicates(list(table.BLOCK)))


def _contrast_rows(
    page_input: PageInput, findings: Findings
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for contrast, found in zip(page_input.contrasts, findings.comparisons, strict=True):
        correlation = found.correlation
        rows.append(
            {
                "title": contrast.title,
                "arm": contrast.arm,
                "base": contrast.base,
                "effect": sentences.signed(found.effect),
                "tasks_fixed": sentences.span(found.tasks_fixed),
                "tasks_random": sentences.span(found.tasks_random),
                "better": sentences.percent(found.better),
                "correlation": sentences.figures(
                    math.nan if correlation is None else round(correlation, 2)
                ),
                "n_pairs": found.n_pairs,
                "why": sentences.contrast(found, findings.dials),
            }
        )
    return rows


def _sensitivity_rows(
    page_input: PageInput, findings: Findings
) -> list[dict[str, str]]:
    """Returns the rows of the table without failures; none if nothing failed."""
    if (findings.tables.runs["status"] == "ok").all():
        return []
    rows = []
    for contrast, found in zip(page_input.contrasts, findings.sensitivity, strict=True):
        row = {"title": contrast.title, "effect": sentences.NONE}
        row |= {"tasks_fixed": sentences.NONE, "tasks_random": sentences.NONE}
        row["left_out"] = "no pair left"
        if found is not None:
            row["effect"] = sentences.signed(found.effect)
            row["tasks_fixed"] = sentences.span(found.tasks_fixed)
            row["tasks_random"] = sentences.span(found.tasks_random)
            row["left_out"] = sentences.left_out(found)
        rows.append(row)
    return rows


class Failure(NamedTuple):
    """A reason why runs did not finish, and how many of which arm it stopped."""

    arm: str
    status: str
    reason: str
    n_runs: int


def _failures(runs: pd.DataFrame) -> Mapping[str, object]:
    """Returns the sentence on failures and the reasons, the most frequent first."""
    failed = runs[runs["status"] != "ok"]
    lines = failed["failure"].str.split("\n").str[0].str.slice(0, 160)
    triples = zip(failed["arm"], failed["status"], lines, strict=True)
    counts = Counter(triples)
    reasons = [
        Failure(*triple, n)
        for triple, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return {"text": sentences.failures(len(failed), len(runs)), "reasons": reasons}


def _arm_rows(page_input: PageInput, findings: Findings) -> list[dict[str, object]]:
    looks = style.looks([arm.name for arm in page_input.arms])
    return [
        {
            "name": arm.name,
            "description": arm.description,
            "group": arm.group,
            "colour": style.variable(looks[arm.name].colour),
            "dashes": style.dash_array(looks[arm.name]),
            "behaviour": sentences.behaviour(
                findings.dials[arm.name], page_input.population
            ),
        }
        for arm in page_input.arms
    ]


def _coverage(page_input: PageInput, runs: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Returns a row a task: how many cells of each arm there are, and failed."""
    counts = table.coverage(runs).set_index(["task", "arm"])
    rows = []
    for task in page_input.tasks:
        cells = []
        for arm in page_input.arms:
            ok, failed, timeout = counts.loc[(task, arm.name), list(table.STATUSES)]
            text = str(ok)
            text += f" + {failed} failed" if failed else ""
            text += f" + {timeout} timeout" if timeout else ""
            cells.append(text)
        rows.append((task, cells))
    return rows


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    metrics = {metric: table.values(runs, metric) for metric in table.METRICS}
    return summary(metrics)


def _scores(page_input: PageInput, runs: pd.DataFrame) -> list[dict[str, str]]:
    scores = _summary(runs).set_index(["task", "arm"])
    rows = []
    for task in page_input.tasks:
        for arm in page_input.arms:
            score: Any = scores.loc[(task, arm.name)]
            low, high = score["success_low"], score["success_high"]
            rows.append(
                {
                    "task": task,
                    "arm": arm.name,
                    "area": sentences.signed(score["area_mean"]),
                    "regret": sentences.figures(score["regret_median"]),
                    "regret_iqm": sentences.figures(score["regret_iqm"]),
                    "success": f"{score['successes']:.0f} of {score['n']:.0f}",
                    "rate": f"{sentences.percent(low)} to {sentences.percent(high)}",
                }
            )
    return rows


def _budgets(page_input: PageInput, findings: Findings) -> str:
    """Returns how many evaluations a run had: 500 evaluations, 300 to 500 evaluations."""
    spent = findings.regret.groupby("task", sort=True)["evaluation"].max()
    least = int(spent.min()) if len(spent) else page_input.budget
    if least >= page_input.budget:
        return f"{page_input.budget} evaluations"
    return f"{least} to {page_input.budget} evaluations"


def _captions(page_input: PageInput, findings: Findings) -> Mapping[str, str]:
    runs = findings.tables.runs
    n_runs = _n_pairs(runs) // len(page_input.tasks)
    size = f"n = {n_runs} runs per arm and task, {_budgets(page_input, findings)} each"
    band = "bands are 95 % bootstrap intervals of the mean over runs"
    if len(page_input.arms) > style.MOST_LABELS:
        band = f"no bands, with more than {style.MOST_LABELS} arms they hide each other"
    finished = (
        "" if (runs["status"] == "ok").all() else "; runs that failed are left out"
    )
    return {
        "contrasts": (
            "Difference of area, arm minus base; negative: the arm is better. Thick: 95 % "
            "interval for these tasks (bootstrap of pairs within tasks). Thin: 95 % "
            "interval for tasks like these (t interval of task means); an arrow where it "
            f"leaves the picture. {size}."
        ),
        "convergence": (
            "Regret = 1 - best score so far, geometric mean (of regret + 1e-6); the area "
            f"under a curve is the primary metric. {size}; {band}{finished}."
        ),
        "control": (
            "D: diversity as measured. T: temperature. Clamps: share of runs in which T "
            f"was held at its ceiling (up) or floor (down). {size}; {band}{finished}."
        ),
    }


def _cards(page_input: PageInput, findings: Findings) -> list[Card]:
    captions = _captions(page_input, findings)
    looks = style.looks([arm.name for arm in page_input.arms])
    cards = []
    if page_input.contrasts:
        forest = Card(
            "contrasts",
            contrasts.QUESTION,
            captions["contrasts"],
            _forests(page_input, findings, looks),
            with_key=False,
        )
        cards.append(forest)
    regret = [
        style.inline_svg(
            convergence.panel(findings.regret, task, looks, table.EPSILON),
            f"convergence-{index}",
            sentences.convergence(task, _of_task(findings.regret, task)),
        )
        for index, task in enumerate(page_input.tasks)
    ]
    dials = [
        style.inline_svg(
            control.panel(findings.control, task, looks),
            f"control-{index}",
            sentences.control(task, _of_task(findings.control, task)),
        )
        for index, task in enumerate(page_input.tasks)
    ]
    for name, question, drawn in (
        ("convergence", convergence.QUESTION, regret),
        ("control", control.QUESTION, dials),
    ):
        panels = tuple(Markup(svg) for svg in drawn)
        cards.append(Card(name, question, captions[name], panels))
    return cards


def _of_task(lines: pd.DataFrame, task: str) -> pd.DataFrame:
    return lines[lines["task"] == task]


def _forests(
    page_input: PageInput, findings: Findings, looks: Mapping[str, style.Look]
) -> tuple[Markup, ...]:
    """Returns the forest of all contrasts, then one for each."""
    limit = contrasts.reach(findings.comparisons)
    named = _named(page_input, findings)
    overall = contrasts.panel(
        contrasts.overview_rows(named, looks), "all contrasts, mean of tasks", limit
    )
    label = "Paired differences: " + "; ".join(
        f"{title} {sentences.signed(found.effect)}" for title, found in named
    )
    svgs = [style.inline_svg(overall, "contrasts-all", label)]
    for index, (title, found) in enumerate(named):
        one = contrasts.panel(contrasts.task_rows(found, looks), title, limit)
        label = sentences.forest(title, found)
        svgs.append(style.inline_svg(one, f"contrasts-{index}", label))
    return tuple(Markup(svg) for svg in svgs)


def _named(
    page_input: PageInput, findings: Findings
) -> Sequence[tuple[str, Comparison]]:
    titles = [contrast.title for contrast in page_input.contrasts]
    return list(zip(titles, findings.comparisons, strict=True))


def _drawings(page_input: PageInput, findings: Findings) -> Mapping[str, str]:
    """Returns the figures that stand alone, by name."""
    captions = _captions(page_input, findings)
    looks = style.looks([arm.name for arm in page_input.arms])
    tasks = page_input.tasks
    drawn = {
        "convergence": convergence.figure(
            findings.regret, tasks, looks, table.EPSILON, captions["convergence"]
        ),
        "control": control.figure(findings.control, tasks, looks, captions["control"]),
    }
    if page_input.contrasts:
        drawn["contrasts"] = contrasts.figure(
            _named(page_input, findings), looks, captions["contrasts"]
        )
    return {name: style.svg(figure) for name, figure in drawn.items()}


def _tables(page_input: PageInput, findings: Findings) -> Mapping[str, str]:
    """Returns the tables as CSV, six significant digits, by name."""
    overall, by_task = [], []
    for failed, found in (
        *(("worst", found) for found in findings.comparisons),
        *(("left out", found) for found in findings.sensitivity if found),
    ):
        start = {"arm": found.arm, "base": found.base, "failed_runs": failed}
        overall.append(
            {
                **start,
                "n_tasks": len(found.tasks),
                "n_pairs": found.n_pairs,
                "difference": found.effect,
                "fixed_low": found.tasks_fixed.low,
                "fixed_high": found.tasks_fixed.high,
                "random_low": found.tasks_random.low,
                "random_high": found.tasks_random.high,
                "better": found.better,
                "correlation": found.correlation,
                "identical": found.identical,
            }
        )
        by_task += [
            {
                **start,
                "task": task.task,
                "n_pairs": task.n_pairs,
                "difference": task.effect,
                "low": task.interval.low,
                "high": task.interval.high,
            }
            for task in found.tasks
        ]
    frames = {
        "contrasts": pd.DataFrame(overall),
        "contrasts_by_task": pd.DataFrame(by_task),
        "scores": _summary(findings.tables.runs),
        "coverage": table.coverage(findings.tables.runs),
    }
    return {
        name: frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        for name, frame in frames.items()
    }
