"""Compressors: within the budget, or a failure that says why."""

from __future__ import annotations

import json
import time
import tracemalloc
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graded.compressors.extractive import Extractive, sentences
from memory.graded.compressors.nothing import Nothing
from memory.graded.compressors.snapshot import SECTIONS, Snapshot
from memory.graded.compressors.truncation import Truncation
from memory.graded.contracts import CompressionFailed, Compressor
from memory.graded.messages import Message, assistant, tool, user
from memory.graded.tokens.estimate import Estimate
from memory.graded.words import words
from tests.memory.graded.servers import GOOD, answering, endpoint, send

KEY = "sk-this-must-never-be-seen"

TALK = [
    user("Find the boiling point of water on Mount Everest.").message("a"),
    assistant("I look it up. Water boils at lower temperatures up there.").message("b"),
    tool("c", "search", "On Mount Everest water boils at 71 degrees Celsius.").message(
        "d"
    ),
    assistant("The boiling point of water on Mount Everest is 71 °C.").message("e"),
]


@pytest.mark.parametrize("compressor", [Extractive(), Truncation()], ids=str)
@given(
    texts=st.lists(
        st.text("ab .\n你😀", min_size=1, max_size=60), min_size=1, max_size=8
    ),
    budget=st.integers(1, 60),
)
def test_a_summary_fits_its_budget_and_is_never_empty(
    compressor: Compressor, texts: list[str], budget: int
) -> None:
    messages = [user(text).message(str(i)) for i, text in enumerate(texts)]
    try:
        summary = compressor.compress(messages, budget)
    except CompressionFailed:
        # Then not even the smallest piece of the text fits.
        assert budget < 12 or not any(map(words, texts))
        return
    assert summary.strip()
    assert Estimate().text(summary) <= budget
    assert compressor.compress(messages, budget) == summary


def test_extractive_keeps_the_central_sentences_in_their_order() -> None:
    summary = Extractive().compress(TALK, 45)
    assert "71" in summary
    assert "I look it up" not in summary
    speakers = [one.split(":")[0] for one in summary.split("\n")]
    assert set(speakers) <= {"user", "assistant", "tool"}
    told = [text for _, text in sentences(TALK) if text in summary]
    places = [summary.index(text) for text in told]
    assert len(told) >= 2
    assert places == sorted(places)
    # The best sentence is not the first, so that the order of rank is another one.
    alone = Extractive().compress(TALK, 25)
    assert not summary.startswith(alone)


def test_the_rank_of_sentences_matches_a_hand_computed_graph() -> None:
    # Two alike and a stranger: the alike keep their rank between them; the stranger has
    # what random jumps bring, s = (1 - d) + d s / 3.
    ranks = Extractive().ranks([["a", "b"], ["a", "b"], ["z"]])
    stranger = 0.15 / (1.0 - 0.85 / 3.0)
    np.testing.assert_allclose(
        ranks, [(3.0 - stranger) / 2.0, (3.0 - stranger) / 2.0, stranger], rtol=1e-6
    )


def test_a_long_conversation_is_ranked_block_by_block() -> None:
    many = [["w", str(i % 7)] for i in range(25)]
    ranks = Extractive(block_sentences=10).ranks(many)
    np.testing.assert_allclose(
        [ranks[:10].sum(), ranks[10:20].sum(), ranks[20:].sum()], [10, 10, 5]
    )


def test_sentences_end_at_stops_of_every_script_but_not_inside_numbers() -> None:
    message = user("It is 3.14! 是的。不是\uff1f\nYes. Yes. No").message("a")
    assert [text for _, text in sentences([message])] == [
        "It is 3.14!",
        "是的。",
        "不是\uff1f",
        "Yes.",
        "No",
    ]


def test_truncation_keeps_the_end() -> None:
    summary = Truncation().compress(TALK, 12)
    assert summary.startswith("… ")
    assert summary.endswith("on Mount Everest is 71 °C.")
    assert Truncation().compress(TALK, 1000).startswith("user: Find")


def test_nothing_never_compresses() -> None:
    assert not Nothing().compresses
    with pytest.raises(CompressionFailed, match="by choice"):
        Nothing().compress(TALK, 100)


