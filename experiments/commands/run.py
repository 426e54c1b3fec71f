"""Runs what is missing of a study, then writes its tables and its page.

The same command again computes only what is missing, so a run that was stopped or killed
goes on where it was. Exit status: 0, 1 if cells failed or are missing, 2 for a
configuration that is refused.

  boltzmem run study=smoke
  boltzmem run study=default study.seeds=40 --workers 8
  boltzmem run study=smoke temperature=adaptive mapping=original temperature.blend=0.5
  boltzmem run --multirun study=smoke temperature=fixed,adaptive mapping=original,inverted
  boltzmem run --config-dir my_configs study=mine --timeout 60
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from pathlib import Path

from experiments.cells import code_version
from experiments.commands import report
from experiments.commands.options import (
    all_chosen,
    at_least_one,
    at_least_zero,
    reproducing,
    seconds,
    study_arguments,
)
from experiments.commands.status import reason
from experiments.engines.processes import Processes
from experiments.engines.serial import Serial
from experiments.progress import Reporter
from experiments.registration import deviations, register
from experiments.runner import (
    Engine,
    Outcome,
    Plan,
    changes,
    execute,
    locked,
    manifest,
    plan_of,
    write_manifest,
)
from experiments.study import Study, shown


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    study_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="print the outcome only")
    parser.add_argument(
        "--cfg",
        choices=("job",),
        help="print the composed configuration and run nothing",
    )
    parser.add_argument(
        "--no-report", action="store_true", help="write the tables, but no page"
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="compute failed cells again"
    )
    parser.add_argument(
        "--max-failures",
        type=at_least_zero,
        metavar="N",
        help="stop when more than N cells have failed",
    )
    parser.add_argument(
        "--fail-fast", action="store_true", help="stop at the first cell that fails"
    )
    parser.add_argument(
        "--shuffle",
        action="store_true",
        help="compute in a mixed order, so that the time left is told well early on; "
        "the tables are the same",
    )
    parser.add_argument(
        "--engine",
        choices=("processes", "serial"),
        default="processes",
        help="who computes (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=at_least_one,
        metavar="N",
        help="number of processes (default: one for each core)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=600.0,
        metavar="SECONDS",
        help="longest time of one cell, with processes (default: %(default)g)",
    )
    parser.add_argument(
        "--memory",
        type=at_least_one,
        metavar="MIB",
        help="what each process may take, in MiB (default: a share of what is free)",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0, or 1 if a cell failed or is missing."""
    if options.cfg:
        print(shown(options.overrides, options.config_dir), end="")
        return 0
    reporter = Reporter(quiet=options.quiet)
    studies = all_chosen(options)
    return max(_run(study, folder, options, reporter) for study, folder in studies)


def _run(
    study: Study, folder: Path, options: argparse.Namespace, reporter: Reporter
) -> int:
    command = shlex.join(["boltzmem", *sys.argv[1:]])
    with locked(folder, command):
        plan = plan_of(study, folder, retry_failed=options.retry_failed)
        reporter.say(_beginning(study, plan))
        for line in changes(study, folder):
            reporter.say(f"changed since the last run: {line}")
        register(folder, study, len(plan.done) + len(plan.failed))
        for line in deviations(folder, study):
            reporter.say(f"deviates from the registered plan: {line}")
        write_manifest(folder, manifest(study, command))
        with reporter.bar(len(plan.missing), study.name) as progress:
            outcome = execute(
                study,
                folder,
                _engine(study, options),
                plan,
                progress,
                shuffle=options.shuffle,
                max_failures=0 if options.fail_fast else options.max_failures,
            )
    reporter.say(_ending(outcome))
    _explain(outcome, reporter)
    if outcome.unfinished:
        reporter.warn(
            f"{outcome.unfinished} cells are missing: the same command goes on with them"
        )
        return 1
    if not options.no_report:
        page = report.written(study, folder, reproducing(options))
        reporter.result(f"report: {page}")
    return 1 if outcome.failed else 0


def _explain(outcome: Outcome, reporter: Reporter) -> None:
    """Says why cells failed, each kind of reason once."""
    kinds = Counter((row["status"], reason(row["failure"])) for row in outcome.failed)
    for (status, text), n in kinds.most_common(10):
        reporter.warn(f"{n} {status}: {text}")
    if outcome.failed:
        reporter.warn(
            "their tracebacks are in the shards below raw/; --retry-failed computes "
            "them again"
        )
    if outcome.printed:
        cells, size = outcome.printed
        reporter.warn(
            f"{cells} cells printed {size:,} bytes; the beginning of each is in the "
            "shards"
        )


def _engine(study: Study, options: argparse.Namespace) -> Engine:
    if options.engine == "serial":
        return Serial(study)
    workers = options.workers or len(os.sched_getaffinity(0))
    memory_bytes = None if options.memory is None else options.memory * 2**20
    return Processes(study, workers, options.timeout, memory_bytes)


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
