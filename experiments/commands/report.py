"""Writes the page of a study from its tables.

boltzmem report study=default
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path

import memory
from experiments.cells import cells_of, code_version
from experiments.commands.export import tables_in
from experiments.commands.options import chosen, reproducing, study_arguments
from experiments.composition import ConfigurationError
from experiments.leverage import leverages
from experiments.registration import deviations, registered
from experiments.study import Arm, Contrast, Control, Study


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

    tables = tables_in(folder)
    wanted = [cell.id for cell in cells_of(study)]
    if sorted(tables[0]["cell"]) != sorted(wanted):
        shared = len(set(wanted) & set(tables[0]["cell"]))
        raise ConfigurationError(
            f"the tables in {folder} are of another study or other code: they hold "
            f"{shared} of its {len(wanted)} cells; boltzmem run computes what is missing"
        )
    pairs: list[Contrast | Control] = [*study.contrasts, *study.controls]
    populations = {
        arm.name: page.Population(arm.settings.capacity, _shared(arm))
        for arm in study.arms
    }
    caps = {number for population in populations.values() for number in population}
    plan = registered(folder)
    return page.write(
        page.PageInput(
            name=study.name,
            question=study.question,
            arms=tuple(page.Arm(arm.name, arm.title) for arm in study.arms),
            contrasts=tuple(
                page.Contrast(c.arm, c.base, c.title, c.group) for c in study.contrasts
            ),
            controls=tuple(
                page.Control(c.arm, c.base, c.title, c.expected, c.tasks)
                for c in study.controls
            ),
            secondary=tuple(
                page.Secondary(s.arm, s.base, s.title, s.measure, s.margin)
                for s in study.secondary
            ),
            metric=study.metric,
            episode=page.Episode(*study.episodes[0].speech) if study.episodes else None,
            margin=study.margin,
            alpha=study.alpha,
            leverage={
                pair: page.Leverage(found.distance, found.task)
                for pair, found in leverages(study, pairs).items()
                if not math.isnan(found.distance)
            },
            deviations=deviations(folder, study),
            parameters=_parameters(study),
            budget=max(task.budget for task in study.tasks),
            n_seeds=len(study.seeds),
            tasks=tuple(task.label for task in study.tasks),
            reproduce=reproduce,
            population=caps.pop() if len(caps) == 1 else None,
            populations=populations,
            unheated=tuple(arm.name for arm in study.arms if _unheated(arm)),
            plan_hash="" if plan is None else plan.hash,
            code_version=code_version(),
        ),
        *tables,
        folder,
    )


def _shared(arm: Arm) -> int:
    """Returns how many solutions one draw of ``arm`` chooses from at most."""
    settings = arm.settings
    islands = settings.islands if settings.quota else 1
    return -(-settings.capacity // islands)


def _unheated(arm: Arm) -> bool:
    """Returns whether the law of selection of ``arm`` is the same at all temperatures."""
    population = memory.view([0.0, 0.2, 0.5, 0.6, 0.9, 1.0])
    laws = [
        memory.checked_law(arm.settings.selection, population, temperature).tolist()
        for temperature in (0.01, 10.0)
    ]
    return bool(laws[0] == laws[1])


def _parameters(study: Study) -> dict[str, tuple[str, ...]]:
    """Returns what the arms do not share, each arm's as lines ``key = value``."""
    flat = {arm.name: dict(_flat(memory.description(arm), "")) for arm in study.arms}
    keys = sorted({key for found in flat.values() for key in found})
    varying = [
        key
        for key in keys
        if key not in ("name", "title")
        and len({json.dumps(found.get(key)) for found in flat.values()}) > 1
    ]
    return {
        name: tuple(f"{key} = {found[key]}" for key in varying if key in found)
        for name, found in flat.items()
    }


def _flat(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yields every number and word of a description under its dotted path."""
    if not isinstance(value, dict):
        yield path, value
        return
    for key, item in value.items():
        if key == "_target_":
            yield path, str(item).rpartition(".")[2]
        else:
            yield from _flat(item, f"{path}.{key}" if path else str(key))
