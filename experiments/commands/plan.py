"""Says what a study would compute, how long it would take and what it could find.

With --pilot it also runs the contrasts' arms for a few seeds of their own (never used by
the study), and says what effects the study could see and which dials are dead. Exit
status 1 means that some contrast or control could never come out.

  boltzmem plan study=grid
  boltzmem plan study=default --pilot 5
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cells import cells_of, computed
from experiments.commands.options import all_chosen, at_least_one, study_arguments
from experiments.commands.status import lines
from experiments.runner import Plan, plan_of
from experiments.study import Study

if TYPE_CHECKING:
    import pandas as pd

#: Seconds of one evaluation where nothing of a task has been timed yet.
GUESS = 1.5e-4


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    study_arguments(parser)
    parser.add_argument(
        "--workers",
        type=at_least_one,
        metavar="N",
        help="number of processes to reckon with (default: one for each core)",
    )
    parser.add_argument(
        "--pilot",
        type=at_least_one,
        metavar="SEEDS",
        help="run this many pilot seeds of the contrasts' arms, and reckon the power and "
        "the leverage of each contrast",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0, or 1 if no contrast of a study could ever pass."""
    workers = options.workers or len(os.sched_getaffinity(0))
    hopeless = False
    for study, folder in all_chosen(options):
        hopeless |= _one(study, folder, workers, options.pilot)
    return int(hopeless)


def _one(study: Study, folder: Path, workers: int, pilot: int | None) -> bool:
    """Prints the plan of one study; returns whether no contrast could ever pass."""
    plan = plan_of(study, folder)
    print(f"{study.name}: {study.question}")
    print(
        f"  {len(study.tasks)} tasks x {len(study.instances)} instances x "
        f"{len(study.seeds)} seeds x {len(study.arms)} arms"
    )
    for line in lines(study, plan):
        print(f"  {line}")
    total, known = estimated_seconds(study, plan)
    basis = "from cells that were timed" if known else "a guess, nothing was timed"
    print(f"  about {total / workers:.0f} s with {workers} workers ({basis})")
    if not study.contrasts:
        return False
    # SciPy takes a moment to load, which only a plan with contrasts is worth.
    from experiments.statistics.holm import can_pass, least_tasks
    from experiments.statistics.permutation import smallest_p

    n_tasks, n_contrasts = len(study.tasks), len(study.contrasts)
    passes = can_pass(n_tasks, n_contrasts, study.alpha)
    print(
        f"  {n_contrasts} contrasts in one family at {study.alpha:g}; the smallest p that "
        f"{n_tasks} tasks can give is {smallest_p(n_tasks):.2g}"
    )
    if not passes:
        print(
            f"  no contrast can come out BETTER or WORSE: {least_tasks(n_contrasts)} "
            "tasks are needed, or fewer contrasts"
        )
    if study.secondary and smallest_p(n_tasks) > study.alpha / len(study.secondary):
        passes = False
        print(
            "  no contrast of a measure can come out BETTER or WORSE: "
            f"{n_tasks} tasks give no p below {smallest_p(n_tasks):.2g}, too much for "
            f"{len(study.secondary)}"
        )
    for control in study.controls:
        n = len(control.tasks) or n_tasks
        tested = control.expected in ("worse", "better")
        if tested and smallest_p(n) > study.alpha:
            passes = False
            print(
                f"  the control {control.arm} - {control.base} cannot come out "
                f"{control.expected}: {n} tasks give no p below {smallest_p(n):.2g}"
            )
    if pilot is None:
        for contrast in study.contrasts:
            print(f"  contrast: {contrast.title} ({contrast.arm} - {contrast.base})")
    else:
        _piloted(study, pilot)
    return not passes


def _piloted(study: Study, n_seeds: int) -> None:
    """Prints what a pilot says of each contrast."""
    from experiments.leverage import DEAD, leverages
    from experiments.statistics.size import Size, deciding, promised, spread

    found = leverages(study, study.contrasts)
    values = _pilot_values(study, n_seeds)
    size = Size(len(study.tasks), len(study.seeds) * len(study.instances))
    keys = ["task", "instance", "seed"]
    for contrast in study.contrasts:
        print(f"  {contrast.title} ({contrast.arm} - {contrast.base})")
        leverage = found[contrast.arm, contrast.base]
        if not math.isnan(leverage.distance):
            print(
                f"    the two laws differ by {leverage.distance:.2%} of probability at "
                f"most (on {leverage.task}, T {leverage.temperatures[0]:.3g} against "
                f"{leverage.temperatures[1]:.3g})"
            )
        if leverage.distance < DEAD:
            print("    this dial is dead: no number of runs decides it")
            continue
        if values.empty or len(study.tasks) < 2 or n_seeds < 2:
            print("    a spread needs two tasks and two pilot seeds that finished")
            continue
        both = values.pivot_table(
            index=keys, columns="arm", values="value"
        ).reset_index()
        if not {contrast.arm, contrast.base} <= set(both.columns):
            print("    no pilot run of one of the two arms finished")
            continue
        both["difference"] = both[contrast.arm] - both[contrast.base]
        scatter = spread(both)
        power = promised(
            size,
            scatter,
            study.margin,
            n_contrasts=len(study.contrasts),
            alpha=study.alpha,
        )
        print(
            f"    sd of paired differences {scatter.within:.3g} within tasks, "
            f"{scatter.between:.3g} between; a difference of {study.margin:g} is called "
            f"with probability {power.difference:.2f}, none at all is called EQUIVALENT "
            f"with {power.equivalence:.2f}"
        )
        needed = deciding(
            size,
            scatter,
            study.margin,
            n_contrasts=len(study.contrasts),
            alpha=study.alpha,
        )
        for one in needed:
            print(
                f"    90 % power would need {one.n_tasks} tasks x {one.n_seeds} seeds"
            )


def _pilot_values(study: Study, n_seeds: int) -> pd.DataFrame:
    """Returns the primary metric of pilot runs, under a salt of their own."""
    import pandas as pd

    names = {name for c in study.contrasts for name in (c.arm, c.base)}
    pilot = dataclasses.replace(
        study,
        salt=f"{study.salt} pilot",
        seeds=tuple(range(1, n_seeds + 1)),
        arms=tuple(arm for arm in study.arms if arm.name in names),
    )
    rows = []
    for cell in cells_of(pilot):
        row = computed(pilot, cell)
        if row["status"] == "ok":
            rows.append(
                {
                    "arm": pilot.arms[cell.arm].name,
                    "task": pilot.tasks[cell.task].label,
                    "instance": cell.instance,
                    "seed": cell.seed,
                    "value": row[study.metric],
                }
            )
    return pd.DataFrame(rows)


def estimated_seconds(study: Study, plan: Plan) -> tuple[float, bool]:
    """Returns the seconds of all missing cells in one process.

    Args:
        study: The study.
        plan: What is missing, and how long cells took.

    Returns:
        The seconds, and whether every task had a timed cell to go by.
    """
    of_task: dict[int, list[float]] = defaultdict(list)
    for cell in plan.cells:
        if cell.plain_id in plan.seconds:
            of_task[cell.task].append(plan.seconds[cell.plain_id])
    total, known = 0.0, True
    for cell in plan.missing:
        seconds = of_task.get(cell.task)
        if seconds:
            total += sum(seconds) / len(seconds)
        else:
            total += GUESS * study.tasks[cell.task].budget
            known = False
    return total, known
