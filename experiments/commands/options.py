"""Options that several verbs share, and how their studies are found."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

from experiments.study import Study, load


def study_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what chooses a study: overrides, a folder of configurations, and results."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="OVERRIDE",
        help="Hydra overrides, such as study=smoke study.seeds=5; one that changes the "
        "memory (temperature=adaptive mapping=original) makes a study of that one arm",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="folder of your own arms, tasks and studies, laid out like conf/",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where studies keep their results (default: %(default)s)",
    )


def chosen(options: argparse.Namespace) -> tuple[Study, Path]:
    """Returns the study that the options choose, and its folder.

    Raises:
        ConfigurationError: It is refused, or its folder would leave the results.
    """
    study = load(options.overrides, options.config_dir)
    return study, options.results / folder_name(study, options.overrides)


def folder_name(study: Study, overrides: list[str]) -> str:
    """Returns the folder of a study: its name and what the command line changed in it."""
    changes = [text for text in overrides if not text.startswith("study=")]
    if not changes:
        return study.name
    slug = re.sub(r"[^a-z0-9_.=,-]+", "-", "+".join(changes), flags=re.IGNORECASE)
    return f"{study.name}+{slug}"[:120]


def at_least_one(text: str) -> int:
    """Returns the integer of an option that must be positive."""
    return _integer(text, 1)


def at_least_zero(text: str) -> int:
    """Returns the integer of an option that must not be negative."""
    return _integer(text, 0)


def _integer(text: str, minimum: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be an integer, got {text!r}") from None
    if value < minimum:
        raise argparse.ArgumentTypeError(f"must be at least {minimum}, got {text}")
    return value


def seconds(text: str) -> float:
    """Returns the positive seconds of an option."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive seconds, got {text!r}")
    return value
