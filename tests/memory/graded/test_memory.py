"""The graded memory: what LoongFlow's gets wrong, done right, on every store."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memory import EvolutionaryMemory, open_journal, purge
from memory.following import ConfigurationMismatch
from memory.graded import codec
from memory.graded.compressors.extractive import Extractive
from memory.graded.compressors.nothing import Nothing
from memory.graded.contracts import CompressionFailed
from memory.graded.memory import GradedMemory
from memory.graded.messages import (
    Message,
    Text,
    ToolCall,
    ToolOutput,
    assistant,
    draft,
    system,
    tool,
    user,
)
from memory.graded.recall import Recall
from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier
from memory.graded.tokens.estimate import Estimate
from memory.records import Status
from memory.retention.keep_living import KeepLiving
from memory.stores.in_memory import InMemoryJournal
from tests.memory.graded.conftest import Opener

SMALL = GradedSettings(threshold_tokens=400)

run = asyncio.run


class Says:
    """A compressor that says one thing, and counts how often it was asked."""

    compresses = True

    def __init__(self, text: str = "a short summary") -> None:
        self.text = text
        self.asked: list[list[str]] = []

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        self.asked.append([message.id for message in messages])
        return self.text


class Fails(Says):
    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        super().compress(messages, budget_tokens)
        raise CompressionFailed("the model is down")


def filled(compressor: Any = None, n: int = 60, **named: Any) -> GradedMemory:
    memory = GradedMemory(SMALL, compressor=compressor or Says(), **named)
    memory.add(system("You are careful."))
    memory.add(user("TASK: sort the list"))
    for number in range(n):
        memory.add(assistant(f"step {number} of the work"))
    return memory


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def test_a_memory_in_five_lines() -> None:
    with GradedMemory() as memory:
        memory.add(system("Answer briefly."))
        question = memory.add(user("What is 2 + 2?"))
        memory.add(assistant("4"))
        shown = memory.context(1000)
    assert texts(shown) == ["Answer briefly.", "What is 2 + 2?", "4"]
    assert shown[1] == question


@pytest.mark.parametrize("tier", list(Tier))
def test_a_message_can_be_removed_from_every_tier(tier: Tier) -> None:
    # Defect 78.
    memory = filled()
    if tier is Tier.LONG:
        memory.commit_to_long_term(memory.messages(Tier.SHORT)[5].id)
    if tier is Tier.MEDIUM:
        assert run(memory.compress_overdue())
    id_ = memory.messages(tier)[0].id
    before = memory.status().tokens[tier]
    assert memory.remove(id_, "no longer true") == (id_,)
    assert id_ not in memory
    assert memory.status().tokens[tier] < before
    assert memory.remove(id_) == ()
    assert memory.get(id_).id == id_
    assert memory.amendments(id_)[0].reason == "no longer true"


class BreaksOnce:
    """A journal whose next append fails, as a store may in the middle of things."""

    def __init__(self) -> None:
        self.inner = InMemoryJournal()
        self.broken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append_and_read(self, *arguments: Any) -> Any:
        if self.broken:
            self.broken = False
            raise ConnectionError("the store is gone")
        return self.inner.append_and_read(*arguments)


def test_a_store_that_breaks_during_a_compression_loses_nothing() -> None:
    # Defect 79.
    journal = BreaksOnce()
    memory = filled(journal=journal)
    before = memory.digest()
    journal.broken = True
    with pytest.raises(ConnectionError):
        run(memory.compress_overdue())
    assert memory.digest() == before
    # It was not the compressor that failed, so that the next attempt may come at once.
    assert run(memory.compress_overdue()) is not None


class Slow(Says):
    """A compressor that works until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()

    def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
        self.began.set()
        assert self.may_end.wait(10)
        return super().compress(messages, budget_tokens)


async def meanwhile(memory: GradedMemory, act: Any) -> Message | None:
    """Compresses, and acts while the compressor works."""
    slow = memory.compressor
    assert isinstance(slow, Slow)
    task = asyncio.create_task(memory.compress_overdue())
    while not slow.began.is_set():
        await asyncio.sleep(0.001)
    act()
    slow.may_end.set()
    return await task


def test_messages_that_come_while_the_compressor_works_are_kept() -> None:
    # Defect 80.
    memory = filled(Slow())
    new: list[Message] = []
    summary = run(
        meanwhile(
            memory, lambda: new.extend(memory.extend([user("hurry"), assistant("yes")]))
        )
    )
    assert summary is not None
    assert [message.id for message in memory.messages(Tier.SHORT)][-2:] == [
        message.id for message in new
    ]
    kept = {message.id for message in memory.messages()}
    gone = {source.id for source in memory.sources(summary.id)}
    assert len(kept | gone) == 65
    assert not kept & gone


def test_a_summary_of_what_was_removed_meanwhile_is_dropped() -> None:
    memory = filled(Slow())
    due = memory.overdue()
    assert due is not None
    assert run(meanwhile(memory, lambda: memory.remove(due.ids[3]))) is None
    assert memory.size(Tier.MEDIUM) == 0
    assert (memory.status().failures, memory.status().void) == (0, 1)
    assert memory.size() == 61


def test_two_calls_do_not_ask_the_compressor_twice() -> None:
    memory = filled(Slow())

    async def both() -> tuple[Message | None, Message | None]:
        first = asyncio.create_task(memory.compress_overdue())
        slow = memory.compressor
        assert isinstance(slow, Slow)
        while not slow.began.is_set():
            await asyncio.sleep(0.001)
        second = await memory.compress_overdue()
        slow.may_end.set()
        return await first, second

    first, second = run(both())
    assert first is not None
    assert second is None


