"""Events of the graded memory: rows of the journal that say what became of messages.

Written and read like those of ``memory.codec``, beside the kinds that every scope may
hold. What an event says of several messages it says of all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from memory import codec
from memory.graded.messages import Role
from memory.records import count, flag, real, utf8


class Added(NamedTuple):
    """A message was added to the short-term tier.

    Attributes:
        scope: Its scope.
        id: Its id.
        role: Who speaks.
        tokens: What it takes up.
        size: Bytes of its body.
        calls: Ids of the tool calls that it makes.
        answers: Ids of the tool calls that it answers for good.
        progress: Ids of the tool calls that it answers for now.
        time: When it was made, where retention asks.
    """

    scope: str
    id: str
    role: Role
    tokens: int
    size: int
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    progress: tuple[str, ...] = ()
    time: float = 0.0


class Compressed(NamedTuple):
    """A summary took the place of messages.

    Attributes:
        scope: Its scope.
        id: Id of the summary.
        ids: What it stands for.
        tokens: What the summary takes up.
        size: Bytes of its body.
        time: When it was made, where retention asks.
    """

    scope: str
    id: str
    ids: tuple[str, ...]
    tokens: int
    size: int
    time: float = 0.0


class Uncompressed(NamedTuple):
    """A compressor failed; nothing has changed but the time of the next attempt."""

    scope: str
    key: str
    reason: str


class Voided(NamedTuple):
    """A summary came too late: the writer knew of a change of its messages."""

    scope: str
    key: str


class Committed(NamedTuple):
    """Messages were moved to the long-term tier."""

    scope: str
    key: str
    ids: tuple[str, ...]


class Removed(NamedTuple):
    """Messages were removed, for a reason."""

    scope: str
    key: str
    reason: str
    ids: tuple[str, ...]


class Tasked(NamedTuple):
    """A message is the current task from now on."""

    scope: str
    key: str
    id: str


class Cleared(NamedTuple):
    """The short and the medium-term tier were emptied; ``everything``: the long too."""

    scope: str
    key: str
    everything: bool


Shared = codec.Configured | codec.Compacted | codec.Retracted | codec.Superseded
Own = (
    Added | Compressed | Uncompressed | Voided | Committed | Removed | Tasked | Cleared
)
Event = Own | Shared

#: Fields of a row that are written by name where they are not at their default.
_N_PLACED: dict[type, int] = {Added: 5, Compressed: 5}


def row(event: Own) -> bytes:
    """Returns the row of ``event``, which is known to be readable.

    Raises:
        TypeError: A field has the wrong type; the message names it.
        ValueError: A field is invalid.
    """
    kind = type(event)
    n_placed = _N_PLACED.get(kind, len(event))
    named = {
        field: value
        for field, value in zip(kind._fields[n_placed:], event[n_placed:], strict=True)
        if value != kind._field_defaults[field]
    }
    name = f"{kind.__name__.lower()}/1"
    written = codec.encoded([name, *event[:n_placed], *([named] if named else [])])
    # What is appended stays: a row that its own reader refuses would stop every worker.
    GRADED[name](*codec.fields(written)[1:])
    return written


def _added(
    scope: str,
    id: object,
    role: object,
    tokens: object,
    size: object,
    named: Mapping[str, Any] = codec.NOTHING,
) -> Added:
    event = Added(
        scope,
        utf8("id", id),
        Role(utf8("role", role)),
        count("tokens", tokens),
        count("size", size),
        **named,
    )
    if not named:
        return event
    return event._replace(
        calls=_ids("calls", event.calls),
        answers=_ids("answers", event.answers),
        progress=_ids("progress", event.progress),
        time=real("time", event.time),
    )


def _compressed(
    scope: str,
    id: object,
    ids: object,
    tokens: object,
    size: object,
    named: Mapping[str, Any] = codec.NOTHING,
) -> Compressed:
    event = Compressed(
        scope,
        utf8("id", id),
        _ids("ids", ids),
        count("tokens", tokens),
        count("size", size),
        **named,
    )
    return event._replace(time=real("time", event.time))


def _uncompressed(scope: str, key: object, reason: object) -> Uncompressed:
    return Uncompressed(scope, utf8("key", key), utf8("reason", reason))


def _voided(scope: str, key: object) -> Voided:
    return Voided(scope, utf8("key", key))


def _committed(scope: str, key: object, ids: object) -> Committed:
    return Committed(scope, utf8("key", key), _ids("ids", ids))


def _removed(scope: str, key: object, reason: object, ids: object) -> Removed:
    return Removed(scope, utf8("key", key), utf8("reason", reason), _ids("ids", ids))


def _tasked(scope: str, key: object, id: object) -> Tasked:
    return Tasked(scope, utf8("key", key), utf8("id", id))


def _cleared(scope: str, key: object, everything: object) -> Cleared:
    return Cleared(scope, utf8("key", key), flag("everything", everything))


def _ids(name: str, ids: object) -> tuple[str, ...]:
    if not isinstance(ids, list | tuple):
        raise TypeError(f"{name} must be a list of ids, got {ids!r}")
    return tuple([utf8(name, id_) for id_ in ids])


#: Kinds that a graded scope may hold, with what reads them.
GRADED: dict[str, Callable[..., Event]] = {
    "added/1": _added,
    "compressed/1": _compressed,
    "uncompressed/1": _uncompressed,
    "voided/1": _voided,
    "committed/1": _committed,
    "removed/1": _removed,
    "tasked/1": _tasked,
    "cleared/1": _cleared,
    # A message has no score: it is not rescored, nor evaluated once more.
    **{
        kind: cast("Callable[..., Shared]", codec.SHARED[kind])
        for kind in ("configured/1", "compacted/1", "retracted/1", "superseded/1")
    },
}
