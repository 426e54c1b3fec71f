"""Options that several verbs share, and how their studies are found."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from experiments.study import ConfigurationError, Study, load


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


def quoted(text: object) -> str:
    """Returns ``text`` as a JSON string, for messages."""
    return json.dumps(str(text), ensure_ascii=False)


__all__ = ["ConfigurationError", "chosen", "folder_name", "quoted", "study_arguments"]
