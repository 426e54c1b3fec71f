"""Messages refuse what they cannot stand for, and survive their bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graded import codec
from memory.graded.messages import (
    Media,
    Message,
    Outcome,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolOutput,
    assistant,
    draft,
    system,
    tool,
    user,
)
from memory.records import Draw, Provenance, Status

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
parts = st.one_of(st.builds(Text, words), st.builds(Media, names, words))
elements = st.one_of(
    parts,
    st.builds(Thinking, words),
    st.builds(ToolCall, names, words, words),
    st.builds(
        ToolOutput, names, words, st.lists(parts).map(tuple), st.sampled_from(Outcome)
    ),
)
messages = st.builds(
    Message,
    id=names,
    scope=words,
    role=st.sampled_from(Role),
    elements=st.lists(elements, min_size=1, max_size=4).map(tuple),
    sender=words,
    status=st.sampled_from(Status),
    time=st.floats(allow_nan=False, allow_infinity=False),
    provenance=st.builds(
        Provenance,
        operator=words,
        inputs=st.lists(words).map(tuple),
        draw=st.one_of(st.none(), st.just(Draw("s", 3, 9))),
    ),
    metadata=st.dictionaries(
        words, st.one_of(st.none(), st.booleans(), words, st.integers(-9, 9))
    ),
)


@given(messages)
def test_a_message_equals_itself_read_back_from_its_bytes(message: Message) -> None:
    body = codec.body(message)
    assert codec.message(body) == message
    assert codec.body(codec.message(body)) == body


def test_a_draft_becomes_a_message_under_an_id() -> None:
    message = user("What is 2 + 2?", sender="Ada", time=3.0).message("m1", "s")
    assert message == Message(
        id="m1",
        scope="s",
        role=Role.USER,
        elements=(Text("What is 2 + 2?"),),
        sender="Ada",
        time=3.0,
    )


def test_each_role_has_a_constructor() -> None:
    call = ToolCall("c", "add", {"a": 1})  # type: ignore[arg-type]
    drafts = [system("s"), user("u"), assistant("a", call), tool("c", "add", "3")]
    assert [one.role for one in drafts] == list(Role)
    assert drafts[2].elements == (Text("a"), ToolCall("c", "add", '{"a": 1}'))
    assert drafts[3].elements == (ToolOutput("c", "add", (Text("3"),)),)


def test_a_message_cannot_be_changed() -> None:
    message = user("x").message("a")
    with pytest.raises(AttributeError):
        message.sender = "b"  # type: ignore[misc]
    assert isinstance(message.elements, tuple)


@pytest.mark.parametrize(
    ("fields", "error", "reason"),
    [
        ({"id": ""}, ValueError, "id must not be empty"),
        ({"role": "boss"}, ValueError, "role must be one of system, user"),
        ({"elements": ()}, ValueError, "elements must not be empty"),
        ({"elements": [1]}, TypeError, "elements must be a tuple of Text"),
        ({"elements": b"bytes"}, TypeError, "elements must be a tuple of Text"),
        ({"sender": 3}, TypeError, "sender must be a string"),
        ({"status": "odd"}, ValueError, "status must be one of"),
        ({"elements": "\ud800"}, ValueError, "text must be encodable"),
    ],
)
def test_what_is_no_message_is_refused(
    fields: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=f"^{reason}"):
        Message(**{"id": "a", "role": "user", "elements": "x", **fields})


@pytest.mark.parametrize(
    ("make", "error", "reason"),
    [
        (lambda: Text(b"x"), TypeError, "text must be a string"),  # type: ignore[arg-type]
        (lambda: Media("", "x"), ValueError, "mime_type must not be empty"),
        (lambda: ToolCall("", "t"), ValueError, "call_id must not be empty"),
        (lambda: ToolOutput("c", "t", "x", "maybe"), ValueError, "outcome must be"),  # type: ignore[arg-type]
        (lambda: ToolOutput("c", "t", (Thinking("x"),)), TypeError, "parts must be"),  # type: ignore[arg-type]
        (lambda: draft("boss", "x"), ValueError, "role must be one of"),
    ],
)
def test_what_is_no_element_is_refused(
    make: Any, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=f"^{reason}"):
        make()


def test_arguments_that_are_no_json_are_kept_as_the_model_wrote_them() -> None:
    call = ToolCall("c", "search", '{"q": ')
    assert call.parsed() == '{"q": '
    assert ToolCall("c", "search", '{"q": 1}').parsed() == {"q": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"3",
        b'{"id": "a"}',
        b'{"id": "a", "role": "user", "elements": [["odd", "x"]]}',
        b'{"id": "a", "role": "user", "elements": ["text"]}',
        b'{"id": "a", "role": "user", "elements": [["text", "x"]], "odd": 1}',
        b'{"role": "user", "elements": [["text", "x"]]}',
    ],
)
def test_bytes_that_are_no_message_are_refused(body: bytes) -> None:
    with pytest.raises((ValueError, TypeError)):
        codec.message(body)


def test_a_short_message_has_a_short_body() -> None:
    body = codec.body(user("hi").message("a"))
    assert json.loads(body) == {"id": "a", "role": "user", "elements": [["text", "hi"]]}


def test_the_text_of_a_message_shows_calls_and_outputs_but_no_thinking() -> None:
    message = assistant(
        Thinking("secret"), "Let me look.", ToolCall("c", "ls", "{}"), Media("a/b", "x")
    ).message("a")
    assert message.text == "Let me look.\nls({})\n[a/b]"
    assert tool("c", "ls", "one\ntwo").message("b").text == "one\ntwo"


def test_arguments_too_deep_to_read_are_given_as_text() -> None:
    deep = "[" * 200_000
    assert ToolCall("a", "f", deep).parsed() == deep
