"""Messages: what was said in a conversation, frozen and validated where it is born.

A message is a record with a role and a tuple of elements. A *draft* is a message without
an id, as ``user("...")`` makes one; the memory that it is added to gives it its id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from memory.records import (
    NO_METADATA,
    NO_PROVENANCE,
    Provenance,
    Record,
    Scalar,
    utf8,
)

_K = TypeVar("_K", bound=StrEnum)


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Outcome(StrEnum):
    """How a call of a tool ended."""

    SUCCESS = "success"
    ERROR = "error"
    IN_PROGRESS = "in_progress"


@dataclass(frozen=True, slots=True)
class Text:
    """Words.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``text`` cannot be encoded.
    """

    text: str

    def __post_init__(self) -> None:
        utf8("text", self.text)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning that is not part of the answer.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``text`` cannot be encoded.
    """

    text: str

    def __post_init__(self) -> None:
        utf8("text", self.text)


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound, a file.

    Args:
        mime_type: What it is, such as ``image/png``.
        data: An address, or the bytes in base64.

    Raises:
        TypeError: A field is not a string.
        ValueError: ``mime_type`` is empty, or a field cannot be encoded.
    """

    mime_type: str
    data: str

    def __post_init__(self) -> None:
        if not utf8("mime_type", self.mime_type):
            raise ValueError("mime_type must not be empty, got ''")
        utf8("data", self.data)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to call a tool.

    Args:
        call_id: Name of the call; its output bears the same one.
        target: Name of the tool.
        arguments: JSON text of the arguments, as the model wrote it; a mapping is written
            as JSON.

    Raises:
        TypeError: A field has the wrong type, or the mapping is no plain data.
        ValueError: ``call_id`` is empty, a number is not finite, or a field cannot be
            encoded.
    """

    call_id: str
    target: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if not utf8("call_id", self.call_id):
            raise ValueError("call_id must not be empty, got ''")
        utf8("target", self.target)
        arguments: object = self.arguments
        if isinstance(arguments, Mapping):
            arguments = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False)
            object.__setattr__(self, "arguments", arguments)
        utf8("arguments", arguments)

    def parsed(self) -> Any:  # noqa: ANN401
        """Returns the arguments as plain data, or their text where they cannot be read."""
        try:
            return json.loads(self.arguments)
        except (ValueError, RecursionError):
            return self.arguments


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool answered.

    Args:
        call_id: Name of the call.
        target: Name of the tool.
        parts: The answer; a string is one text.
        outcome: How the call ended.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: ``call_id`` is empty, or ``outcome`` is unknown.
    """

    call_id: str
    target: str
    parts: tuple[Text | Media, ...]
    outcome: Outcome = Outcome.SUCCESS

    def __post_init__(self) -> None:
        if not utf8("call_id", self.call_id):
            raise ValueError("call_id must not be empty, got ''")
        utf8("target", self.target)
        parts: object = self.parts
        if isinstance(parts, str):
            parts = (Text(parts),)
        if not isinstance(parts, tuple | list) or not all(
            isinstance(part, Text | Media) for part in parts
        ):
            raise TypeError(f"parts must be a tuple of Text and Media, got {parts!r}")
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "outcome", _member("outcome", Outcome, self.outcome))


Element = Text | Thinking | Media | ToolCall | ToolOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Record):
    """Something that was said.

    Args:
        role: Who speaks.
        elements: What is said, in order, at least one element; a string is one text.
        sender: Name of the speaker, where there are several of a role.

    Raises:
        TypeError: A field has the wrong type; the message names it.
        ValueError: ``role`` is unknown, or there is no element.
    """

    role: Role
    elements: tuple[Element, ...]
    sender: str = ""

    def __post_init__(self) -> None:
        # ``super()`` does not find its class in a dataclass with slots.
        Record.__post_init__(self)
        _check_content(self)

    @property
    def text(self) -> str:
        """What can be read of it: texts and tool outputs, one a line, no thinking."""
        return readable(self.elements)


class Draft(NamedTuple):
    """A message that has no id yet.

    Attributes:
        role: Who speaks.
        elements: What is said.
        sender: Name of the speaker.
        time: When, in the caller's unit.
        provenance: Where it comes from.
        metadata: Flat facts of the user's own.
    """

    role: Role
    elements: tuple[Element, ...]
    sender: str = ""
    time: float = 0.0
    provenance: Provenance = NO_PROVENANCE
    metadata: Mapping[str, Scalar] = NO_METADATA

    def message(self, id: str, scope: str = "") -> Message:
        """Returns the message of this draft.

        Raises:
            TypeError: A field has the wrong type; the message names it.
            ValueError: A field is invalid.
        """
        return Message(id=id, scope=scope, **self._asdict())


def system(*content: str | Element, **fields: Any) -> Draft:  # noqa: ANN401
    """Returns a draft of an instruction; it is pinned where it is added."""
    return draft(Role.SYSTEM, *content, **fields)


def user(*content: str | Element, **fields: Any) -> Draft:  # noqa: ANN401
    """Returns a draft of what the user says."""
    return draft(Role.USER, *content, **fields)


def assistant(*content: str | Element, **fields: Any) -> Draft:  # noqa: ANN401
    """Returns a draft of what the model says, thinks or asks of its tools."""
    return draft(Role.ASSISTANT, *content, **fields)


def tool(
    call_id: str,
    target: str,
    output: str | tuple[Text | Media, ...],
    outcome: Outcome | str = Outcome.SUCCESS,
    **fields: Any,  # noqa: ANN401
) -> Draft:
    """Returns a draft of what a tool answers to the call named ``call_id``."""
    answer = ToolOutput(call_id, target, output, outcome)  # type: ignore[arg-type]
    return draft(Role.TOOL, answer, **fields)


def draft(
    role: Role | str,
    *content: str | Element,
    **fields: Any,  # noqa: ANN401
) -> Draft:
    """Returns a draft of any role; strings in ``content`` are texts.

    Args:
        role: Who speaks.
        content: What is said.
        fields: ``sender``, ``time``, ``provenance``, ``metadata``.
    """
    elements = tuple([Text(one) if isinstance(one, str) else one for one in content])
    return Draft(_member("role", Role, role), elements, **fields)


def readable(elements: tuple[Element, ...]) -> str:
    """Returns the texts of ``elements``, one a line; media by their type."""
    lines: list[str] = []
    for element in elements:
        match element:
            case Text(text):
                lines.append(text)
            case ToolCall(_, target, arguments):
                lines.append(f"{target}({arguments})")
            case ToolOutput(_, _, parts):
                lines.append(readable(parts))
            case Media(mime_type):
                lines.append(f"[{mime_type}]")
    return "\n".join(lines)


def _check_content(message: Message) -> None:
    object.__setattr__(message, "role", _member("role", Role, message.role))
    elements: object = message.elements
    if isinstance(elements, str):
        elements = (Text(elements),)
    if not isinstance(elements, tuple | list) or not all(
        isinstance(element, Element) for element in elements
    ):
        raise TypeError(
            "elements must be a tuple of Text, Thinking, Media, ToolCall and "
            f"ToolOutput, got {elements!r}"
        )
    if not elements:
        raise ValueError("elements must not be empty, got ()")
    object.__setattr__(message, "elements", tuple(elements))
    utf8("sender", message.sender)


def _member(name: str, kind: type[_K], value: object) -> _K:
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(
            f"{name} must be one of {', '.join(map(str, kind))}, got {value!r}"
        ) from None
