"""LoongFlow's solutions as records of ours, and back.

What our record has a field for goes there; the rest goes into its metadata as JSON text
under one name. JSON is what both of LoongFlow's own ways of keeping a solution beyond its
process come to, so a solution reads the same from every store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory.interop.loongflow_solution import Solution, plain
from memory.records import (
    NO_PROVENANCE,
    Draw,
    Provenance,
    Scalar,
    Status,
    count,
    real,
    utf8,
)
from memory.records import Solution as Record

#: Key of the metadata of a record that holds what our fields do not.
_KEY = "loongflow"
#: Names that the memory itself writes into the metadata of what it returns.
CELL, MIGRATED = "MAP_Elite_feature", "migrated"

_TEXTS = ("generate_plan", "evaluation", "summary")


class Place(NamedTuple):
    """Where a solution is put, and why.

    Attributes:
        island: The island.
        generation: Its generation.
        iteration: Its iteration.
        turn: Whether the rule of assignment took a turn.
    """

    island: int
    generation: int
    iteration: int
    turn: bool = False


class Entry(NamedTuple):
    """What is kept in mind of every record.

    Attributes:
        order: Its place among all records.
        island: The island it was put on; ``None`` if it was remembered by other means.
        iteration: Its iteration.
        turn: Whether the rule of assignment took a turn for it.
        generation: Its generation.
        time: Its time stamp.
        scored: Whether it has a score and was let in.
    """

    order: int
    island: int | None
    iteration: int
    turn: bool
    generation: int
    time: float
    scored: bool


def checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fields that may be changed later, as JSON gives them back.

    Raises:
        TypeError: A value has the wrong type, or JSON cannot hold it.
        ValueError: A name is none of them, or a number is out of range.
    """
    found: dict[str, Any] = {}
    for name, value in changes.items():
        if name in _TEXTS:
            none = value is None and name == "evaluation"
            found[name] = None if none else utf8(name, value)
        elif name == "sample_cnt":
            found[name] = count(name, value)
        elif name == "metadata":
            found[name] = as_json(name, value)
        elif name == "score":
            found[name] = real(name, value)
        else:
            raise ValueError(
                f"{name} cannot be changed: what may be is {', '.join(_TEXTS)}, "
                f"sample_cnt, metadata and score, got {value!r}"
            )
    return found


def as_json(name: str, value: object) -> dict[str, Any]:
    """Returns a dictionary as JSON gives it back, without what the memory itself writes.

    Raises:
        TypeError: It is no dictionary, or JSON cannot hold what is in it.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary, got {value!r}")
    kept = {key: item for key, item in value.items() if key not in (CELL, MIGRATED)}
    try:
        text = json.dumps(plain(kept), allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be what JSON can hold: {error}") from None
    found: dict[str, Any] = json.loads(text)
    return found


def record(
    solution: Solution,
    id: str,
    place: Place,
    *,
    scope: str,
    parent: str | None,
    draw: Draw | None = None,
    failed: bool = False,
    evicted: bool = False,
) -> Record:
    """Returns the record of a solution.

    Args:
        solution: The solution, which stays as it is.
        id: Its id.
        place: Where it is put.
        scope: Scope of the memory.
        parent: Id of its parent, where that is known.
        draw: The draw that chose its parent.
        failed: Whether it got no score.
        evicted: Whether it has a score and left a population long ago.

    Raises:
        TypeError: A field has the wrong type; the message names it.
        ValueError: A field is out of range.
    """
    timestamp = real("timestamp", solution.timestamp)
    weight = real("sample_weight", solution.sample_weight)
    if weight < 0.0:
        raise ValueError(f"sample_weight must not be negative, got {weight!r}")
    if not utf8("solution", solution.solution) and not evicted and not failed:
        raise ValueError("solution must not be empty, got ''")
    names = (*_TEXTS, "sample_cnt", "metadata")
    rest: dict[str, Any] = checked({name: getattr(solution, name) for name in names})
    if solution.parent_id is not None:
        utf8("parent_id", solution.parent_id)
    rest |= {
        "parent_id": solution.parent_id,
        "iteration": place.iteration,
        "sample_weight": weight,
    }
    if place.turn:
        rest["turn"] = True
    score = None if solution.score is None else real("score", solution.score)
    metadata: dict[str, Scalar] = {}
    if failed or evicted:
        rest |= {"score": score, "evicted": evicted}
        metadata["failure"] = "it had left its population" if evicted else "no score"
        score = None
    metadata[_KEY] = json.dumps(rest, ensure_ascii=False, allow_nan=False)
    return Record(
        id=id,
        text=solution.solution,
        score=score,
        status=Status.FAILED if score is None else Status.VALID,
        scope=scope,
        parent_ids=() if parent is None else (parent,),
        generation=place.generation,
        # Zero is what an agent leaves that sets no weight.
        weight=weight or 1.0,
        island=place.island,
        time=timestamp,
        provenance=NO_PROVENANCE if draw is None else Provenance(draw=draw),
        metadata=metadata,
    )


def entry(record: Record, order: int) -> Entry:
    """Returns what is kept in mind of a record."""
    rest = _rest(record)
    return Entry(
        order,
        record.island,
        int(rest.get("iteration", 0)),
        bool(rest.get("turn", False)),
        record.generation,
        record.time,
        record.score is not None,
    )


def solution(
    record: Record,
    notes: Mapping[str, Any],
    added: Mapping[str, int],
    island: int | None,
) -> Solution:
    """Returns a record as LoongFlow's agents read it, with what was noted since.

    Args:
        record: The record.
        notes: Fields that were set since.
        added: What was added to numbers since.
        island: The island it is shown on.
    """
    rest = {**_rest(record), **notes}
    parents = record.parent_ids
    failed = record.score is None
    found = Solution(
        solution=record.text,
        solution_id=record.id,
        generate_plan=rest.get("generate_plan", ""),
        parent_id=rest.get("parent_id", parents[0] if parents else ""),
        island_id=island,
        iteration=rest.get("iteration", 0),
        timestamp=record.time,
        generation=record.generation,
        sample_cnt=rest.get("sample_cnt", 0),
        sample_weight=rest.get("sample_weight", record.weight),
        score=rest.get("score") if failed else record.score,
        evaluation=rest.get("evaluation", ""),
        summary=rest.get("summary", ""),
        # A copy: what is noted is not to be changed by whoever reads it.
        metadata=json.loads(json.dumps(rest.get("metadata", {}))),
    )
    for name, amount in added.items():
        setattr(found, name, getattr(found, name) + amount)
    return found


def _rest(record: Record) -> dict[str, Any]:
    text = record.metadata.get(_KEY)
    if isinstance(text, str):
        rest: dict[str, Any] = json.loads(text)
        return rest
    # Remembered by other means, in a population that both share.
    return {"metadata": dict(record.metadata)}
