"""LoongFlow's split point, as its golden file has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.graded.messages import (
    Draft,
    Thinking,
    ToolCall,
    assistant,
    system,
    tool,
    user,
)
from memory.graded.split import upstream_split

GOLDEN = json.loads((Path(__file__).parent / "upstream.json").read_text("utf-8"))[
    "split"
]

MAKERS: dict[str, Draft] = {
    "U": user("u"),
    "A": assistant("a"),
    "C": assistant(ToolCall("c", "f")),
    "T": tool("c", "f", "t"),
    "S": system("s"),
    "K": assistant(Thinking("k")),
    # A role that is none of ours; like a system message, it never ends the part.
    "X": system("x"),
}


@pytest.mark.parametrize(("roles", "compressed", "kept"), GOLDEN)
def test_the_split_of_upstream_is_theirs(
    roles: str, compressed: int, kept: int
) -> None:
    messages = [MAKERS[role].message(str(i)) for i, role in enumerate(roles)]
    assert upstream_split(messages) == compressed
    assert len(messages) - compressed == kept
