"""Events of the journal to bytes and back: versioned JSON, never pickle.

A row is a short array ``[kind, scope, ...]``, read by every worker; a body is an object
with the whole record, fetched when its text is wanted. A kind carries its version, and an
unknown one is refused with both named rather than skipped: skipping would make two
workers disagree about who is alive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from memory.policies import Features
from memory.records import (
    Draw,
    Provenance,
    Solution,
    Status,
    checked_draw,
    real,
    utf8,
)


class Configured(NamedTuple):
    """A population begins; ``fingerprint`` identifies its configuration."""

    scope: str
    fingerprint: str


class Remembered(NamedTuple):
    """A solution was scored; ``features`` is what the diversity metric keeps of it."""

    scope: str
    id: str
    score: float
    weight: float
    draw: Draw | None
    features: Features


class Failed(NamedTuple):
    """An attempt gave no score."""

    scope: str
    id: str
    draw: Draw | None


Event = Configured | Remembered | Failed

_VERSIONS = {"configured": 1, "remembered": 1, "failed": 1}


class UnknownEvent(ValueError):
    """An entry of a kind or version that this release does not know."""


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


def row(event: Event) -> bytes:
    """Returns the row of ``event``."""
    kind = type(event).__name__.lower()
    return _encode([f"{kind}/{_VERSIONS[kind]}", *event]).encode()


class CorruptEntry(ValueError):
    """An entry that no release of ours can have written."""


def event(row: bytes, seq: int = 0) -> Event:
    """Returns the event of ``row``, its fields checked.

    Args:
        row: Bytes of an entry.
        seq: Its place in the journal, for the message.

    Raises:
        UnknownEvent: Its kind or version is not known.
        CorruptEntry: It is no row of ours; the message names entry and reason.
    """
    try:
        return _event(row)
    except UnknownEvent:
        raise
    except (ValueError, TypeError) as error:
        raise CorruptEntry(f"entry {seq} of the journal is corrupt: {error}") from error


def _event(row: bytes) -> Event:
    fields = json.loads(row)
    if not isinstance(fields, list) or not fields or not isinstance(fields[0], str):
        raise ValueError(f"a row must be an array that begins with a kind, got {row!r}")
    match fields[0]:
        case "remembered/1":
            _, scope, id_, score, weight, draw, features = fields
            if weight != 1.0 and real("weight", weight) < 0.0:
                raise ValueError(f"weight must not be negative, got {weight!r}")
            return Remembered(
                utf8("scope", scope),
                utf8("id", id_),
                real("score", score),
                real("weight", weight),
                draw and checked_draw(Draw(*draw)),
                features,
            )
        case "failed/1":
            _, scope, id_, draw = fields
            return Failed(
                utf8("scope", scope),
                utf8("id", id_),
                draw and checked_draw(Draw(*draw)),
            )
        case "configured/1":
            _, scope, fingerprint = fields
            return Configured(utf8("scope", scope), utf8("fingerprint", fingerprint))
    kind, _, version = fields[0].partition("/")
    known = ", ".join(f"{name}/{number}" for name, number in _VERSIONS.items())
    raise UnknownEvent(
        f"this release reads {known}; the journal holds kind {kind!r} of version "
        f"{version or 'none'}: read it with the release that wrote it, or a later one"
    )


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
    if solution.instance_scores:
        fields["instance_scores"] = solution.instance_scores
    if solution.metadata:
        fields["metadata"] = dict(solution.metadata)
    return _encode(fields).encode()


def solution(body: bytes) -> Solution:
    """Returns the solution of ``body``, validated again.

    Raises:
        TypeError: A field has the wrong type or is not one of ours.
        ValueError: ``body`` is no body of ours, or a field is invalid.
    """
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError(f"a body must be an object, got {body[:80]!r}")
    operator, evaluator, draw = fields.pop("provenance", ("", "", None))
    return Solution(
        provenance=Provenance(operator, evaluator, draw and Draw(*draw)),
        parent_ids=tuple(fields.pop("parent_ids", ())),
        instance_scores=tuple(fields.pop("instance_scores", ())),
        status=Status(fields.pop("status")),
        **fields,
    )


def document(fields: Mapping[str, Any]) -> bytes:
    """Returns the body of a plain mapping, with sorted keys."""
    return json.dumps(
        fields, ensure_ascii=False, allow_nan=False, sort_keys=True
    ).encode()


def mapping(document: bytes) -> dict[str, Any]:
    """Returns the mapping of a ``document``."""
    return cast(dict[str, Any], json.loads(document))
