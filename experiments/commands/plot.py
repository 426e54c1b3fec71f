"""Draws arms against evaluations from a study's tables, without a page.

boltzmem plot results/default --y T --arms ranked_fixed ranked_inverted
boltzmem plot results/default --tasks trap_60 nk_64 --out regret.pdf
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import memory
from experiments.commands.export import tables_in
from experiments.composition import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

QUANTITIES = {
    "best": "best",
    "regret": "log_regret",
    "D": "diversity",
    "T": "temperature",
    "effective_parents": "effective_parents",
}
SUFFIXES = (".svg", ".pdf", ".png")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    parser.add_argument(
        "folder", type=Path, metavar="RESULTS", help="folder of a study's results"
    )
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="default: all")
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="default: all")
    parser.add_argument(
        "--y",
        choices=sorted(QUANTITIES),
        default="regret",
        help="what to draw (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="a file ending in .svg, .pdf or .png (default: RESULTS/figures/Y.svg)",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    out = options.out or options.folder / "figures" / f"{options.y}.svg"
    if out.suffix not in SUFFIXES:
        raise ConfigurationError(
            f"--out must end in one of {', '.join(SUFFIXES)}, got {str(out)!r}"
        )
    from experiments import table
    from experiments.figures import quantity, style
    from experiments.statistics.aggregate import curves

    try:
        tables = table.tidy(*tables_in(options.folder))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the tables in {options.folder} do not belong together: {error}"
        ) from error
    arms = _chosen("--arms", options.arms, tables.runs["arm"])
    tasks = _chosen("--tasks", options.tasks, tables.runs["task"])
    rows = tables.trajectories
    rows = rows[rows["arm"].isin(arms) & rows["task"].isin(tasks)]
    points = table.points(rows, QUANTITIES[options.y]).dropna(subset=["value"])
    if points.empty:
        raise ConfigurationError(f"{options.y} was never measured for these arms")
    n = int(tables.runs.groupby(["task", "arm"]).size().max())
    drawn = quantity.figure(
        curves(points, memory.KeyedRandom("plot").generator("noise", 0)),
        tasks,
        style.looks(arms),
        options.y,
        f"Mean of {n} runs per arm and task; bands are 95 % bootstrap intervals of the "
        "mean over runs.",
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    style.save(drawn, out)
    print(out)
    return 0


def _chosen(
    option: str, wanted: list[str] | None, column: pd.Series[str]
) -> tuple[str, ...]:
    """Returns the wanted names, all of them in their order of appearance by default."""
    known = tuple(dict.fromkeys(column))
    for name in wanted or ():
        if name not in known:
            raise ConfigurationError(
                f"{option} must be among {', '.join(known)}, got {name!r}"
            )
    return tuple(wanted) if wanted else known
