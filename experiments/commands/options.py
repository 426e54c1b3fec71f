"""Options that several verbs share, and how their studies are found."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from pathlib import Path

import memory
from experiments.composition import ConfigurationError
from experiments.study import Study, cheap, load, load_sweep


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
        "-m",
        "--multirun",
        action="store_true",
        help="expand sweeps: over the memory (temperature=fixed,adaptive) into arms of "
        "one study, over the study (study=smoke,default) into several studies",
    )
    parser.add_argument(
        "--cheap",
        action="store_true",
        help="the study at its cheap setting: small tasks, 3 seeds, 100 evaluations",
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


def all_chosen(options: argparse.Namespace) -> list[tuple[Study, Path]]:
    """Returns the studies that the options choose, each with its folder.

    Raises:
        ConfigurationError: One is refused, or two would share a folder.
    """
    if not options.multirun:
        study = load(options.overrides, options.config_dir)
        studies = [(study, list(options.overrides))]
    else:
        studies = load_sweep(options.overrides, options.config_dir)
    if options.cheap:
        studies = [(cheap(study), changes) for study, changes in studies]
    folders = [
        (study, options.results / folder_name(study, changes))
        for study, changes in studies
    ]
    if len({folder for _, folder in folders}) < len(folders):
        raise ConfigurationError("two studies of the sweep would share a folder")
    return folders


def chosen(options: argparse.Namespace) -> tuple[Study, Path]:
    """Returns the one study that the options choose, and its folder.

    Raises:
        ConfigurationError: It is refused, or there are several.
    """
    found = all_chosen(options)
    if len(found) != 1:
        raise ConfigurationError(
            f"this verb takes one study, the sweep makes {len(found)}"
        )
    return found[0]


def reproducing(options: argparse.Namespace) -> str:
    """Returns the command that makes the results of these options again."""
    words = ["boltzmem", "run"]
    if options.multirun:
        words.append("--multirun")
    if options.cheap:
        words.append("--cheap")
    if options.config_dir is not None:
        words += ["--config-dir", str(options.config_dir)]
    return shlex.join([*words, *options.overrides])


def folder_name(study: Study, overrides: list[str]) -> str:
    """Returns the folder of a study: its name and what the command line changed in it."""
    changes = [text for text in overrides if not text.startswith("study=")]
    if not changes:
        return study.name
    slug = re.sub(r"[^a-z0-9_.=,-]+", "-", "+".join(changes), flags=re.IGNORECASE)
    name = f"{study.name}+{slug}"
    # A name too long for a file system keeps its identity by a hash of the whole.
    return name if len(name) <= 120 else f"{name[:100]}-{memory.fingerprint(name)[:12]}"


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
