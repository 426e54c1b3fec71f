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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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


def read_programs(
    folder: str | os.PathLike[str], *, score: str = "combined_score", scope: str = ""
) -> list[Solution]:
    """Returns the programs of a checkpoint as solutions, parents before children.

    They come in the order of their time and iteration, with OpenEvolve's generation and
    the island it names. A parent that is not in the checkpoint, or comes later, is named
    in the metadata under ``openevolve_parent``. All metrics go into the metadata, as
    ``metric.<name>``.

    Args:
        folder: The checkpoint, the folder that has ``programs`` in it.
        score: Name of the metric that is the score, higher is better.
        scope: Scope of the solutions.

    Raises:
        CheckpointUnreadable: There is no such folder, or a file in it is no program; the
            message names it.
        ValueError: No program has a metric called ``score``; the message names those
            that there are.
    """
    return _in_order(_programs(folder, score), {}, score, scope)


def load_programs(
    folder: str | os.PathLike[str],
    memory: EvolutionaryMemory,
    *,
    score: str = "combined_score",
) -> list[Solution]:
    """Remembers the programs of a checkpoint, in their order, and returns the new ones.

    What is known already is left as it is, so that loading twice is harmless, and a later
    checkpoint of the same run adds what is new in it. A program goes to the island that it
    names where the memory has that many, and otherwise where the rule of assignment says.

    Args:
        folder: The checkpoint.
        memory: Where they are remembered.
        score: Name of the metric that is the score, higher is better.

    Raises:
        CheckpointUnreadable: As ``read_programs``; then nothing is remembered.
        ValueError: As ``read_programs``, or an id is taken by another program.
    """
    programs = _programs(folder, score)
    known = {}
    for program in programs:
        with suppress(KeyError):
            known[program["id"]] = memory.get(program["id"])
        parent = program.get("parent_id")
        if isinstance(parent, str) and parent not in known:
            with suppress(KeyError):
                known[parent] = memory.get(parent)
    for program in programs:
        same = known.get(program["id"])
        if same is not None and same.text != program["code"]:
            raise ValueError(
                f"id must be new or name the same program, got {program['id']!r}, which "
                "another text has"
            )
    new = [program for program in programs if program["id"] not in known]
    solutions = _in_order(new, known, score, memory.scope)
    n = memory.settings.islands
    return [
        memory.record(
            solution
            if n > 1 and solution.island is not None and solution.island < n
            else replace(solution, island=None)
        )
        for solution in solutions
    ]


def _programs(folder: str | os.PathLike[str], score: str) -> list[dict[str, Any]]:
    """Returns the programs in their order, each once."""
    programs = Path(folder) / "programs"
    if not programs.is_dir():
        raise CheckpointUnreadable(
            f"folder must be a checkpoint with a folder programs in it, got {folder}"
        )
    found = [_program(path) for path in sorted(programs.glob("*.json"))]
    found.sort(key=lambda program: (program["timestamp"], program["iteration_found"]))
    metrics = dict.fromkeys(name for program in found for name in program["metrics"])
    if found and score not in metrics:
        raise ValueError(
            f"score must name a metric of the programs, {', '.join(metrics)}, got "
            f"{score!r}"
        )
    once: dict[str, dict[str, Any]] = {}
    for program in found:
        once.setdefault(program["id"], program)
    return list(once.values())


def _in_order(
    programs: Sequence[Mapping[str, Any]],
    known: Mapping[str, Solution],
    score: str,
    scope: str,
) -> list[Solution]:
    solutions: dict[str, Solution] = {}
    for program in programs:
        parent = program.get("parent_id")
        there = isinstance(parent, str) and (parent in known or parent in solutions)
        solutions[program["id"]] = _solution(program, there, score, scope)
    return list(solutions.values())


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
    program: Mapping[str, Any], parent_is_known: bool, score: str, scope: str
) -> Solution:
    metrics = program["metrics"]
    value = metrics.get(score)
    valid = type(value) in (int, float) and math.isfinite(value)
    metadata: dict[str, Scalar] = {
        f"metric.{name}": _scalar(number) for name, number in metrics.items()
    }
    parent = program.get("parent_id")
    if parent and not parent_is_known:
        metadata["openevolve_parent"] = str(parent)
    if not valid:
        metadata["failure"] = str(metrics.get("error", f"no finite {score}"))
    own = program.get("metadata")
    return Solution(
        id=program["id"],
        text=program["code"],
        score=float(value) if valid else None,
        status=Status.VALID if valid else Status.FAILED,
        scope=scope,
        parent_ids=(parent,) if parent and parent_is_known else (),
        generation=_whole(program.get("generation")) or 0,
        island=_whole(own.get("island")) if isinstance(own, dict) else None,
        time=float(program["timestamp"]),
        provenance=Provenance("openevolve"),
        metadata={**metadata, "iteration": program["iteration_found"]},
    )


def _whole(value: object) -> int | None:
    """Returns a number that counts something, ``None`` for anything else."""
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if counts and isinstance(value, int) else None


def _scalar(value: object) -> Scalar:
    """Returns what metadata may hold: infinities and nested values as their text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, str | int | bool):
        return value
    return repr(value)