def test_a_failing_compressor_changes_nothing_and_is_waited_for() -> None:
    # Defects 81 and 94.
    compressor = Fails()
    memory = filled(compressor)
    before = [memory.messages(tier) for tier in Tier]
    assert run(memory.compress_overdue()) is None
    assert [memory.messages(tier) for tier in Tier] == before
    status = memory.status()
    assert (status.failures, status.last_failure) == (1, "the model is down")
    assert status.messages_to_wait == 8
    assert not status.overdue
    for _ in range(40):
        memory.add(assistant("more"))
        run(memory.compress_overdue())
    assert len(compressor.asked) == 3
    memory.compressor = Says()
    for _ in range(40):
        memory.add(assistant("more"))
    assert run(memory.compress_overdue()) is not None
    assert memory.status().failures == 0


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("key"), RecursionError(), KeyError]
)
def test_an_error_of_the_compressors_own_is_a_failure_like_any_other(
    error: Any,
) -> None:
    class Broken(Says):
        def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
            raise error

    memory = filled(Broken())
    assert run(memory.compress_overdue()) is None
    status = memory.status()
    assert status.failures == 1
    # Its name alone: its words may hold a secret.
    assert status.last_failure.endswith("Error")
    assert memory.size() == 62
    memory.extend([assistant("more")] * 8)
    memory.compressor = Says()
    assert run(memory.compress_overdue()) is not None


def test_a_long_term_above_the_threshold_compresses_nothing() -> None:
    # Defect 82.
    compressor = Says()
    memory = GradedMemory(SMALL, compressor=compressor)
    memory.add(user("TASK"))
    for number in range(60):
        memory.commit_to_long_term(memory.add(assistant(f"fact {number}, kept")).id)
    assert memory.status().tokens[Tier.LONG] > SMALL.threshold_tokens
    for _ in range(5):
        memory.add(assistant("more"))
        assert run(memory.compress_overdue()) is None
    assert compressor.asked == []


def test_tokens_are_those_of_what_is_there() -> None:
    # Defect 83.
    memory = GradedMemory(SMALL)
    message = user("The same words.").message("a")
    memory.add(message)
    memory.add(message)
    memory.commit_to_long_term("a")
    memory.commit_to_long_term("a")
    cost = Estimate().count(message)
    assert sum(memory.status().tokens.values()) == cost
    assert memory.tokens(memory.context()) == cost
    memory.clear()
    assert sum(memory.status().tokens.values()) == cost
    again = GradedMemory(SMALL, memory._following.journal)
    assert again.status().tokens == memory.status().tokens


