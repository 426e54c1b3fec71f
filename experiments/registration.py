"""The registered plan of a study: written before its first cell, frozen by its hash.

The plan is everything a study is, question, tasks, arms, seeds, contrasts, margin. It is
written once, into ``plan.json`` of the study's folder, and never again: what a study has
become since is a deviation, and the page prints every one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import memory
from experiments.study import Study

_NAME = "plan.json"


class Registered(NamedTuple):
    """A plan on the disk: its hash, and the study it describes as plain data."""

    hash: str
    plan: Any
    known_cells: int = 0


class PlanTampered(ValueError):
    """A plan that is not what its hash says."""


def register(folder: Path, study: Study, known_cells: int = 0) -> Registered:
    """Registers ``study`` in ``folder`` unless a plan is there, and returns the plan.

    Args:
        folder: Folder of the study.
        study: The study.
        known_cells: How many of its cells were computed before, which the page says.

    Raises:
        PlanTampered: The plan there does not have the hash it claims.
    """
    known = registered(folder)
    if known is not None:
        return known
    plan = study.description
    found = Registered(memory.fingerprint(plan), plan, known_cells)
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{_NAME}.new"
    text = json.dumps(found._asdict(), indent=1, sort_keys=True, ensure_ascii=False)
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(folder / _NAME)
    return found


def registered(folder: Path) -> Registered | None:
    """Returns the plan registered in ``folder``, ``None`` if there is none.

    Raises:
        PlanTampered: It does not have the hash it claims, or is no plan.
    """
    path = folder / _NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = Registered(content["hash"], content["plan"], content["known_cells"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise PlanTampered(f"{path} is no registered plan: {error}") from error
    if memory.fingerprint(found.plan) != found.hash:
        raise PlanTampered(
            f"{path} was edited: its plan has the hash "
            f"{memory.fingerprint(found.plan)}, not the registered {found.hash}"
        )
    return found


def deviations(folder: Path, study: Study) -> tuple[str, ...]:
    """Returns what ``study`` has become since it was registered, one line per key."""
    known = registered(folder)
    if known is None:
        return ("the study was never registered",)
    late = []
    if known.known_cells:
        late.append(f"registered after {known.known_cells} of its cells were known")
    return (*late, *_lines(study.description, known.plan))


def _lines(now: object, planned: object) -> Iterator[str]:
    for line in memory.differences(now, planned):
        yield line.replace(" here, ", " now, ").replace(" there", " registered")
