"""Events survive the journal bit for bit, and unknown ones are refused by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import Draw, Provenance, Solution, Status, codec

text = st.text(st.characters(codec="utf-8"), max_size=30)
name = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
number = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), number, text)
index = st.integers(0, 2**64 - 1)
draws = st.builds(Draw, text, index, index, index, st.integers(-1, 9))


@st.composite
def solutions(draw: st.DrawFn) -> Solution:
    failed = draw(st.booleans())
    own = draw(name)
    parents = [p for p in draw(st.lists(name, unique=True, max_size=3)) if p != own]
    return Solution(
        id=own,
        text=draw(text),
        score=None if failed else draw(number),
        status=Status.FAILED if failed else Status.VALID,
        parent_ids=tuple(parents),
        generation=draw(st.integers(0, 99)),
        scope=draw(text),
        time=draw(number),
        provenance=Provenance(
            draw(text),
            draw(text),
            draw(st.one_of(st.none(), draws)),
            tuple(draw(st.lists(text, max_size=2))),
        ),
        island=draw(st.one_of(st.none(), st.integers(0, 9))),
        instance_scores=tuple(draw(st.lists(number, max_size=3))),
        weight=draw(st.floats(0, 1e6)),
        metadata=draw(st.dictionaries(text, scalars, max_size=3)),
    )


@given(solutions())
def test_a_body_is_the_solution_to_the_last_bit(solution: Solution) -> None:
    again = codec.solution(codec.body(solution))
    assert again == solution
    assert codec.body(again) == codec.body(solution)
    assert repr(again.score) == repr(solution.score)


@given(text, name, number, st.floats(0, 9), st.one_of(st.none(), draws), text)
def test_a_row_is_the_event_to_the_last_bit(
    scope: str,
    own: str,
    score: float,
    weight: float,
    draw: Draw | None,
    features: str,
) -> None:
    events: tuple[codec.Event, ...] = (
        codec.Remembered(scope, own, score, weight, draw, [3, 0, features]),
        codec.Remembered(
            *[scope, own, score, weight, draw, features],
            island=0,
            origin=2,
            generation=3,
            text=features,
            descriptors=(score, 0.5),
            size=9,
            time=score,
        ),
        codec.Failed(scope, own, draw),
        codec.Failed(scope, own, draw, 7, score),
        codec.Compacted(scope, 3, own),
        codec.Rescored(scope, own, features, features, score),
        codec.Repeated(scope, own, features, features, score, weight),
        codec.Retracted(scope, own, features, features),
        codec.Superseded(scope, own, features, features, own),
        codec.Configured(scope, own),
    )
    for event in events:
        row = codec.row(event)
        assert codec.event(row) == event
        assert b"\n" not in row


@pytest.mark.parametrize(
    "row", [b'["remembered/2","","a"]', b'["merged/1",""]', b'["remembered",""]']
)
def test_an_unknown_kind_or_version_is_refused_with_both_named(row: bytes) -> None:
    kind, _, version = json.loads(row)[0].partition("/")
    pattern = f"kind '{kind}' of version {version or 'none'}"
    with pytest.raises(codec.UnknownEvent, match=pattern):
        codec.event(row)


@pytest.mark.parametrize("row", [b"", b"{}", b"[]", b"[1]", b"nonsense", b"\xff"])
def test_what_is_no_row_is_refused_with_its_place(row: bytes) -> None:
    with pytest.raises(codec.CorruptEntry, match="entry 12 of the journal is corrupt"):
        codec.event(row, 12)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (["", "a", "0.5", 1.0, None, []], "score"),
        (["", "a", True, 1.0, None, []], "score"),
        (["", "a", 0.5, -1, None, []], "weight"),
        (["", "a", 0.5, None, None, []], "weight"),
        (["", 7, 0.5, 1.0, None, []], "id"),
        ([None, "a", 0.5, 1.0, None, []], "scope"),
        (["", "a", 0.5, 1.0, ["main", "7", 1], []], "draw.decision"),
        (["", "a", 0.5, 1.0, ["main", 7, 2**64], []], "draw.seq"),
        (["", "a", 0.5, 1.0], "missing 2 required"),
        (["", "a", 0.5, 1.0, None, [], {"island": -1}], "island"),
        (["", "a", 0.5, 1.0, None, [], {"color": "red"}], "color"),
        (["", "a", 0.5, 1.0, None, [], {"descriptors": ["x"]}], "descriptors"),
    ],
)
def test_a_row_with_a_bad_field_is_refused_by_name(fields: list, name: str) -> None:
    row = json.dumps(["remembered/1", *fields]).encode()
    with pytest.raises(codec.CorruptEntry, match=f"entry 3 .*{name}"):
        codec.event(row, 3)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_row_holds_finite_numbers_only(number: str) -> None:
    row = f'["remembered/1","","a",{number},1.0,null,[]]'.encode()
    with pytest.raises(codec.CorruptEntry, match="score must be a finite real number"):
        codec.event(row, 3)


def test_a_tampered_body_is_validated_again() -> None:
    body = codec.body(Solution(id="a", text="x", score=1.0))
    with pytest.raises(TypeError, match="score must be a finite real number"):
        codec.solution(body.replace(b'"score":1.0', b'"score":"high"'))
    with pytest.raises(ValueError, match="score must be a finite real number"):
        codec.solution(body.replace(b'"score":1.0', b'"score":NaN'))
    with pytest.raises(ValueError, match="a body must be an object"):
        codec.solution(b"[]")


def test_the_codec_pickles_nothing() -> None:
    source = codec.__loader__.get_source("memory.codec")  # type: ignore[union-attr]
    assert "pickle" not in source.replace("never pickle", "")
