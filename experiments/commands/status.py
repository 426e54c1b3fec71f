"""Says how far a study is: what is done, failed, stale or missing, and who runs it.

boltzmem status study=grid
"""

from __future__ import annotations

import argparse
from collections import Counter

from experiments.commands.options import all_chosen, study_arguments
from experiments.runner import Plan, changes, holder, plan_of
from experiments.study import Study


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    study_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    for study, folder in all_chosen(options):
        plan = plan_of(study, folder)
        print(f"{study.name} in {folder}")
        for line in lines(study, plan):
            print(f"  {line}")
        for line in changes(study, folder):
            print(f"  changed since the last run: {line}")
        if (who := holder(folder)) is not None:
            print(f"  running now: {who}")
    return 0


def lines(study: Study, plan: Plan) -> list[str]:
    """Returns the lines about the cells of ``plan``."""
    found = [
        f"{len(plan.cells)} cells: {len(plan.done)} done, {len(plan.failed)} failed, "
        f"{len(plan.missing)} missing"
    ]
    if plan.stale:
        found.append(
            f"{len(plan.stale)} of the missing are stale: computed under other code; "
            "they will be computed again, their rows stay"
        )
    if plan.damaged:
        found.append(f"{plan.damaged} damaged lines in the shards are ignored")
    reasons = Counter(
        (plan.rows[cell.id]["status"], reason(plan.rows[cell.id]["failure"]))
        for cell in plan.failed
    )
    for (status, text), n in reasons.most_common(5):
        found.append(f"{n} {status}: {text}")
    if plan.failed:
        found.append("boltzmem run --retry-failed computes the failed ones again")
    by_task = Counter(study.tasks[cell.task].label for cell in plan.missing)
    if by_task and plan.done:
        found.append(
            "missing by task: " + ", ".join(f"{t} {n}" for t, n in by_task.items())
        )
    return found


def reason(failure: str) -> str:
    """Returns the last line of a traceback, or what else a row says."""
    return (failure.strip().splitlines() or ["no reason given"])[-1]