def test_a_message_that_cannot_be_counted_is_not_stored() -> None:
    # Defect 85.
    class Picky(Estimate):
        def count(self, message: Message) -> int:
            raise TypeError("cannot count this")

    memory = GradedMemory(GradedSettings(counter=Picky()))
    for message in (user("x"), user("x").message("a")):
        with pytest.raises(TypeError, match="cannot count"):
            memory.add(message)
    assert (len(memory), memory.seq) == (0, 1)
    with pytest.raises(TypeError, match="message must be a Message or a Draft"):
        memory.add("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="elements must be a tuple"):
        memory.add(user(b"bytes"))  # type: ignore[arg-type]
    assert memory.seq == 1


def test_the_task_the_rules_and_the_question_survive_compression() -> None:
    # Defect 86: LoongFlow keeps the last hint and drops the task before it.
    memory = GradedMemory(SMALL, compressor=Says())
    memory.add(system("RULES"))
    memory.add(user("TASK"))
    for number in range(30):
        memory.add(assistant(f"work {number}, which takes some words"))
    memory.add(user("HINT"))
    for number in range(30, 60):
        memory.add(assistant(f"work {number}, which takes some words"))
    summary = run(memory.compress_overdue())
    assert summary is not None
    shown = texts(memory.context())
    assert shown[:3] == ["RULES", "a short summary", "TASK"]
    assert shown[3] == "HINT"
    assert shown[-1].startswith("work 59")
    assert {"TASK", "HINT", "RULES"}.isdisjoint(texts(memory.sources(summary.id)))


def test_a_system_prompt_and_a_question_alone_are_never_compressed() -> None:
    memory = GradedMemory(GradedSettings(threshold_tokens=10), compressor=Says())
    memory.add(system("rule " * 50))
    memory.add(user("question " * 50))
    assert memory.overdue() is None
    with pytest.raises(ValueError, match="must hold what is pinned"):
        memory.context()
    assert len(memory.context(1000)) == 2


def test_the_long_term_lives_where_the_caller_says(tmp_path: Path) -> None:
    # Defect 87.
    url = f"sqlite:///{tmp_path / 'agent.db'}"
    with GradedMemory(SMALL, open_journal(url)) as memory:
        fact = memory.add(user("The key is under the mat."))
        memory.commit_to_long_term(fact.id)
    with GradedMemory(SMALL, open_journal(url)) as memory:
        assert memory.messages("long") == [fact]
        assert memory.tier(fact.id) is Tier.LONG


def test_adding_appends_and_never_rewrites(tmp_path: Path) -> None:
    # Defect 92: the file of LoongFlow is written anew at each message.
    path = tmp_path / "agent.db"
    with GradedMemory(journal=open_journal(f"sqlite:///{path}")) as memory:
        for number in range(300):
            memory.add(assistant(f"{number} " + "word " * 200))
        write = path.with_name(path.name + "-wal").stat().st_size + path.stat().st_size
        memory.add(assistant("one more"))
        after = path.with_name(path.name + "-wal").stat().st_size + path.stat().st_size
    assert after - write < 100_000


def test_there_is_a_search() -> None:
    # Defect 93.
    memory = GradedMemory(SMALL)
    memory.add(assistant("The password of the router is hunter2."))
    fact = memory.add(assistant("The router stands in the cellar."))
    memory.add(assistant("Lunch was good."))
    memory.commit_to_long_term(fact.id)
    found = memory.search("router cellar")
    assert texts([one.message for one in found]) == [
        "The router stands in the cellar.",
        "The password of the router is hunter2.",
    ]
    assert [one.tier for one in found] == [Tier.LONG, Tier.SHORT]
    assert found[0].reason.relevance == 1.0
    assert memory.search("nowhere") == []
    assert len(memory.search("router", limit=1)) == 1
    memory.remove(fact.id)
    assert [one.message.id for one in memory.search("cellar")] == []


@pytest.mark.parametrize("summary", ["", "  \n", "\u200b\u200d\ufeff", "\u2800"])
def test_an_empty_summary_is_refused_and_nothing_is_lost(summary: str) -> None:
    # Defect 94.
    memory = filled(Says(summary))
    due = memory.overdue()
    assert due is not None
    with pytest.raises(ValueError, match="summary must not be empty"):
        memory.compressed(due.ids, summary)
    assert run(memory.compress_overdue()) is None
    assert memory.size() == 62
    assert "must not be empty" in memory.status().last_failure


def test_a_summary_larger_than_what_it_stands_for_is_refused() -> None:
    memory = filled(Says("much " * 5000))
    assert run(memory.compress_overdue()) is None
    assert memory.size() == 62
    assert "summary must be smaller" in memory.status().last_failure


@pytest.mark.parametrize("summary", [None, 3, ["text"], "\ud800"])
def test_a_summary_that_is_no_text_is_refused(summary: Any) -> None:
    memory = filled(Says(summary))
    assert run(memory.compress_overdue()) is None
    assert memory.size() == 62
    assert "summary must be" in memory.status().last_failure


def test_a_summary_above_its_budget_is_refused_and_waited_for() -> None:
    # Smaller than its messages, so that it could go on for ever.
    compressor = Says("word " * 60)
    memory = filled(compressor)
    for _ in range(20):
        run(memory.compress_overdue())
        memory.add(assistant("more"))
    status = memory.status()
    assert (status.compressions, len(compressor.asked), status.failures) == (0, 2, 2)
    assert status.last_failure == "summary must have at most 40 tokens, got 60"


def test_of_a_failure_the_beginning_is_kept() -> None:
    memory = GradedMemory(SMALL)
    memory.compression_failed("x" * 100_000)
    assert memory.status().last_failure == "x" * 999 + "…"


def test_a_compressor_that_hangs_is_asked_once() -> None:
    memory = filled(Slow())
    slow = memory.compressor
    assert isinstance(slow, Slow)

    async def impatient() -> None:
        for _ in range(5):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(memory.compress_overdue(), 0.05)
            memory.extend([assistant("more")] * 20)

    before = threading.active_count()
    run(impatient())
    assert threading.active_count() == before + 1
    status = memory.status()
    assert (status.failures, status.overdue) == (1, True)
    assert status.last_failure.startswith("cancelled")
    slow.may_end.set()
    deadline = time.monotonic() + 10
    while run(memory.compress_overdue()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert memory.status().compressions == 1
    assert len(slow.asked) == 2


def test_summaries_that_always_come_too_late_are_counted_and_waited_for() -> None:
    class Spoilt(Says):
        def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
            memory.remove(messages[0].id)
            return super().compress(messages, budget_tokens)

    compressor = Spoilt()
    memory = filled(compressor)
    for _ in range(30):
        memory.add(assistant("more"))
        assert run(memory.compress_overdue()) is None
    assert memory.status().void == len(compressor.asked) == 4


def test_an_outage_of_the_compressor_is_caught_up_in_parts() -> None:
    class Small(Says):
        def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
            super().compress(messages, budget_tokens)
            if memory.tokens(messages) > 2 * SMALL.threshold_tokens:
                raise CompressionFailed("that is too long for the model")
            return self.text

    memory = filled(Small(), n=1_000)
    for _ in range(40):
        memory.add(assistant("more"))
        run(memory.compress_overdue())
    status = memory.status()
    assert status.all_failures == 0
    assert not status.overdue
    assert status.tokens[Tier.SHORT] + status.tokens[Tier.MEDIUM] <= 400


def test_the_newest_output_is_shown_before_it_is_compressed() -> None:
    memory = filled()
    memory.add(assistant(ToolCall("c", "read")))
    output = memory.add(tool("c", "read", "line of the file " * 60))
    assert memory.tokens([output]) > SMALL.recent_tokens
    assert run(memory.compress_overdue()) is not None
    assert memory.context()[-1] == output


def test_what_does_not_fit_even_alone_is_passed_over_and_named() -> None:
    memory = filled(n=5)
    call = memory.add(assistant(ToolCall("c", "read")))
    output = memory.add(tool("c", "read", "line of the file " * 200))
    assert texts(memory.context())[-1] == "step 4 of the work"
    assert memory.status().too_large == (call.id, output.id)
    assert memory.context(1_000)[-1] == output


def test_a_bundle_of_outputs_of_two_messages_stops_nothing() -> None:
    journal = InMemoryJournal()
    memory = GradedMemory(SMALL, journal, compressor=Says())
    memory.add(user("t"))
    memory.add(assistant(ToolCall("a", "f")))
    memory.add(assistant(ToolCall("b", "f"), ToolCall("c", "f")))
    memory.add(
        draft("tool", *[ToolOutput(one, "f", f"of {one}") for one in ("a", "b", "c")])
    )
    for number in range(40):
        memory.add(assistant(f"step {number} of the work after it"))
    summary = run(memory.compress_overdue())
    assert summary is not None
    assert len(memory.sources(summary.id)) > 3
    memory.clear()
    assert GradedMemory(SMALL, journal).digest() == memory.digest()


@pytest.mark.parametrize("n_tokens", [2.0, -1, True, "5", None])
def test_a_count_that_is_none_is_refused_before_anything_is_written(
    n_tokens: Any,
) -> None:
    class Odd(Estimate):
        def count(self, message: Message) -> int:
            return n_tokens  # type: ignore[no-any-return]

    journal = InMemoryJournal()
    memory = GradedMemory(GradedSettings(counter=Odd()), journal)
    for message in (user("x"), user("x").message("a")):
        with pytest.raises((TypeError, ValueError), match="tokens must be"):
            memory.add(message)
    assert memory.seq == 1
    assert len(GradedMemory(GradedSettings(counter=Odd()), journal)) == 0


def test_a_flag_that_is_none_is_refused_before_anything_is_written() -> None:
    memory = filled()
    seq = memory.seq
    with pytest.raises(TypeError, match="everything must be"):
        memory.clear(everything=1)  # type: ignore[arg-type]
    assert (memory.seq, memory.size()) == (seq, 62)


def test_what_another_worker_was_faster_to_take_is_not_reported_as_done() -> None:
    journal = InMemoryJournal()
    one = filled(journal=journal, stream="one")
    ids = [message.id for message in one.messages("short")[2:30]]
    two = GradedMemory(SMALL, journal, stream="two")
    two.compressed(ids[:10], "short")
    assert ids[0] in one
    with pytest.raises(KeyError, match="id must name a message in a tier"):
        one.commit_to_long_term(ids[0], ids[20])
    assert one.tier(ids[20]) is Tier.LONG
    two.compressed(ids[10:15], "short")
    assert one.remove(ids[12]) == ()
    two.remove(ids[16])
    assert ids[16] not in one or one.remove(ids[16]) == ()
    two.remove(ids[17])
    with pytest.raises(KeyError, match="id must name a message in a tier"):
        one.set_task(ids[17])
    assert one.remove(ids[18]) == (ids[18],)


def test_a_corrected_output_takes_the_place_of_the_wrong_one() -> None:
    memory = GradedMemory(SMALL)
    memory.add(user("task"))
    call = memory.add(assistant(ToolCall("c", "f")))
    wrong = memory.add(tool("c", "f", "wrong"))
    right = memory.add(tool("c", "f", "right"))
    dead = memory.supersede(wrong.id, right.id, "corrected")
    assert dead.status is Status.SUPERSEDED
    assert memory.context()[1:] == [call, right]
    assert memory.amendments(wrong.id)[0].by == right.id


def test_an_output_follows_its_call_through_the_tiers() -> None:
    memory = GradedMemory(SMALL)
    memory.add(user("task"))
    call = memory.add(assistant(ToolCall("c", "f")))
    memory.commit_to_long_term(call.id)
    output = memory.add(tool("c", "f", "42"))
    memory.add(user("q"))
    assert memory.messages("long") == [call, output]
    late = memory.add(tool("c", "f", "42 (sent twice)"))
    memory.clear()
    assert memory.messages() == [call, output, late]
    assert memory.context() == [call, late]
    assert memory.remove(call.id) == (call.id, output.id, late.id)
    assert memory.context() == []


def test_an_output_that_another_worker_was_faster_to_add_finds_its_call() -> None:
    journal = InMemoryJournal()
    one = GradedMemory(SMALL, journal, stream="one")
    two = GradedMemory(SMALL, journal, stream="two")
    output = two.add(tool("c", "f", "42"))
    call = one.add(assistant(ToolCall("c", "f")))
    assert one.context() == [call, output]
    assert (one.status().open_calls, one.status().orphans) == (0, ())
    assert GradedMemory(SMALL, journal).digest() == one.digest()


def test_the_words_on_the_way_leave_the_context() -> None:
    memory = GradedMemory(SMALL)
    memory.add(system("sys"))
    memory.add(user("task"))
    memory.add(assistant(ToolCall("c", "f")))
    for number in range(100):
        memory.add(tool("c", "f", f"{number} % of the work done", "in_progress"))
    assert texts(memory.context())[2:] == ["f({})", "99 % of the work done"]
    memory.add(tool("c", "f", "all done"))
    assert texts(memory.context())[2:] == ["f({})", "all done"]
    assert memory.size() == 104


def test_facts_of_the_long_term_are_not_crowded_out() -> None:
    memory = GradedMemory(SMALL)
    memory.add(user("task"))
    facts = [memory.add(assistant(f"fact {number} is kept")) for number in range(60)]
    memory.commit_to_long_term(*[fact.id for fact in facts])
    memory.extend([assistant(f"step {number} of the work") for number in range(60)])
    shown = memory.context()
    assert shown.index(facts[-1]) >= 5
    assert texts(shown)[-1] == "step 59 of the work"


def test_sources_are_in_the_order_of_time() -> None:
    memory = filled()
    first, second, third = memory.messages("short")[2:5]
    summary = memory.compressed([second.id, first.id], "s")
    assert memory.sources(summary.id) == [first, second]
    again = memory.compressed([third.id, summary.id], "s")
    assert memory.sources(again.id) == [summary, third]


def test_a_search_may_look_into_what_was_compressed() -> None:
    memory = GradedMemory(SMALL, compressor=Says())
    memory.add(user("task"))
    fact = memory.add(assistant("The gate code is 4711."))
    for number in range(400):
        memory.add(assistant(f"step {number} of the work"))
        run(memory.compress_overdue())
    assert memory.status().compressions > 4
    assert memory.search("gate code") == []
    (found,) = memory.search("gate code", compressed=True)
    assert (found.message, found.tier) == (fact, Tier.MEDIUM)
    assert memory.tier(found.reason.summary) is Tier.MEDIUM
    assert found.reason.score == found.reason.relevance == 1.0
    (here,) = memory.search("task", compressed=True)
    assert here.reason.summary == ""
    assert len(memory.search("work", 3, compressed=True)) == 3
    memory.retract(fact.id, "it was changed")
    assert memory.search("gate code", compressed=True) == []


def test_summaries_of_summaries_may_be_as_deep_as_a_memory_lives_long() -> None:
    memory = GradedMemory(SMALL)
    fact = memory.add(assistant("The gate code is 4711."))
    newest = fact.id
    for _ in range(1_200):
        more = memory.add(assistant("some more of the work"))
        newest = memory.compressed([newest, more.id], "s").id
    (found,) = memory.search("gate", compressed=True)
    assert (found.message, found.reason.summary) == (fact, newest)
    memory.retract(fact.id, "it was changed")
    assert memory.tainted() == {newest: (fact.id,)}


def test_a_compressor_without_its_method_does_not_stay_at_work() -> None:
    memory = filled()
    memory.compressor = type("Odd", (), {"compresses": True})()
    with pytest.raises(AttributeError):
        run(memory.compress_overdue())
    memory.compressor = Says()
    assert run(memory.compress_overdue()) is not None


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"compressor": "extractive"}, "compressor must be a policy with the method"),
        ({"compressor": Extractive}, "compressor must be a policy with the method"),
        ({"recall": "x"}, "recall must be a policy with the method choose"),
        ({"recall": Recall}, "recall must be a policy with the method choose"),
    ],
)
def test_what_is_no_policy_is_refused_at_once(named: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        GradedMemory(SMALL, **named)


def test_a_compressor_must_say_whether_it_compresses() -> None:
    class Silent:
        def compress(self, messages: Sequence[Message], budget_tokens: int) -> str:
            return "x"

    with pytest.raises(TypeError, match=r"compressor\.compresses must be"):
        GradedMemory(SMALL, compressor=Silent())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda m: m.commit_to_long_term(["a"]), TypeError, "id must be"),
        (lambda m: m.tier(["a"]), TypeError, "id must be"),
        (lambda m: m.set_task(["a"]), TypeError, "id must be"),
        (lambda m: m.compressed([["a"]], "s"), TypeError, "ids must be"),
        (lambda m: m.compressed(None, "s"), TypeError, "ids must be a sequence"),
        (lambda m: m.compressed("abc", "s"), TypeError, "ids must be a sequence"),
        (
            lambda m: m.messages("bogus"),
            ValueError,
            "tier must be one of short, medium, long, got 'bogus'",
        ),
        (lambda m: m.size(3), ValueError, "tier must be one of short, medium, long"),
        (lambda m: m.search("x", 0), ValueError, "limit must be at least 1, got 0"),
        (lambda m: m.search(None), TypeError, "text must be"),
        (lambda m: m.search("x", compressed=1), TypeError, "compressed must be"),
        (lambda m: m.recall(None), TypeError, "question must be"),
    ],
)
def test_errors_name_the_argument(call: Any, error: Any, reason: str) -> None:
    memory = filled(n=3)
    with pytest.raises(error, match=f"^{reason}"):
        call(memory)
    assert memory.size() == 5