@pytest.mark.parametrize("compressor", [Extractive(), Truncation()], ids=str)
def test_a_budget_must_be_positive(compressor: Compressor) -> None:
    with pytest.raises(ValueError, match="budget_tokens must be at least 1, got 0"):
        compressor.compress(TALK, 0)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def snapshot(url: str, **fields: Any) -> Snapshot:
    given = {"key_variable": "TEST_KEY", "timeout_seconds": 5.0, **fields}
    return Snapshot(url, "small", **given)


def test_a_snapshot_is_what_the_model_wrote() -> None:
    with endpoint(answering(f"  {GOOD}\n")) as server:
        assert snapshot(server.url).compress(TALK, 200) == GOOD
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["key"] == f"Bearer {KEY}"
    body = request["body"]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("small", 200, False)
    instruction, conversation = body["messages"]
    assert "at most 200 tokens" in instruction["content"]
    assert all(f"## {name}" in instruction["content"] for name in SECTIONS)
    assert "tool: On Mount Everest" in conversation["content"]


@pytest.mark.parametrize(
    "before",
    [
        "<think>First, ## Task\nis what?</think>\n",
        f"<think>\n{GOOD}\n</think>\n\n",
        "Here is the snapshot:\n\n",
    ],
)
def test_thoughts_and_forewords_are_no_part_of_a_snapshot(before: str) -> None:
    with endpoint(answering(before + GOOD)) as server:
        assert snapshot(server.url).compress(TALK, 200) == GOOD


def test_no_key_is_sent_where_no_variable_is_named() -> None:
    with endpoint(answering(GOOD)) as server:
        snapshot(server.url, key_variable="").compress(TALK, 200)
    assert server.requests[0]["key"] is None


def silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(2.0)


