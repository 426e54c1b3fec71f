"""Token counters: the estimate within its stated error, LoongFlow's count to the token."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graded.messages import (
    Media,
    Message,
    Thinking,
    ToolCall,
    assistant,
    draft,
    tool,
    user,
)
from memory.graded.tokens.estimate import Estimate
from memory.graded.tokens.exact import Exact
from memory.graded.tokens.parts import FRAME_TOKENS, MEDIA_TOKENS
from memory.graded.tokens.upstream import Upstream

HERE = Path(__file__).parent
TRUE = json.loads((HERE / "tokens.json").read_text("utf-8"))["texts"]
GOLDEN = json.loads((HERE / "upstream.json").read_text("utf-8"))["tokens"]


@pytest.mark.parametrize(("kind", "text", "true"), TRUE)
def test_the_estimate_is_within_its_stated_error(
    kind: str, text: str, true: int
) -> None:
    assert abs(Estimate().text(text) / true - 1.0) <= 0.4, kind


def test_the_mean_error_is_as_stated() -> None:
    errors = [abs(Estimate().text(text) / true - 1.0) for _, text, true in TRUE]
    assert sum(errors) / len(errors) <= 0.15


@pytest.mark.parametrize("kind", ["chinese", "japanese", "korean", "emoji"])
def test_cjk_and_emoji_are_not_counted_like_latin_letters(kind: str) -> None:
    # Defect 84: 4,000 Chinese characters or emoji cost as much as 4,000 letters.
    text = "".join(text for name, text, _ in TRUE if name == kind)
    assert Estimate().text(text) > 1.5 * len(text) / 4


def test_a_letter_costs_one_token_and_its_frame() -> None:
    assert Estimate().text("a") == 1
    assert Estimate().count(user("a").message("m")) == FRAME_TOKENS + 1


@given(st.text(), st.text())
def test_more_text_never_costs_fewer_tokens_than_each_half(one: str, two: str) -> None:
    # A word that goes on may cost less than two words, never less than one of them.
    both = Estimate().text(f"{one}\n{two}")
    assert both >= max(Estimate().text(one), Estimate().text(two))


@given(st.text(min_size=1))
def test_every_text_costs_something(text: str) -> None:
    assert Estimate().text(text) >= 1


def test_base64_is_under_counted_by_no_more_than_stated() -> None:
    data = base64.b64encode(bytes(range(256)) * 4).decode()
    # o200k_base counts 1,012 tokens.
    assert Estimate().text(data) >= 0.6 * 1012


def test_a_factor_makes_a_cautious_estimate() -> None:
    text = "Memory is not a recording."
    assert Estimate(factor=2.0).text(text) >= 2 * Estimate().text(text) - 1
    with pytest.raises(ValueError, match="factor must be positive"):
        Estimate(factor=0.0)


def test_everything_in_a_message_is_counted() -> None:
    count = Estimate().count
    plain = count(assistant("x").message("m"))
    assert count(assistant("x", sender="Planner").message("m")) > plain
    assert count(assistant("x", Thinking("y " * 50)).message("m")) > plain + 40
    assert count(assistant("x", ToolCall("c", "f", "{}")).message("m")) > plain
    picture = count(assistant("x", Media("image/png", "A" * 9999)).message("m"))
    assert picture == plain + MEDIA_TOKENS
    output = tool("c", "f", (Media("image/png", "A"),)).message("m")
    assert count(output) > MEDIA_TOKENS


def upstream_message(case: dict[str, Any]) -> Message:
    match case["kind"]:
        case "text":
            data = case["data"]
            text = data["repeat"][0] * data["repeat"][1] if "repeat" in data else data
            return draft(case["role"], text).message("m")
        case "tool_call":
            call = ToolCall("id", case["target"], case["arguments"])
            return draft(case["role"], call).message("m")
        case "think":
            return draft(case["role"], Thinking(case["content"])).message("m")
    # The golden file does not say what the tool answered; at most three letters fit.
    return tool("id", "search", "ok").message("m")


@pytest.mark.parametrize("case", GOLDEN, ids=str)
def test_the_count_of_upstream_is_theirs_to_the_token(case: dict[str, Any]) -> None:
    assert Upstream().count(upstream_message(case)) == case["tokens"]


def test_a_vocabulary_file_must_be_of_a_kind_that_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path must end in \.json or \.tiktoken"):
        Exact(str(tmp_path / "vocabulary.bin"))
    with pytest.raises(FileNotFoundError):
        Exact(str(tmp_path / "vocabulary.json"))


@pytest.mark.parametrize("suffix", ["json", "tiktoken"])
def test_a_missing_library_is_named_with_how_to_get_it(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"vocabulary.{suffix}"
    file.write_text("{}")
    library = {"json": "tokenizers", "tiktoken": "tiktoken"}[suffix]
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        Exact(str(file))


#: A vocabulary of three words, in the form of the ``tokenizers`` library.
WORDS = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordLevel",
        "vocab": {"[unk]": 0, "hello": 1, "world": 2},
        "unk_token": "[unk]",
    },
}


def test_a_tokenizer_file_is_counted_exactly(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(WORDS))
    counter = Exact(str(file))
    assert counter.text("hello world hello") == 3
    assert counter.count(user("hello world").message("m")) == FRAME_TOKENS + 2
    moved = tmp_path / "other.json"
    moved.write_text(json.dumps(WORDS))
    assert Exact(str(moved)).described() == counter.described()
    file.write_text("{}")
    with pytest.raises(ValueError, match="path must name a vocabulary"):
        Exact(str(file))


def test_a_tiktoken_file_is_counted_exactly(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    ranks = [bytes([byte]) for byte in range(256)] + [b"ab", b"abab"]
    file = tmp_path / "small.tiktoken"
    file.write_bytes(
        b"\n".join(
            base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(ranks)
        )
    )
    counter = Exact(str(file))
    assert counter.text("abab") == 1
    assert counter.text("ababab ab") == 4
    assert counter.text("<|endoftext|>") == 13
