"""Adds the finished cells of other machines to a study's folder.

Copy the other folder here first (results/NAME with its raw/), then run the study: what the
other machines have computed is not computed again.

  boltzmem merge results/grid elsewhere/results/grid
  boltzmem run study=grid
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.composition import ConfigurationError
from experiments.runner import locked
from experiments.runs import merged, read_shards


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    parser.add_argument(
        "target",
        type=Path,
        metavar="A",
        help="folder of the study that takes the cells",
    )
    parser.add_argument(
        "sources",
        type=Path,
        nargs="+",
        metavar="B",
        help="folders that give them; they stay as they are",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    if not options.target.is_dir():
        raise ConfigurationError(
            f"{options.target} is no folder of a study: run the study first, or copy it"
        )
    for source in options.sources:
        if not read_shards(source, light=True).rows:
            raise ConfigurationError(f"{source} holds no finished cells (raw/shards)")
        if source.resolve() == options.target.resolve():
            raise ConfigurationError(f"{source} cannot be merged into itself")
    with locked(options.target, "boltzmem merge"):
        for source in options.sources:
            new, known = merged(options.target, source)
            print(f"{source}: {new} new cells, {known} known before")
    n = len(read_shards(options.target, light=True).rows)
    print(f"run the study to go on from there: {n} cells in {options.target}")
    return 0