def test_size_counts_each_message_once() -> None:
    # Defect 95.
    memory = GradedMemory(SMALL)
    one, two = memory.extend([user("a"), user("b")])
    memory.add(one)
    assert memory.commit_to_long_term(one.id) == (one.id,)
    assert memory.commit_to_long_term(one.id) == ()
    assert (memory.size(), memory.size("long"), memory.size("short")) == (2, 1, 1)
    assert memory.messages() == [two, one]


def test_a_summary_knows_what_it_was_made_of(opener: Opener) -> None:
    memory = filled(journal=opener())
    due = memory.overdue()
    assert due is not None
    summary = memory.compressed(due.ids, "They worked.", operator="me", time=4.0)
    assert summary.provenance.inputs == due.ids
    assert (summary.provenance.operator, summary.time) == ("me", 4.0)
    assert memory.sources(summary.id) == list(due.messages)
    assert memory.get(due.ids[0]) == due.messages[0]
    assert memory.tier(due.ids[0]) is None
    assert memory.messages("medium") == [summary]


def test_a_memory_opened_again_is_the_same(opener: Opener) -> None:
    memory = filled(journal=opener())
    run(memory.compress_overdue())
    memory.commit_to_long_term(memory.messages("short")[3].id)
    memory.remove(memory.messages("short")[4].id)
    memory.compression_failed("x")
    shown = memory.context(300)
    again = GradedMemory(SMALL, opener())
    assert again.digest() == memory.digest()
    assert again.context(300) == shown
    memory.compact()
    after = GradedMemory(SMALL, opener())
    assert after.digest() == memory.digest()
    assert after.context(300) == shown


