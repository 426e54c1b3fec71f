"""No message is ever lost, whatever is done in whatever order, and whenever it dies.

Every message that was acknowledged is in one tier, or behind a summary that is, or was
removed by the user, or stands in the ledger of the forgotten.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from memory import open_journal
from memory.graded.memory import GradedMemory, Overdue
from memory.graded.messages import (
    Draft,
    ToolCall,
    ToolOutput,
    assistant,
    draft,
    system,
    tool,
    user,
)
from memory.graded.settings import GradedSettings
from memory.graded.tiers import Tier
from memory.policies import Retention
from memory.retention.keep_all import KeepAll
from memory.retention.keep_living import KeepLiving
from memory.stores.in_memory import InMemoryJournal

ROOT = Path(__file__).resolve().parents[3]


def behind(memory: GradedMemory, ids: Sequence[str]) -> set[str]:
    """Returns ``ids`` and all that these summaries were made of, down to the first."""
    found: set[str] = set()
    waiting = list(ids)
    while waiting:
        id_ = waiting.pop()
        found.add(id_)
        try:
            waiting += [
                one for one in memory.get(id_).provenance.inputs if one not in found
            ]
        except KeyError:
            assert memory.forgotten(id_) is not None
    return found


def in_tiers(memory: GradedMemory) -> list[str]:
    ids = [message.id for message in memory.messages()]
    assert len(set(ids)) == len(ids)
    return ids


def check(memory: GradedMemory, said: Sequence[str], removed: set[str]) -> None:
    """Fails if one of ``said`` is nowhere."""
    accounted = behind(memory, in_tiers(memory))
    for id_ in said:
        assert id_ in accounted or id_ in removed or memory.forgotten(id_) is not None
        if memory.forgotten(id_) is None:
            assert memory.get(id_).id == id_


class Conversation(RuleBasedStateMachine):
    """Two workers of one memory, either of which may be opened again at any time."""

    @initialize(
        retention=st.sampled_from([KeepAll(), KeepLiving(0), KeepLiving(4)]),
        interval=st.sampled_from([None, 1, 7]),
    )
    def begin(self, retention: Retention, interval: int | None) -> None:
        self.settings = GradedSettings(
            threshold_tokens=60, backoff_messages=2, retention=retention
        )
        self.interval = interval
        self.journal = InMemoryJournal()
        self.workers = [self.open(0), self.open(1)]
        self.said: list[str] = []
        self.removed: set[str] = set()
        self.calls = 0
        self.due: list[Overdue] = []

    def open(self, worker: int) -> GradedMemory:
        return GradedMemory(
            self.settings,
            self.journal,
            stream=str(worker),
            compact_interval=self.interval,
        )

    def add(self, worker: int, draft: Draft) -> None:
        self.said.append(self.workers[worker].add(draft).id)

    @rule(worker=st.integers(0, 1), n=st.integers(4, 12), at_once=st.booleans())
    def work(self, worker: int, n: int, at_once: bool) -> None:
        for _ in range(n):
            self.add(worker, assistant("some words of work"))
        self.begin_to_compress(worker)
        if at_once and self.due:
            self.end_to_compress(worker, True)

    @rule(worker=st.integers(0, 1))
    def ask(self, worker: int) -> None:
        self.add(worker, user("a question"))

    @rule(worker=st.integers(0, 1))
    def instruct(self, worker: int) -> None:
        if self.workers[worker].status().tokens[Tier.SHORT] < 100:
            self.add(worker, system("rule"))

    @rule(worker=st.integers(0, 1))
    def call(self, worker: int) -> None:
        self.calls += 1
        self.add(worker, assistant(ToolCall(f"c{self.calls % 3}", "f")))

    @rule(
        worker=st.integers(0, 1),
        number=st.integers(0, 3),
        outcome=st.sampled_from(["success", "in_progress"]),
    )
    def answer(self, worker: int, number: int, outcome: str) -> None:
        self.add(worker, tool(f"c{number}", "f", "an answer", outcome))

    @rule(worker=st.integers(0, 1), number=st.integers(0, 2))
    def answer_several(self, worker: int, number: int) -> None:
        outputs = [ToolOutput(f"c{one}", "f", "x") for one in (number, number + 1)]
        self.add(worker, draft("tool", *outputs))

    @rule(worker=st.integers(0, 1), data=st.data())
    def correct(self, worker: int, data: st.DataObject) -> None:
        memory = self.workers[worker]
        id_, by = self.pick(worker, data), self.pick(worker, data)
        if id_ is None or by is None or id_ == by:
            return
        before = in_tiers(memory)
        memory.supersede(id_, by, "wrong")
        assert by in memory
        gone = [one for one in before if one not in memory]
        assert id_ in gone
        self.removed |= behind(memory, gone)

    def pick(self, worker: int, data: st.DataObject) -> str | None:
        self.workers[worker].sync()
        ids = in_tiers(self.workers[worker])
        return data.draw(st.sampled_from(ids)) if ids else None

    @rule(worker=st.integers(0, 1), data=st.data())
    def remove(self, worker: int, data: st.DataObject) -> None:
        memory, id_ = self.workers[worker], self.pick(worker, data)
        if id_ is not None:
            gone = memory.remove(id_)
            assert id_ in gone
            self.removed |= behind(memory, gone)

    @rule(worker=st.integers(0, 1), data=st.data())
    def retract(self, worker: int, data: st.DataObject) -> None:
        memory, id_ = self.workers[worker], self.pick(worker, data)
        if id_ is not None:
            before = in_tiers(memory)
            memory.retract(id_, "wrong")
            gone = [one for one in before if one not in memory]
            self.removed |= behind(memory, gone)

    @rule(worker=st.integers(0, 1), data=st.data())
    def commit(self, worker: int, data: st.DataObject) -> None:
        id_ = self.pick(worker, data)
        if id_ is not None:
            self.workers[worker].commit_to_long_term(id_)
            assert self.workers[worker].tier(id_) is Tier.LONG

    @rule(worker=st.integers(0, 1), data=st.data())
    def name_the_task(self, worker: int, data: st.DataObject) -> None:
        id_ = self.pick(worker, data)
        if id_ is not None:
            self.workers[worker].set_task(id_)

    @rule(worker=st.integers(0, 1), everything=st.booleans(), chance=st.integers(0, 9))
    def clear(self, worker: int, everything: bool, chance: int) -> None:
        if chance > 0:
            return
        memory = self.workers[worker]
        memory.sync()
        before = in_tiers(memory)
        memory.clear(everything=everything)
        self.removed |= behind(memory, [id_ for id_ in before if id_ not in memory])

    def begin_to_compress(self, worker: int) -> None:
        due = self.workers[worker].overdue()
        if due is not None:
            self.due.append(due)

    @precondition(lambda self: self.due)
    @rule(worker=st.integers(0, 1), good=st.sampled_from([True, True, False]))
    def end_a_slow_one(self, worker: int, good: bool) -> None:
        self.end_to_compress(worker, good)

    def end_to_compress(self, worker: int, good: bool) -> None:
        due, memory = self.due.pop(0), self.workers[worker]
        memory.sync()
        before = in_tiers(memory)
        if not good:
            memory.compression_failed("no")
            assert in_tiers(memory) == before
            return
        try:
            summary = memory.compressed(due.ids, "short")
        except ValueError:
            assert in_tiers(memory) == before
            return
        assert set(in_tiers(memory)) == (set(before) - set(due.ids)) | {summary.id}

    @rule(worker=st.integers(0, 1))
    def reload(self, worker: int) -> None:
        self.workers[worker].sync()
        digest = self.workers[worker].digest()
        self.workers[worker] = self.open(worker)
        assert self.workers[worker].digest() == digest

    @rule(worker=st.integers(0, 1))
    def compact(self, worker: int) -> None:
        self.workers[worker].compact()

    @invariant()
    def nothing_is_lost(self) -> None:
        if not hasattr(self, "workers"):
            return
        for memory in self.workers:
            memory.sync()
            check(memory, self.said, self.removed)
        assert self.workers[0].digest() == self.workers[1].digest()


TestConversation = Conversation.TestCase
TestConversation.settings = hypothesis_settings(
    max_examples=80, stateful_step_count=40, deadline=None
)


class Dies(Exception):
    """The process is gone."""


class Mortal:
    """A journal whose process dies at its nth write, before it or right after it."""

    def __init__(self, inner: InMemoryJournal, n: int, after: bool) -> None:
        self.inner, self.left, self.after = inner, n, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in ("append_and_read", "save_snapshot", "discard", "trim"):
            return found

        def write(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Dies
            done = found(*arguments)
            if self.left <= 0:
                raise Dies
            return done

        return write


def live(memory: GradedMemory, said: list[str], removed: set[str]) -> None:
    """Does a bit of everything; notes what was acknowledged."""
    said.append(memory.add(user("TASK")).id)
    for number in range(14):
        said.append(memory.add(assistant(f"words of step {number}")).id)
        if number % 5 == 2:
            memory.commit_to_long_term(said[-2])
        if number == 6:
            removed.add(said[4])
            memory.remove(said[4])
        due = memory.overdue()
        if due is not None:
            memory.compressed(due.ids, "short")
        if number == 9:
            memory.compact()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", range(1, 40))
def test_a_death_between_any_two_writes_loses_nothing(n: int, after: bool) -> None:
    settings = GradedSettings(threshold_tokens=60, retention=KeepLiving(0))
    journal = InMemoryJournal()
    said: list[str] = []
    removed: set[str] = set()
    try:
        live(GradedMemory(settings, Mortal(journal, n, after)), said, removed)  # type: ignore[arg-type]
    except Dies:
        pass
    else:
        assert n > 20
    memory = GradedMemory(settings, journal)
    check(memory, said, removed)
    # At most what was under way when it died is there besides.
    extra = set(in_tiers(memory)) - behind(memory, said)
    assert len([id_ for id_ in extra if memory.tier(id_) is not Tier.MEDIUM]) <= 1
    said.append(memory.add(assistant("life goes on")).id)
    check(memory, said, removed)


@pytest.mark.parametrize("store", ["sqlite", "server"])
def test_a_killed_process_loses_nothing_it_acknowledged(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'graded.db'}"
    if store == "server":
        url = request.getfixturevalue("server_url")
    name = f"killed {os.urandom(8).hex()}"
    rng = random.Random(7)
    said: list[str] = []
    for round_ in range(3):
        command = [sys.executable, "-m", "tests.memory.graded.worker"]
        with subprocess.Popen(
            [*command, url, name, str(round_)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as worker:
            assert worker.stdout is not None
            for _ in range(rng.randrange(50, 250)):
                said.append(worker.stdout.readline().strip())
            worker.send_signal(signal.SIGKILL)
            said += [line.strip() for line in worker.stdout if line.endswith("\n")]
    from tests.memory.graded.worker import SETTINGS

    with GradedMemory(SETTINGS, open_journal(url, name)) as memory:
        assert memory.status().compressions > 0
        check(memory, said, set())
        again = GradedMemory(SETTINGS, open_journal(url, name))
        assert again.digest() == memory.digest()
        again.close()
