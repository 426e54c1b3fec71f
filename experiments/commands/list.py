"""Lists what there is: studies, arms, tasks, proposers and policies, one line each.

boltzmem list study arm
boltzmem list task --config-dir my_configs
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.composition import Composer, ConfigurationError

GROUPS = (
    "study",
    "arm",
    "profile",
    "task",
    "proposer",
    "selection",
    "temperature",
    "mapping",
    "diversity",
    "scaling",
    "survival",
    "ranking",
    "weights",
    "descriptors",
    "bounds",
    "assignment",
    "topology",
    "retention",
    "weighting",
    "recall",
    "compressor",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    parser.add_argument(
        "groups",
        nargs="*",
        metavar="GROUP",
        help=f"what to list: {', '.join(GROUPS)} (default: all)",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="folder of your own configurations",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0."""
    for group in options.groups:
        if group not in GROUPS:
            raise ConfigurationError(
                f"there is no group {group!r}; there are {', '.join(GROUPS)}"
            )
    composer = Composer(options.config_dir)
    found = [
        (f"{group}={name}", composer.comment(group, name))
        for group in options.groups or GROUPS
        for name in composer.names(group)
    ]
    width = max((len(name) for name, _ in found), default=0)
    for name, comment in found:
        print(f"{name:<{width}}  {comment}")
    return 0
