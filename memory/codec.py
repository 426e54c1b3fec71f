"""Events of the journal to bytes and back: versioned JSON, never pickle.

A row is a short array ``[kind, scope, ...]``, read by every worker; a body is an object
with the whole record, fetched when its text is wanted. A kind carries its version, and an
unknown one is refused with both named rather than skipped: skipping would make two
workers disagree about who is alive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from memory.policies import Features
from memory.records import (
    LARGEST_INDEX,
    Draw,
    Provenance,
    Solution,
    Status,
    checked_draw,
    count,
    real,
    utf8,
)

E = TypeVar("E")

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Configured(NamedTuple):
    """A population begins; ``fingerprint`` identifies its configuration."""

    scope: str
    fingerprint: str


class Compacted(NamedTuple):
    """All that was forgotten by entry ``upto`` has been discarded."""

    scope: str
    upto: int
    key: str


class Rescored(NamedTuple):
    """The score of a record was wrong, and is another one."""

    scope: str
    id: str
    key: str
    reason: str
    score: float


class Repeated(NamedTuple):
    """A record was evaluated once more; ``first`` is the score that it came with."""

    scope: str
    id: str
    key: str
    reason: str
    score: float
    first: float


class Retracted(NamedTuple):
    """A record is not to be used any more."""

    scope: str
    id: str
    key: str
    reason: str


class Superseded(NamedTuple):
    """A record is not to be used any more: another one, ``by``, takes its place."""

    scope: str
    id: str
    key: str
    reason: str
    by: str


class Remembered(NamedTuple):
    """A solution was scored.

    Attributes:
        scope: Its scope.
        id: Its id.
        score: Its score.
        weight: Its weight.
        draw: The draw of its parent.
        features: What the diversity metric keeps of it.
        size: Bytes of its body.
        island: Island it is put on, if one was named.
        origin: Island of its first parent, where the writer knew it.
        generation: Its generation, where migration counts them.
        text: Key of its normalised text, where duplicates matter.
        descriptors: One number per axis of the grid.
        time: When it was made, where retention asks.
    """

    scope: str
    id: str
    score: float
    weight: float
    draw: Draw | None
    features: Features
    size: int = 0
    island: int | None = None
    origin: int | None = None
    generation: int = 0
    text: str = ""
    descriptors: tuple[float, ...] = ()
    time: float = 0.0


class Failed(NamedTuple):
    """An attempt gave no score."""

    scope: str
    id: str
    draw: Draw | None
    size: int = 0
    time: float = 0.0


Shared = Configured | Compacted | Rescored | Repeated | Retracted | Superseded
Event = Shared | Remembered | Failed

#: What follows the kind in a row of fields; each is read by the reader of its kind.
Fields = list[Any]

#: Fields of a row that are written by name where they are not at their default.
_N_PLACED = {Remembered: 7, Failed: 4}


class UnknownEvent(ValueError):
    """An entry of a kind or version that this release does not know."""


class CorruptEntry(ValueError):
    """An entry that no release of ours can have written."""


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


def encoded(data: object) -> bytes:
    """Returns plain data as compact JSON; NaN and infinity are refused."""
    return _encode(data).encode()


def row(event: Event) -> bytes:
    """Returns the row of ``event``."""
    kind = type(event)
    name = f"{kind.__name__.lower()}/1"
    n_placed = _N_PLACED.get(kind)
    if n_placed is None:
        return encoded([name, *event])
    named = {
        field: value
        for field, value in zip(kind._fields[n_placed:], event[n_placed:], strict=True)
        if value != kind._field_defaults[field]
    }
    return encoded([name, *event[:n_placed], *([named] if named else [])])


def fields(row: bytes, seq: int = 0) -> Fields:
    """Returns the fields of a row: kind with version, scope, and the rest, unread.

    Args:
        row: Bytes of an entry.
        seq: Its place in the journal, for the message.

    Raises:
        CorruptEntry: It is no row of ours.
    """
    try:
        found = json.loads(row)
        if (
            not isinstance(found, list)
            or len(found) < 2
            or not isinstance(found[0], str)
            or not isinstance(found[1], str)
        ):
            raise ValueError(
                f"a row must be an array that begins with a kind and a scope, got {row!r}"
            )
        return found
    except (ValueError, TypeError) as error:
        raise _corrupt(seq, error) from error


def read(fields: Fields, readers: Mapping[str, Callable[..., E]], seq: int = 0) -> E:
    """Returns the event of ``fields``, each of them checked.

    Args:
        fields: What ``fields`` returned for a row.
        readers: For each kind with its version, what makes an event of the fields.
        seq: Place in the journal, for the message.

    Raises:
        UnknownEvent: The kind or version has no reader.
        CorruptEntry: A field is wrong; the message names entry and reason.
    """
    reader = readers.get(fields[0])
    if reader is None:
        kind, _, version = fields[0].partition("/")
        raise UnknownEvent(
            f"this release reads {', '.join(readers)}; the journal holds kind {kind!r} "
            f"of version {version or 'none'}: read it with the release that wrote it, or "
            "a later one"
        )
    try:
        return reader(*fields[1:])
    except (ValueError, TypeError) as error:
        raise _corrupt(seq, error) from error


def event(row: bytes, seq: int = 0) -> Event:
    """Returns the evolutionary event of ``row``, its fields checked.

    Raises:
        UnknownEvent: Its kind or version is not known.
        CorruptEntry: It is no row of ours; the message names entry and reason.
    """
    return read(fields(row, seq), EVOLUTIONARY, seq)


def _corrupt(seq: int, error: Exception) -> CorruptEntry:
    return CorruptEntry(f"entry {seq} of the journal is corrupt: {error}")


def _configured(scope: str, fingerprint: object) -> Configured:
    return Configured(scope, utf8("fingerprint", fingerprint))


def _compacted(scope: str, upto: object, key: object) -> Compacted:
    return Compacted(scope, count("upto", upto), utf8("key", key))


def _rescored(
    scope: str, id: object, key: object, reason: object, score: object
) -> Rescored:
    return Rescored(scope, *_amended(id, key, reason), real("score", score))


def _repeated(
    scope: str, id: object, key: object, reason: object, score: object, first: object
) -> Repeated:
    amended = _amended(id, key, reason)
    return Repeated(scope, *amended, real("score", score), real("first", first))


def _retracted(scope: str, id: object, key: object, reason: object) -> Retracted:
    return Retracted(scope, *_amended(id, key, reason))


def _superseded(
    scope: str, id: object, key: object, reason: object, by: object
) -> Superseded:
    return Superseded(scope, *_amended(id, key, reason), utf8("by", by))


def _amended(id: object, key: object, reason: object) -> tuple[str, str, str]:
    return utf8("id", id), utf8("key", key), utf8("reason", reason)


def _remembered(
    scope: str,
    id: object,
    score: object,
    weight: float,
    draw: object,
    features: Features,
    size: object = 0,
    named: Mapping[str, Any] = NOTHING,
) -> Remembered:
    if weight != 1.0 and real("weight", weight) < 0.0:
        raise ValueError(f"weight must not be negative, got {weight!r}")
    event = Remembered(
        scope,
        utf8("id", id),
        real("score", score),
        real("weight", weight),
        _draw(draw),
        features,
        count("size", size),
        **named,
    )
    if not named:
        return event
    for field, value in (("island", event.island), ("origin", event.origin)):
        if value is not None:
            count(field, value, 0, LARGEST_INDEX)
    count("generation", event.generation)
    utf8("text", event.text)
    descriptors = tuple([real("descriptors", value) for value in event.descriptors])
    real("time", event.time)
    return event._replace(descriptors=descriptors)


def _failed(
    scope: str,
    id: object,
    draw: object,
    size: object = 0,
    named: Mapping[str, Any] = NOTHING,
) -> Failed:
    event = Failed(scope, utf8("id", id), _draw(draw), count("size", size), **named)
    real("time", event.time)
    return event


def _draw(draw: Any) -> Draw | None:  # noqa: ANN401
    return None if draw is None else checked_draw(Draw(*draw))


#: Kinds that every scope may hold.
SHARED: dict[str, Callable[..., Shared]] = {
    "configured/1": _configured,
    "compacted/1": _compacted,
    "rescored/1": _rescored,
    "repeated/1": _repeated,
    "retracted/1": _retracted,
    "superseded/1": _superseded,
}
#: Kinds of rows that bring a record; its id follows the scope.
RECORDS = ("remembered/1", "failed/1")
EVOLUTIONARY: dict[str, Callable[..., Event]] = {
    "remembered/1": _remembered,
    "failed/1": _failed,
    **SHARED,
}


def body(solution: Solution) -> bytes:
    """Returns the body of ``solution``; fields at their defaults are left out."""
    fields: dict[str, Any] = {
        "id": solution.id,
        "text": solution.text,
        "score": solution.score,
        "status": solution.status,
        "parent_ids": solution.parent_ids,
        "generation": solution.generation,
        "provenance": solution.provenance,
    }
    if solution.scope:
        fields["scope"] = solution.scope
    if solution.time:
        fields["time"] = solution.time
    if solution.weight != 1.0:
        fields["weight"] = solution.weight
    if solution.island is not None:
        fields["island"] = solution.island
    if solution.instance_scores:
        fields["instance_scores"] = solution.instance_scores
    if solution.metadata:
        fields["metadata"] = dict(solution.metadata)
    return encoded(fields)


def solution(body: bytes) -> Solution:
    """Returns the solution of ``body``, validated again.

    Raises:
        TypeError: A field has the wrong type or is not one of ours.
        ValueError: ``body`` is no body of ours, or a field is invalid.
    """
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError(f"a body must be an object, got {body[:80]!r}")
    return Solution(
        provenance=provenance(fields.pop("provenance", ())),
        parent_ids=tuple(fields.pop("parent_ids", ())),
        instance_scores=tuple(fields.pop("instance_scores", ())),
        status=Status(fields.pop("status")),
        **fields,
    )


def provenance(fields: Any) -> Provenance:  # noqa: ANN401
    """Returns the provenance of its fields, which are validated with their record."""
    plain = Provenance(*fields)
    draw = None if plain.draw is None else Draw(*plain.draw)
    return plain._replace(draw=draw, inputs=tuple(plain.inputs))


def document(fields: Mapping[str, Any]) -> bytes:
    """Returns the body of a plain mapping, with sorted keys."""
    return json.dumps(
        fields, ensure_ascii=False, allow_nan=False, sort_keys=True
    ).encode()


def mapping(document: bytes) -> dict[str, Any]:
    """Returns the mapping of a ``document``."""
    return cast(dict[str, Any], json.loads(document))
