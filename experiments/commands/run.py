"""Runs what is missing of a study, then writes its tables and its page.

The same command again computes only what is missing, so a run that was stopped or killed
goes on where it was.
"""

from __future__ import annotations

import argparse
import sys

from experiments.cells import code_version
from experiments.commands import report
from experiments.commands.options import chosen, study_arguments
from experiments.engines.serial import Serial
from experiments.progress import Reporter
from experiments.runner import Outcome, Plan, execute, manifest, plan_of, write_manifest
from experiments.study import Study


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    study_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="print the outcome only")
    parser.add_argument(
        "--retry-failed", action="store_true", help="compute failed cells again"
    )
    parser.add_argument(
        "--max-failures",
        type=int,
        metavar="N",
        help="stop when more than N cells have failed",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0, or 1 if a cell failed or is missing."""
    study, folder = chosen(options)
    plan = plan_of(study, folder, retry_failed=options.retry_failed)
    reporter = Reporter(quiet=options.quiet)
    reporter.say(_beginning(study, plan))
    with reporter.bar(len(plan.missing), study.name) as progress:
        outcome = execute(
            study,
            folder,
            Serial(study),
            plan,
            progress,
            max_failures=options.max_failures,
        )
    write_manifest(folder, manifest(study, " ".join(["boltzmem", *sys.argv[1:]])))
    reporter.say(_ending(outcome))
    for row in outcome.failed[:3]:
        reporter.warn(f"a cell failed: {str(row['failure']).strip().splitlines()[-1]}")
    if outcome.unfinished:
        reporter.warn(
            f"{outcome.unfinished} cells are missing: the same command goes on with them"
        )
        return 1
    page = report.written(study, folder)
    reporter.result(f"report: {page}")
    return 1 if outcome.failed else 0


def _beginning(study: Study, plan: Plan) -> str:
    parts = [
        f"study {study.name}: {len(plan.cells)} cells ({len(study.tasks)} tasks x "
        f"{len(study.instances)} instances x {len(study.seeds)} seeds x "
        f"{len(study.arms)} arms)",
        f"{len(plan.done)} done",
        f"{len(plan.missing)} to compute",
    ]
    if plan.stale:
        parts.append(
            f"{len(plan.stale)} of them known from other code (now "
            f"{code_version()[:8]}) and not reused"
        )
    if plan.failed:
        parts.append(f"{len(plan.failed)} failed before")
    if plan.damaged:
        parts.append(f"{plan.damaged} damaged lines ignored")
    return ", ".join(parts)


def _ending(outcome: Outcome) -> str:
    return (
        f"{outcome.computed} cells computed in {outcome.seconds:.1f} s, "
        f"{outcome.reused} reused, {len(outcome.failed)} failed"
    )