def test_two_workers_see_each_other(opener: Opener) -> None:
    one = GradedMemory(SMALL, opener(), stream="one")
    two = GradedMemory(SMALL, opener(), stream="two")
    first = one.add(user("from one"))
    second = two.add(user("from two"))
    one.sync()
    assert one.messages() == two.messages() == [first, second]
    assert one.digest() == two.digest()


def test_of_two_workers_that_compress_the_same_one_is_late(opener: Opener) -> None:
    one = filled(journal=opener(), stream="one")
    two = GradedMemory(SMALL, opener(), compressor=Says(), stream="two")
    due = two.overdue()
    assert due is not None
    assert run(one.compress_overdue()) is not None
    with pytest.raises(ValueError, match="ids must be in the short or medium-term"):
        two.compressed(due.ids, "late")
    assert one.size() == two.size()


class Overtaken:
    """A journal in which somebody else is faster, once, by a hair."""

    def __init__(self, inner: InMemoryJournal) -> None:
        self.inner = inner
        self.before: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append_and_read(self, *arguments: Any) -> Any:
        if self.before is not None:
            act, self.before = self.before, None
            act()
        return self.inner.append_and_read(*arguments)


def test_a_summary_that_is_overtaken_by_a_hair_is_void_everywhere() -> None:
    shared = InMemoryJournal()
    journal = Overtaken(shared)
    one = filled(journal=journal, stream="one")
    two = GradedMemory(SMALL, shared, stream="two")
    due = one.overdue()
    assert due is not None
    journal.before = lambda: two.remove(due.ids[5])
    with pytest.raises(CompressionFailed, match="another worker changed one of them"):
        one.compressed(due.ids, "late")
    two.sync()
    assert one.digest() == two.digest()
    assert (one.size(), one.size("medium"), one.status().void) == (61, 0, 1)
    second = one.overdue()
    assert second is not None
    journal.before = lambda: two.remove(second.ids[5])
    assert run(one.compress_overdue()) is None
    assert one.status().failures == 0


