"""What the harness costs: 20,000 tiny cells through the serial and the process engine.

Run with ``make benchmarks``. The overhead of a cell is the wall time of the study beyond
what the cells themselves took, divided by the number of cells and, for processes, of
workers. Read the ratios: the milliseconds belong to the machine and its other tenants.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.cells import Row
from experiments.engines.processes import Processes
from experiments.engines.serial import Serial
from experiments.runner import Engine, execute, plan_of
from experiments.runs import read_shards
from experiments.study import Study, load

TINY = """# Cells of five evaluations.
name: tiny
question: What does the harness cost?
tasks:
  onemax_10: {task: pbo, function: OneMax, dimension: 10}
arms: [ranked_fixed, ranked_cold, ranked_original, loongflow_original, loongflow_inverted]
seeds: %d
budget: 5
initial: 4
salt: tiny
"""
SEEDS = 4_000


class Quiet:
    """Is told how far the study is, and says nothing."""

    def advance(self, rows: Sequence[Row]) -> None:
        """See ``runner.Progress``."""


def tiny(folder: Path) -> Study:
    """Returns the study of tiny cells."""
    path = folder / "configs" / "study" / "tiny.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TINY % SEEDS, encoding="utf-8")
    return load(["study=tiny"], folder / "configs")


def measured(study: Study, folder: Path, engine: Engine, workers: int) -> None:
    """Prints the overhead of one engine."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    outcome = execute(study, folder, engine, plan_of(study, folder), Quiet())
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = read_shards(folder, light=True).rows.values()
    own = sum(row["seconds"] for row in rows)
    overhead = (wall - own / workers) / outcome.computed * 1e3
    print(
        f"{type(engine).__name__:<10} {outcome.computed} cells in {wall:.1f} s; a cell "
        f"{own / len(rows) * 1e3:.2f} ms, overhead {overhead:.2f} ms; peak memory "
        f"{before / 1024:.0f} -> {after / 1024:.0f} MB"
    )


def main() -> None:
    """Prints what the harness costs."""
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = tiny(folder)
        measured(study, folder / "serial", Serial(study), 1)
        measured(study, folder / "processes", Processes(study, workers), workers)
        start = time.perf_counter()
        plan = plan_of(tiny(folder), folder / "processes")
        print(f"plan of {len(plan.cells)} cells: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
