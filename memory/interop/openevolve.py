"""OpenEvolve's checkpoints, as solutions of ours.

Reads ``checkpoint_<n>/programs/*.json`` and nothing else: a checkpoint's own lists of
islands and of the best may name programs that are not there, or of another run. Nothing in
a checkpoint is executed. OpenEvolve keeps the score of a program under ``combined_score``
in its metrics; a program without a finite one has failed here, whatever its other metrics.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory.checkpoints import CheckpointUnreadable
from memory.evolution import EvolutionaryMemory
from memory.records import Provenance, Scalar, Solution, Status

_WANTED: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "code": str,
    "metrics": dict,
    "timestamp": (int, float),
    "iteration_found": int,
}


def read_checkpoint(
    folder: str | os.PathLike[str], *, score: str = "combined_score", scope: str = ""
) -> list[Solution]:
    """Returns the programs of a checkpoint as solutions, parents before children.

    They come in the order of their time and iteration. A parent that is not in the
    checkpoint, or comes later, is named in the metadata under ``openevolve_parent``. All
    metrics go into the metadata, as ``metric.<name>``.

    Args:
        folder: The checkpoint, the folder that has ``programs`` in it.
        score: Name of the metric that is the score, higher is better.
        scope: Scope of the solutions.

    Raises:
        CheckpointUnreadable: There is no such folder, or a file in it is no program; the
            message names it.
    """
    programs = Path(folder) / "programs"
    if not programs.is_dir():
        raise CheckpointUnreadable(
            f"folder must be a checkpoint with a folder programs in it, got {folder}"
        )
    found = [_program(path) for path in sorted(programs.glob("*.json"))]
    found.sort(key=lambda program: (program["timestamp"], program["iteration_found"]))
    known: dict[str, Solution] = {}
    for program in found:
        known.setdefault(program["id"], _solution(program, known, score, scope))
    return list(known.values())


def load_checkpoint(
    folder: str | os.PathLike[str],
    memory: EvolutionaryMemory,
    *,
    score: str = "combined_score",
) -> list[Solution]:
    """Remembers the programs of a checkpoint, in their order; twice is harmless.

    Args:
        folder: The checkpoint.
        memory: Where they are remembered.
        score: Name of the metric that is the score, higher is better.

    Raises:
        CheckpointUnreadable: As ``read_checkpoint``; then nothing is remembered.
        ValueError: An id is taken by another solution.
    """
    solutions = read_checkpoint(folder, score=score, scope=memory.scope)
    return [memory.record(solution) for solution in solutions]


def _program(path: Path) -> dict[str, Any]:
    try:
        program = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointUnreadable(f"{path} is no JSON file: {error}") from error
    if not isinstance(program, dict):
        raise CheckpointUnreadable(f"{path} must hold an object, got {program!r:.80}")
    for key, kind in _WANTED.items():
        if not isinstance(program.get(key), kind):
            raise CheckpointUnreadable(
                f"{path} must have a {key} of its type, got {program.get(key)!r:.80}"
            )
    return program


def _solution(
    program: Mapping[str, Any], known: Mapping[str, Solution], score: str, scope: str
) -> Solution:
    metrics = program["metrics"]
    value = metrics.get(score)
    valid = type(value) in (int, float) and math.isfinite(value)
    metadata: dict[str, Scalar] = {
        f"metric.{name}": _scalar(number) for name, number in metrics.items()
    }
    name = program.get("parent_id")
    parent = known.get(name) if isinstance(name, str) else None
    if name and parent is None:
        metadata["openevolve_parent"] = str(name)
    if not valid:
        metadata["failure"] = str(metrics.get("error", f"no finite {score}"))
    return Solution(
        id=program["id"],
        text=program["code"],
        score=float(value) if valid else None,
        status=Status.VALID if valid else Status.FAILED,
        scope=scope,
        parent_ids=() if parent is None else (parent.id,),
        generation=0 if parent is None else parent.generation + 1,
        time=float(program["timestamp"]),
        provenance=Provenance("openevolve"),
        metadata=metadata,
    )


def _scalar(value: object) -> Scalar:
    """Returns what metadata may hold: infinities and nested values as their text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, str | int | bool):
        return value
    return repr(value)