def test_an_id_that_somebody_was_faster_to_take_is_made_anew() -> None:
    shared = InMemoryJournal()
    journal = Overtaken(shared)
    one = GradedMemory(SMALL, journal)
    two = GradedMemory(SMALL, shared)
    journal.before = lambda: two.add(user("from two"))
    mine = one.add(user("from one"))
    assert texts(one.messages()) == ["from two", "from one"]
    assert one.get(mine.id) == mine


def test_another_configuration_is_refused_by_name() -> None:
    journal = InMemoryJournal()
    GradedMemory(SMALL, journal)
    with pytest.raises(ConfigurationMismatch, match=r"graded\.threshold_tokens: 9000"):
        GradedMemory(GradedSettings(threshold_tokens=9000), journal)


def test_a_retracted_message_leaves_a_tombstone_and_taints_its_summaries() -> None:
    memory = filled()
    summary = run(memory.compress_overdue())
    assert summary is not None
    wrong = summary.provenance.inputs[0]
    assert memory.tainted() == {}
    dead = memory.retract(wrong, "it was a mistake")
    assert dead.status is Status.RETRACTED
    assert memory.get(wrong).status is Status.RETRACTED
    assert memory.tainted() == {summary.id: (wrong,)}
    again = memory.compressed([summary.id], "s")
    assert memory.tainted() == {again.id: (wrong,)}
    with pytest.raises(ValueError, match="which is retracted"):
        memory.retract(wrong, "again")


def test_a_superseded_message_is_out_of_use() -> None:
    memory = GradedMemory(SMALL)
    old, new = memory.extend([assistant("It is Monday."), assistant("It is Tuesday.")])
    dead = memory.supersede(old.id, new.id, "a day went by")
    assert dead.status is Status.SUPERSEDED
    assert memory.amendments(old.id)[0].by == new.id
    assert memory.messages() == [new]
    with pytest.raises(ValueError, match="by must be another message"):
        memory.supersede(new.id, new.id, "")
    with pytest.raises(ValueError, match="by must name a valid message"):
        memory.supersede(new.id, old.id, "")
    with pytest.raises(KeyError, match="id must name a message, got 'nobody'"):
        memory.retract("nobody", "")


def test_a_call_never_loses_its_outputs() -> None:
    memory = GradedMemory(SMALL)
    call = memory.add(assistant(ToolCall("1", "ls")))
    answer = memory.add(tool("1", "ls", "a b c"))
    memory.add(user("thanks"))
    assert memory.commit_to_long_term(answer.id) == (call.id, answer.id)
    assert memory.messages("long") == [call, answer]
    assert memory.remove(call.id) == (call.id, answer.id)
    assert memory.size() == 1


def test_nothing_is_overdue_for_a_compressor_that_never_compresses() -> None:
    memory = filled(Nothing())
    assert not memory.status().overdue
    assert memory.overdue() is None
    assert run(memory.compress_overdue()) is None
    assert memory.status().failures == 0


def test_the_default_compressor_needs_no_model() -> None:
    memory = GradedMemory(SMALL)
    for number in range(60):
        memory.add(assistant(f"The parser handles case {number} of the grammar."))
    summary = run(memory.compress_overdue())
    assert summary is not None
    assert "The parser handles case" in summary.text
    assert summary.provenance.operator == "Extractive"
    assert memory.tokens([summary]) <= SMALL.summary_tokens + 10


def test_what_was_forgotten_stands_in_the_ledger(opener: Opener) -> None:
    settings = GradedSettings(threshold_tokens=400, retention=KeepLiving(3))
    memory = GradedMemory(settings, opener(), compressor=Says())
    memory.add(user("TASK"))
    memory.extend([assistant(f"step {number} of the work") for number in range(60)])
    summary = run(memory.compress_overdue())
    assert summary is not None
    original = summary.provenance.inputs[0]
    assert memory.get(original).text == "step 0 of the work"
    memory.extend([assistant("more") for _ in range(3)])
    line = memory.forgotten(original)
    assert line is not None
    assert line.reason == "KeepLiving"
    ledger = memory.status().ledger["KeepLiving"]
    assert ledger.records == len(summary.provenance.inputs)


