"""Cells: one (task, instance, seed, arm) each, named by the hash of what it reads.

A cell's id covers the instantiated arm, task and proposer, the instance, seed and budget,
and the code that computes them; so a cell that is done stays done however the study around
it changes, and is never taken for another.
"""

from __future__ import annotations

import hashlib
import math
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import memory
from experiments import loop
from experiments.composition import ConfigurationError
from experiments.contracts import MEASURES
from experiments.study import Arm, Study, StudyTask
from experiments.weightings.unit import Unit

#: Modules of the harness that decide what a run is; plots and reports do not.
_SOURCES = (
    *("loop.py", "contracts.py", "expressions.py", "conversations.py"),
    "cells.py",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One run to be made.

    Attributes:
        id: Content id, under the present code.
        plain_id: Content id without the code, which recognises it under another.
        task: Index of the task in the study.
        arm: Index of the arm in the study.
        instance: Instance of the task, from one.
        seed: Seed, from one.
    """

    id: str
    plain_id: str
    task: int
    arm: int
    instance: int
    seed: int

    @property
    def block(self) -> tuple[int, int, int]:
        """What its paired cells share: task, instance and seed."""
        return (self.task, self.instance, self.seed)


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        body = part.encode() if isinstance(part, str) else part
        digest.update(len(body).to_bytes(8, "little") + body)
    return digest.hexdigest()


def _python_files(folder: Traversable) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and item.name != "__pycache__":
            found += [(f"{item.name}/{n}", body) for n, body in _python_files(item)]
        elif item.name.endswith(".py"):
            found.append((item.name, item.read_bytes()))
    return found


@cache
def code_version() -> str:
    """Returns the hash of all code that can change the outcome of a run."""
    try:
        release = version("boltzmem")
    except PackageNotFoundError:
        release = "source"
    here = files("experiments")
    # Other releases of these may compute other numbers.
    parts: list[str | bytes] = [
        release,
        *[version(name) for name in ("numpy", "ioh", "bm25s")],
    ]
    for name, body in _python_files(files("memory")):
        parts += [name, body]
    for room in ("tasks", "proposers", "weightings"):
        for name, body in _python_files(here / room):
            parts += [f"{room}/{name}", body]
    for name in _SOURCES:
        parts += [name, (here / name).read_bytes()]
    return _hash(*parts)


def settings_of(arm: Arm, task: StudyTask) -> memory.Settings:
    """Returns the memory's settings of ``arm`` on ``task``.

    A natural arm keeps the sample size of its own metric.
    """
    if not arm.natural_diversity:
        return arm.settings
    metric: Any = task.searched[2]
    size = getattr(arm.settings.diversity, "sample_size", None)
    if size is not None:
        metric = replace(metric, sample_size=size)
    return replace(arm.settings, diversity=metric)


def names_of(study: Study, cell: Cell) -> tuple[str | int, ...]:
    """Returns the names that key the random numbers of ``cell``.

    The arm is not among them, so that arms share random numbers; the salt of an A/A arm
    is.
    """
    task = study.tasks[cell.task].task
    salt = study.arms[cell.arm].stream_salt
    names = (study.salt, _described(task), cell.instance, cell.seed)
    return (*names, salt) if salt else names


def _described(value: object) -> str:
    return memory.fingerprint(memory.description(value))


def cells_of(study: Study) -> list[Cell]:
    """Returns all cells of ``study``, the arms of a block beside each other.

    Raises:
        ConfigurationError: Two of its tasks or arms differ in their names alone.
    """
    cells: list[Cell] = []
    named: dict[str, str] = {}
    for t, task in enumerate(study.tasks):
        keys = [_plain_key(study, arm, task) for arm in study.arms]
        for arm, (key, _) in zip(study.arms, keys, strict=True):
            mine = f"{arm.name} on {task.label}"
            if named.setdefault(key, mine) != mine:
                raise ConfigurationError(
                    f"tasks and arms must differ, got {named[key]} and {mine}, which are "
                    "the same under two names"
                )
        for instance in study.instances:
            for seed in study.seeds:
                for a, (key, code) in enumerate(keys):
                    plain = _hash(key, str(instance), str(seed))
                    cells.append(Cell(_hash(plain, code), plain, t, a, instance, seed))
    return cells


def _plain_key(study: Study, arm: Arm, task: StudyTask) -> tuple[str, str]:
    """Returns the hashes of what the cells of one arm and task share, and of its code."""
    parts: dict[str, Any] = {
        "stream_salt": arm.stream_salt,
        "task": task.task,
        "budget": task.budget,
        "salt": study.salt,
    }
    if task.episode is not None:
        parts["graded"] = arm.graded
    else:
        parts |= {
            "settings": settings_of(arm, task),
            "weighting": arm.weighting,
            "replay": arm.replay,
            "proposer": task.proposer,
            "initial": study.initial,
        }
    described = memory.description(parts)
    foreign = sorted(dict.fromkeys(_foreign_modules(described)))
    code = _hash(code_version(), *[_source(module) for module in foreign])
    return memory.fingerprint(described), code


def _foreign_modules(described: object) -> Iterator[str]:
    """Yields the modules of classes that are not ours, out of a description."""
    if isinstance(described, dict):
        target = described.get("_target_", "")
        module = target.rpartition(".")[0]
        if module and module.split(".")[0] not in ("memory", "experiments"):
            yield module
        for value in described.values():
            yield from _foreign_modules(value)
    elif isinstance(described, list):
        for value in described:
            yield from _foreign_modules(value)


@cache
def _source(module: str) -> bytes:
    """Returns the source of a module of somebody else's, empty if it has no file."""
    path = getattr(import_module(module), "__file__", None)
    return b"" if path is None else Path(path).read_bytes()


#: A row of the table of runs, and one of the table of trajectories.
Row = dict[str, Any]


def unfinished_row(cell: Cell, status: str, failure: str) -> Row:
    """Returns the row of a cell without an outcome: what it is, and why it has none."""
    return {
        "cell": cell.id,
        "plain": cell.plain_id,
        "code": code_version(),
        "status": status,
        # What somebody's exception says need not be encodable.
        "failure": failure.encode("utf-8", "backslashreplace").decode(),
    }


def computed(study: Study, cell: Cell) -> Row:
    """Returns the row of ``cell``: its outcome, or the traceback of its failure."""
    row = unfinished_row(cell, "ok", "")
    start = time.perf_counter()
    try:
        outcome = _outcome(study, cell)
    except (Exception, SystemExit):
        return unfinished_row(cell, "failed", traceback.format_exc(limit=-8))
    if math.isnan(outcome.best):
        reason = f"none of {outcome.evaluations} evaluations gave a score"
        return unfinished_row(cell, "failed", reason)
    return {**row, "seconds": time.perf_counter() - start, **_measures(outcome)}


def _outcome(study: Study, cell: Cell) -> loop.Run:
    """Returns the run of ``cell``, after its donor's where it replays one.

    The donor is the same arm under random numbers of its own, and is run here and now,
    so that a cell needs no other.
    """
    task, arm = study.tasks[cell.task], study.arms[cell.arm]
    names = names_of(study, cell)
    if task.episode is not None and arm.graded is not None:
        outcome = task.episode.play(arm.graded, cell.instance, names, task.budget)
        return loop.played(outcome, task.budget)
    searched, proposer, _ = task.searched

    def run(settings: memory.Settings, names: tuple[str | int, ...]) -> loop.Run:
        return loop.run(
            searched.problem(cell.instance),
            proposer,
            settings,
            names=names,
            budget=task.budget,
            initial=study.initial,
            weighting=None if isinstance(arm.weighting, Unit) else arm.weighting,
        )

    settings = settings_of(arm, task)
    if arm.replay != "nothing":
        donor = run(settings, (*names, "donor"))
        settings = replayed(settings, arm.replay, donor)
    return run(settings, names)


def replayed(
    settings: memory.Settings, replay: str, donor: loop.Run
) -> memory.Settings:
    """Returns ``settings`` with the temperatures of a donor instead of a controller."""
    temperature: memory.Temperature = memory.Yoked(donor.schedule)
    if replay == "mean":
        temperature = memory.Fixed(donor.mean_temperature)
    return replace(settings, temperature=temperature)


def _measures(outcome: loop.Run) -> Row:
    points = outcome.trajectory
    zero = [d == 0.0 for d in points.diversity if not math.isnan(d)]
    known = [d for d in points.diversity if not math.isnan(d)]
    return {
        "evaluations": outcome.evaluations,
        "failures": outcome.failures,
        "best": _rounded(outcome.best),
        "regret": _rounded(max(0.0, 1.0 - outcome.best)),
        "area": _rounded(_area(points.best)),
        "success": not math.isnan(outcome.hit),
        "hit": outcome.hit,
        "mean_diversity": _rounded(sum(known) / len(known)) if known else math.nan,
        "zero_diversity_share": sum(zero) / len(zero) if zero else math.nan,
        "mean_temperature": _rounded(outcome.mean_temperature),
        "minimum_share": outcome.minimum_share,
        "maximum_share": outcome.maximum_share,
        **{name: _rounded(outcome.measures.get(name, math.nan)) for name in MEASURES},
        "digest": outcome.digest,
        "trajectory": {
            name: [_rounded(value) for value in getattr(points, name)]
            for name in points._fields
        },
    }


def _area(best: list[float]) -> float:
    """Returns the mean of log10(regret + floor) over log-spaced budgets."""
    regrets = [1.0 if math.isnan(value) else max(0.0, 1.0 - value) for value in best]
    logs = [math.log10(regret + loop.REGRET_FLOOR) for regret in regrets]
    return math.fsum(logs) / len(logs)


def _rounded(value: float) -> float:
    """Returns ``value`` to ten significant digits.

    The last bits of an ``exp`` or ``log`` differ between processors; a committed table
    should not.
    """
    return value if isinstance(value, int) else float(f"{value:.10g}")
