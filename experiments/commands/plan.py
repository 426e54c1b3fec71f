"""Says what a study would compute and how long it would take, and computes nothing."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict

from experiments.commands.options import all_chosen, at_least_one, study_arguments
from experiments.commands.status import lines
from experiments.runner import Plan, plan_of
from experiments.study import Study

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


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    workers = options.workers or len(os.sched_getaffinity(0))
    for study, folder in all_chosen(options):
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
        for contrast in study.contrasts:
            print(f"  contrast: {contrast.title} ({contrast.arm} - {contrast.base})")
    return 0


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