def headers_only(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    handler.wfile.flush()
    time.sleep(2.0)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def dripping_headers(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n")
    for number in range(40):
        handler.wfile.write(b"X-%d: y\r\n" % number)
        handler.wfile.flush()
        time.sleep(0.05)


@pytest.mark.parametrize(
    "behaviour", [silent, headers_only, dripping, dripping_headers]
)
def test_a_slow_endpoint_is_left_in_time(behaviour: Any) -> None:
    with endpoint(behaviour) as server:
        start = time.monotonic()
        with pytest.raises(CompressionFailed, match=r"within 0\.3 seconds"):
            snapshot(server.url, timeout_seconds=0.3).compress(TALK, 200)
        assert time.monotonic() - start < 1.5


def closing(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')


def redirecting(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://127.0.0.1:1/elsewhere")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def bytes_of(body: bytes, status: int = 200) -> Any:
    return lambda handler: send(handler, status, body)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (closing, "must answer, got RemoteDisconnected"),
        (cut_short, "must be whole, 990 bytes of it are missing"),
        (redirecting, "status 200, got 302"),
        (bytes_of(b"", 500), "status 200, got 500"),
        (
            bytes_of(json.dumps({"error": {"code": "model_gone"}}).encode(), 404),
            r"got 404 \(model_gone\)",
        ),
        (bytes_of(b""), "a chat completion in JSON"),
        (bytes_of(b"<html>hello</html>"), "a chat completion in JSON"),
        (bytes_of(b"data: [DONE]\n\n"), "a chat completion in JSON"),
        (bytes_of(b"[]"), "a chat completion in JSON"),
        (bytes_of(b'{"choices": []}'), "a chat completion in JSON"),
        (bytes_of(b'{"choices": [3]}'), "a chat completion in JSON"),
        (bytes_of(b"\xff\xfe\x00"), "a chat completion in JSON"),
        (bytes_of(b"[" * 300_000), "a chat completion in JSON"),
        (bytes_of(b"[" * 300_000, 500), "status 200, got 500"),
        (answering(""), "it is empty"),
        (answering(" \n "), "it is empty"),
        (answering("\u200b\u200d"), "it is empty"),
        (answering(None), "it is empty"),
        (answering(["text"]), "it is empty"),
        (answering("I am sorry, I cannot do that."), "it lacks Task, Facts"),
        (answering(GOOD.replace("## Next", "## After")), "it lacks Next"),
        (answering(GOOD + "\ud800"), "encodable as UTF-8"),
        (
            answering(" ".join(f"## {name}" for name in SECTIONS)),
            "it lacks Task, Facts",
        ),
        (answering(f"<think>{GOOD}</think>\nnone"), "it lacks Task, Facts"),
        (answering(GOOD, reason="length"), "cut off"),
        (answering(GOOD, reason="content_filter"), "it ended by content_filter"),
        (answering(GOOD + " word" * 500), "at most 200 tokens"),
    ],
)
def test_an_answer_that_is_no_snapshot_is_refused(behaviour: Any, reason: str) -> None:
    with (
        endpoint(behaviour) as server,
        pytest.raises(CompressionFailed, match=reason),
    ):
        snapshot(server.url).compress(TALK, 200)


def test_an_endpoint_that_is_not_there_is_said() -> None:
    with pytest.raises(CompressionFailed, match="got ConnectionRefusedError"):
        snapshot("http://127.0.0.1:1/v1").compress(TALK, 200)


def test_the_key_is_never_shown() -> None:
    echo = bytes_of(
        json.dumps(
            {"error": {"message": f"bad key {KEY}", "code": f"no {KEY}!"}}
        ).encode(),
        401,
    )
    with endpoint(echo) as server:
        compressor = snapshot(server.url)
        with pytest.raises(CompressionFailed) as failure:
            compressor.compress(TALK, 200)
    assert server.requests[0]["key"] == f"Bearer {KEY}"
    shown = repr(compressor) + repr(failure.value) + str(failure.value.__cause__)
    assert KEY not in shown


@pytest.mark.parametrize(
    ("value", "reason"),
    [("", "must hold the key"), ("sk\nX: y", "printable ASCII"), ("ключ", "printable")],
)
def test_a_key_that_cannot_be_sent_is_refused_unseen(
    value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(CompressionFailed, match=reason) as failure:
        snapshot("http://127.0.0.1:1/v1").compress(TALK, 200)
    assert not value or value not in str(failure.value)


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1",
        "ftp://a/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
        "http://secret:99999/v1",
        "http://secret:0/v1",
        "http://secret:abc/v1",
        "http://host/vé/secret",
        "http://host/a b/secret",
        "http://host/v1\x00secret",
        "http://.secret",
        "http://secret..com/v1",
        f"http://{'secret' * 20}.com/v1",
        "http://a secret/v1",
        "http://[secret/v1",
    ],
)
def test_an_address_that_will_not_do_is_refused_unseen(url: str) -> None:
    with pytest.raises(ValueError, match="base_url must") as failure:
        Snapshot(url, "small")
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "http://127.0.0.1:8080/v1/",
        "http://[::1]:8080/v1",
        "https://bücher.example/v1",
        "https://my-host_2.example/openai/v1~x",
    ],
)
def test_an_address_that_will_do_is_taken(url: str) -> None:
    assert Snapshot(url, "small").base_url == url


@pytest.mark.parametrize("counter", [None, 3, Estimate])
def test_a_counter_that_is_none_is_refused_at_once(counter: Any) -> None:
    for make in (
        lambda: Extractive(counter=counter),
        lambda: Truncation(counter=counter),
        lambda: Snapshot("http://h/v1", "m", counter=counter),
    ):
        with pytest.raises(TypeError, match="counter must be a policy with the method"):
            make()


def test_ranking_takes_no_more_memory_for_more_words() -> None:
    # 500 sentences that share 60,000 words, and as many again of their own.
    many = [
        [*(str((place * 240 + one) % 60_000) for one in range(480)), f"own {place}"]
        for place in range(500)
    ]
    tracemalloc.start()
    ranks = Extractive().ranks(many)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ranks.sum() == pytest.approx(500)
    assert most < 80_000_000


def test_every_compressor_keeps_its_contract() -> None:
    def checked(compressor: Compressor, messages: list[Message]) -> bool:
        return callable(compressor.compress) and bool(messages)

    assert checked(Extractive(), TALK)
    assert checked(Truncation(), TALK)
    assert checked(Nothing(), TALK)
    assert checked(Snapshot("http://h/v1", "m"), TALK)