def test_a_compacted_memory_lets_go_of_what_was_forgotten(opener: Opener) -> None:
    settings = GradedSettings(threshold_tokens=400, retention=KeepLiving(0))
    memory = GradedMemory(settings, opener(), compressor=Says(), compact_interval=500)
    memory.add(user("TASK"))
    first = memory.add(assistant("step first of the work"))
    for number in range(2_000):
        memory.add(assistant(f"step {number} of the work"))
        run(memory.compress_overdue())
    assert memory.forgotten(first.id) is not None
    again = GradedMemory(settings, opener())
    assert again.digest() == memory.digest()
    with pytest.raises(KeyError, match="which KeepLiving forgot"):
        again.get(first.id)
    assert texts(again.context())[-1] == "step 1999 of the work"


def test_both_stacks_share_one_store_and_leave_each_other_alone(
    opener: Opener,
) -> None:
    journal = opener()
    graded = GradedMemory(SMALL, journal, scope="talk")
    evolution = EvolutionaryMemory(journal=opener(), scope="search")
    message = graded.add(user("Improve this."))
    solution = evolution.remember("x = 1", 0.5)
    graded.sync()
    assert len(graded) == len(evolution) == 1
    assert GradedMemory(SMALL, opener(), scope="talk").messages() == [message]
    again = EvolutionaryMemory(journal=opener(), scope="search")
    assert again.get(solution.id) == solution
    with pytest.raises(KeyError):
        graded.get(solution.id)
    with pytest.raises(ValueError, match="scope must be 'talk', this memory's own"):
        graded.add(user("x").message("a", scope="search"))


def test_a_purge_of_one_population_leaves_the_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'both.db'}"
    with (
        GradedMemory(SMALL, open_journal(url, "talk")) as graded,
        EvolutionaryMemory(journal=open_journal(url, "search")) as evolution,
    ):
        graded.add(user("hello"))
        evolution.remember("x = 1", 0.5)
    purge(url, "search")
    with GradedMemory(SMALL, open_journal(url, "talk")) as graded:
        assert texts(graded.messages()) == ["hello"]
    with EvolutionaryMemory(journal=open_journal(url, "search")) as evolution:
        assert len(evolution) == 0


def test_an_id_that_another_message_has_is_refused() -> None:
    memory = GradedMemory(SMALL)
    message = user("x").message("a")
    assert memory.add(message) is memory.add(message)
    with pytest.raises(ValueError, match="got 'a', which another one has"):
        memory.add(user("y").message("a"))
    assert memory.messages() == [message]


def test_what_was_removed_is_not_taken_for_added_again() -> None:
    memory = GradedMemory(SMALL)
    message = memory.add(user("x").message("a"))
    memory.remove("a")
    with pytest.raises(ValueError, match="which was removed: add it under a new id"):
        memory.add(message)
    memory.add(dataclasses.replace(message, id="b"))
    assert memory.size() == 1


def test_the_bytes_of_what_is_kept_are_known() -> None:
    keeps = filled()
    forgets = GradedMemory(GradedSettings(retention=KeepLiving(0)))
    for memory in (keeps, forgets):
        messages = memory.messages()
        before = sum(len(codec.body(message)) for message in messages)
        assert memory.kept_bytes == before
        message = memory.add(assistant("x"))
        memory.remove(message.id)
        kept = len(codec.body(message)) if memory is keeps else 0
        assert memory.kept_bytes == before + kept


def test_a_message_with_a_standing_is_not_added() -> None:
    dead = Message(id="a", role="user", elements="x", status=Status.RETRACTED)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="status must be valid"):
        GradedMemory(SMALL).add(dead)


def test_equal_calls_give_equal_memories() -> None:
    one, two = filled(), filled()
    assert one.digest() == two.digest()
    assert [m.id for m in one.messages()] == [m.id for m in two.messages()]
    for other in (filled(seed=("study", 3)), filled(stream="another")):
        assert not {m.id for m in other.messages()} & {m.id for m in one.messages()}
    with pytest.raises(TypeError, match="seed must be an integer"):
        filled(seed=1.5)


HASH_SEED_CHECK = """
import asyncio
from tests.memory.graded.test_memory import SMALL, filled
from memory.graded.memory import GradedMemory
memory = filled()
memory.compressor = GradedMemory(SMALL).compressor
asyncio.run(memory.compress_overdue())
print(memory.digest(), [r.message.id for r in memory.recall("step 40 work")])
"""


def test_the_hash_seed_of_the_process_changes_nothing() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", HASH_SEED_CHECK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "21", "24")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("ids", [["nobody"], [], ["a", "a"]])
def test_a_compression_of_what_is_not_there_is_refused(ids: list[str]) -> None:
    memory = GradedMemory(SMALL)
    memory.add(user("t").message("t"))
    memory.add(assistant("x " * 50).message("a"))
    memory.add(user("q").message("q"))
    with pytest.raises(ValueError, match=r"^ids must be"):
        memory.compressed(ids, "s")
    with pytest.raises(ValueError, match=r"^ids must not be pinned"):
        memory.compressed(["a", "q"], "s")


