"""The page of a study: one self-contained file, with its figures and tables beside it.

Nothing on it depends on when or where it is written: the same tables give the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from experiments import table
from experiments.figures import style
from experiments.report import blocks, cards, sentences, tables, words
from experiments.report.findings import Findings, find
from experiments.report.inputs import (
    Arm,
    Contrast,
    Control,
    Episode,
    Leverage,
    PageInput,
    Population,
    Secondary,
)

__all__ = [
    "Arm",
    "Contrast",
    "Control",
    "Episode",
    "Leverage",
    "PageInput",
    "Population",
    "Secondary",
    "html",
    "write",
]

_FOLDER = Path(__file__).parent


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
    tidied = table.tidy(runs, trajectories)
    _check_same(page_input, tidied.runs)
    findings = find(page_input, tidied)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, text in tables.texts(page_input, findings).items():
        _write(folder / f"{name}.csv", text)
    cards.save(page_input, findings, folder / "figures")
    path = folder / "report.html"
    _write(path, html(page_input, findings))
    return path


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
    environment.filters["several"] = words.several
    n_runs = len(findings.tables.runs)
    text = environment.get_template("page.html.j2").render(
        study=page_input,
        css=Markup((_FOLDER / "page.css").read_text(encoding="utf-8")),
        light=style.variables(dark=False),
        dark=style.variables(dark=True),
        answers=blocks.answers(page_input, findings),
        controls=blocks.controls(page_input, findings),
        secondary=blocks.secondary(page_input, findings),
        secondary_level=words.figures(
            100.0 * (1.0 - page_input.alpha / max(1, len(page_input.secondary)))
        ),
        numbers=blocks.numbers(page_input, findings),
        sensitivity=blocks.sensitivity(page_input, findings),
        finished=sentences.failures(
            findings.n_failed, n_runs, contrasts=bool(page_input.contrasts)
        ),
        failures=blocks.failures(findings),
        arms=blocks.arms(page_input, findings),
        measures=list(blocks.measures(findings).values()),
        swatches=blocks.swatches(page_input, findings),
        full=blocks.full(findings),
        cards=cards.cards(page_input, findings),
        coverage=blocks.coverage(page_input, findings),
        scores=blocks.scores(page_input, findings),
        score_titles=blocks.score_titles(page_input, findings),
        primary=blocks.speech(page_input),
        budgets=cards.budgets(page_input, findings),
        n_pairs=findings.n_pairs,
        scale=blocks.scale(page_input, findings),
        level=words.figures(100.0 * (1.0 - page_input.alpha)),
        inner_level=words.figures(100.0 * (1.0 - 2.0 * page_input.alpha)),
        dead_leverage=words.fine(sentences.DEAD_LEVERAGE),
        dead_share=words.percent(sentences.DEAD_SHARE),
    )
    # A number and its per cent stay on one line.
    return text.replace(" %", "\u00a0%")


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
