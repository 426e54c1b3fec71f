"""Messages as plain data and back, and as bytes: JSON, never pickle."""

from __future__ import annotations

import json
from typing import Any

from memory.codec import encoded, provenance
from memory.graded.messages import (
    Element,
    Media,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolOutput,
)
from memory.records import NO_PROVENANCE, Status

_KINDS: dict[str, type[Text | Thinking | Media | ToolCall]] = {
    "text": Text,
    "thinking": Thinking,
    "media": Media,
    "call": ToolCall,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def plain(message: Message) -> dict[str, Any]:
    """Returns ``message`` as plain data; fields at their defaults are left out."""
    fields: dict[str, Any] = {
        "id": message.id,
        "role": str(message.role),
        "elements": [_plain_element(element) for element in message.elements],
    }
    if message.scope:
        fields["scope"] = message.scope
    if message.time:
        fields["time"] = message.time
    if message.sender:
        fields["sender"] = message.sender
    if message.status is not Status.VALID:
        fields["status"] = str(message.status)
    if message.provenance != NO_PROVENANCE:
        fields["provenance"] = message.provenance
    if message.metadata:
        fields["metadata"] = dict(message.metadata)
    return fields


def from_plain(fields: object) -> Message:
    """Returns the message of plain data, validated again.

    Raises:
        TypeError: A field has the wrong type or is not one of ours.
        ValueError: It is no message of ours, or a field is invalid.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"a message must be an object, got {str(fields)[:80]!r}")
    named = dict(fields)
    elements = named.pop("elements", None)
    if not isinstance(elements, list):
        raise ValueError(f"elements must be a list, got {elements!r}")
    return Message(
        elements=tuple([_element(element) for element in elements]),
        provenance=provenance(named.pop("provenance", ())),
        **named,
    )


def body(message: Message) -> bytes:
    """Returns the body of ``message`` in a journal."""
    return encoded(plain(message))


def message(body: bytes) -> Message:
    """Returns the message of a ``body``, validated again.

    Raises:
        TypeError: A field has the wrong type or is not one of ours.
        ValueError: ``body`` is no body of ours, or a field is invalid.
    """
    return from_plain(json.loads(body))


def _plain_element(element: Element) -> list[Any]:
    match element:
        case ToolOutput(call_id, target, parts, outcome):
            answer = [_plain_element(part) for part in parts]
            return ["output", call_id, target, answer, str(outcome)]
        case _:
            values = [getattr(element, name) for name in element.__match_args__]
            return [_NAMES[type(element)], *values]


def _element(plain: object) -> Element:
    if not isinstance(plain, list) or not plain:
        raise ValueError(f"an element must be a list with a kind, got {plain!r}")
    kind, *values = plain
    if kind == "output":
        call_id, target, answer, outcome = values
        parts = tuple([_element(part) for part in answer])
        return ToolOutput(call_id, target, parts, outcome)  # type: ignore[arg-type]
    if kind not in _KINDS:
        raise ValueError(
            f"an element must be one of {', '.join(_KINDS)}, output, got {kind!r}"
        )
    return _KINDS[kind](*values)