def test_what_is_not_there_can_be_neither_committed_nor_be_the_task() -> None:
    memory = GradedMemory(SMALL)
    with pytest.raises(KeyError, match="id must name a message in a tier"):
        memory.commit_to_long_term("nobody")
    with pytest.raises(KeyError, match="id must name a message in a tier"):
        memory.set_task("nobody")
    with pytest.raises(KeyError, match="id must name a message, got 'nobody'"):
        memory.get("nobody")


def test_a_named_task_stays_in_every_context() -> None:
    memory = filled()
    middle = memory.messages("short")[30]
    memory.set_task(middle.id)
    assert memory.status().task == middle.id
    run(memory.compress_overdue())
    assert middle in memory.context()


def test_clear_empties_all_but_the_long_term() -> None:
    memory = filled()
    fact = memory.messages("short")[7]
    memory.commit_to_long_term(fact.id)
    run(memory.compress_overdue())
    memory.clear()
    assert memory.messages() == [fact]
    memory.clear(everything=True)
    assert memory.messages() == []
    assert memory.get(fact.id) == fact


def test_a_memory_can_be_looked_at_as_it_was() -> None:
    memory = filled()
    seq, before = memory.seq, memory.digest()
    run(memory.compress_overdue())
    assert memory.past(seq).digest() == before


def test_recall_of_facts_is_the_same_every_time_and_has_reasons() -> None:
    memory = filled()
    memory.add(assistant("The gate code is 4711."))
    answers = [memory.recall("What is the gate code?") for _ in range(5)]
    assert all(answer == answers[0] for answer in answers)
    best = answers[0][0]
    assert best.message.elements == (Text("The gate code is 4711."),)
    reason = best.reason
    assert reason.score == pytest.approx(
        reason.relevance + reason.recency + reason.tier
    )
    assert reason.u is None


def test_an_empty_question_recalls_the_newest_and_the_long_term() -> None:
    memory = filled(recall=Recall(long=5.0))
    old = memory.messages("short")[3]
    memory.commit_to_long_term(old.id)
    recalled = memory.recall("", 3)
    assert texts([one.message for one in recalled]) == [
        old.text,
        "step 59 of the work",
        "step 58 of the work",
    ]
    assert recalled[0].tier is Tier.LONG
    assert recalled[1].reason.recency > recalled[2].reason.recency


def test_recall_at_a_temperature_is_keyed_by_its_decision() -> None:
    hot = Recall(temperature=5.0)
    one, two = filled(recall=hot), filled(recall=hot)
    drawn = [[r.message.id for r in one.recall("step work")] for _ in range(8)]
    assert drawn == [[r.message.id for r in two.recall("step work")] for _ in range(8)]
    assert len({tuple(ids) for ids in drawn}) > 1
    again = [r.message.id for r in two.recall("step work", decision=3)]
    assert again == drawn[3]
    assert all(r.reason.u is not None for r in one.recall("step work"))


def originals(memory: GradedMemory) -> list[str]:
    """Returns the texts of all that is in a tier or behind a summary in one."""
    waiting, found = memory.messages(), []
    while waiting:
        message = waiting.pop()
        if message.sender == "compressor":
            waiting += memory.sources(message.id)
        else:
            found.append(message.text)
    return found


def test_threads_may_share_a_memory() -> None:
    memory = GradedMemory(SMALL, compressor=Says())

    def work(name: str) -> None:
        for number in range(100):
            memory.add(assistant(f"{name} {number}"))
            memory.context(400)
            run(memory.compress_overdue())

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert memory.status().compressions > 0
    said = originals(memory)
    assert sorted(said) == sorted(f"{name} {n}" for name in "abc" for n in range(100))


def test_a_transcript_of_2000_messages_stays_within_its_budget() -> None:
    settings = GradedSettings(threshold_tokens=1_000)
    memory = GradedMemory(settings)
    memory.add(system("Answer in one sentence."))
    memory.add(user("Write a parser for the language of the manual."))
    for number in range(1_000):
        call = ToolCall(f"c{number}", "run", {"case": number})  # type: ignore[arg-type]
        memory.add(assistant(f"I try case {number} of the grammar now.", call))
        memory.add(tool(f"c{number}", "run", f"case {number}: {number % 7} errors"))
        run(memory.compress_overdue())
        shown = memory.context()
        assert memory.tokens(shown) <= 1_000
        assert len({message.id for message in shown}) == len(shown)
        status = memory.status()
        assert status.tokens[Tier.SHORT] + status.tokens[Tier.MEDIUM] <= 1_100
    assert memory.status().compressions >= 40
    assert memory.status().all_failures == 0


def test_adding_costs_the_same_however_many_there_are() -> None:
    memory = GradedMemory(GradedSettings(threshold_tokens=10**9))
    message = "word " * 20
    seconds: list[float] = []
    for _ in range(8):
        start = time.perf_counter()
        for _ in range(2_500):
            memory.add(assistant(message))
        seconds.append(time.perf_counter() - start)
    # Linear growth would make the last block many times as slow as the first.
    assert min(seconds[4:]) < 3 * min(seconds[:4])


class LosesReplies(InMemoryJournal):
    """Appends, and says that somebody else had: as after a lost reply."""

    losing = False

    def append_and_read(self, *arguments: Any) -> Any:
        done = super().append_and_read(*arguments)
        return done._replace(new=False) if self.losing else done


def test_a_message_whose_reply_was_lost_is_added_once() -> None:
    journal = LosesReplies()
    memory = GradedMemory(journal=journal)
    journal.losing = True
    added = [memory.add(user("the same words")) for _ in range(4)]
    assert [one.id for one in memory.messages()] == [one.id for one in added]
    memory.retract(added[0].id, "wrong")
    assert len(memory) == 3
