"""Writes the tables of a study as CSV: one row a run, and one row a point.

boltzmem export results/default --out tables
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa

from experiments import runs
from experiments.composition import ConfigurationError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    parser.add_argument(
        "folder", type=Path, metavar="RESULTS", help="folder of a study's results"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write runs.csv and points.csv (default: the folder itself)",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    table, trajectories = tables_in(options.folder)
    out = options.out or options.folder
    out.mkdir(parents=True, exist_ok=True)
    lists = [name for name in trajectories.columns if name != "cell"]
    keys = table[["cell", "task", "arm", "instance", "seed"]]
    points = keys.merge(trajectories.explode(lists), on="cell")
    for name, frame in (("runs", table), ("points", points)):
        path = out / f"{name}.csv"
        beside = path.with_name(f".{path.name}.new")
        frame.to_csv(beside, index=False)
        beside.replace(path)
        print(path)
    return 0


def tables_in(folder: Path) -> runs.DataFrames:
    """Returns the tables of runs and trajectories in ``folder``.

    Raises:
        ConfigurationError: There are none; the message says how to get them.
    """
    try:
        return runs.read_tables(folder)
    except pa.ArrowInvalid as error:
        raise ConfigurationError(
            f"a table in {folder} is damaged ({error}): delete it, and boltzmem run "
            "writes it anew from the shards"
        ) from error
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{folder} holds no tables of a study: boltzmem run writes them once all "
            "cells are computed"
        ) from error
