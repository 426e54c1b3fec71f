"""Writes the page of a study from its tables."""

from __future__ import annotations

import argparse
from pathlib import Path

import memory
from experiments import runs
from experiments.commands.options import chosen, reproducing, study_arguments
from experiments.composition import ConfigurationError
from experiments.study import Study


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    study_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    study, folder = chosen(options)
    print(f"report: {written(study, folder, reproducing(options))}")
    return 0


def written(study: Study, folder: Path, reproduce: str) -> Path:
    """Writes ``report.html`` of ``study`` into ``folder`` and returns its path.

    Args:
        study: The study.
        folder: Its folder.
        reproduce: The command that makes its results again.

    Raises:
        ConfigurationError: The study has no tables there yet.
    """
    # Pandas and Matplotlib take a second to load, which only a page is worth.
    from experiments.report import page

    try:
        tables = runs.read_tables(folder)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"study {study.name} has no tables in {folder} yet: run it first with "
            f"boltzmem run study={study.name}"
        ) from error
    capacities = {arm.settings.capacity for arm in study.arms}
    return page.write(
        page.PageInput(
            name=study.name,
            question=study.question,
            arms=tuple(page.Arm(arm.name, arm.title) for arm in study.arms),
            contrasts=tuple(
                page.Contrast(c.arm, c.base, c.title) for c in study.contrasts
            ),
            budget=max(task.budget for task in study.tasks),
            n_seeds=len(study.seeds),
            tasks=tuple(task.label for task in study.tasks),
            reproduce=reproduce,
            population=capacities.pop() if len(capacities) == 1 else None,
            plan_hash=memory.fingerprint(study.description),
        ),
        *tables,
        folder,
    )
