"""A fold is whole at every moment, and from a snapshot what it is from the first row."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import (
    Axis,
    ConfigurationMismatch,
    CorruptEntry,
    EvolutionaryMemory,
    InMemoryJournal,
    JournalUnreadable,
    Settings,
    UnknownEvent,
)
from memory.bounds.fixed import Fixed
from memory.checkpoints import load_checkpoint, save_checkpoint
from memory.descriptors.length import Length
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.mapping.inverted import Inverted
from memory.ranking.lower_bound import LowerBound
from memory.retention.keep_living import KeepLiving
from memory.retention.max_bytes import MaxBytes
from memory.selection.loongflow import LoongFlow
from memory.stores.sqlite import SqliteJournal
from memory.survival.cell_aware import CellAware
from memory.survival.crowding import Crowding
from memory.survival.oldest import Oldest
from memory.survival.worst import Worst
from memory.temperature.adaptive import Adaptive
from memory.temperature.annealed import Annealed
from memory.topology.complete import Complete
from memory.topology.ring import Ring
from tests.memory.builds import document, document_of, grow, refolded
from tests.memory.resuming import account, attached

ROOT = Path(__file__).resolve().parents[2]
READER = "0::"
AXES = (Axis(Length(), Fixed(0.0, 13.0, 4)),)

configurations = st.builds(
    Settings,
    capacity=st.integers(4, 12),
    elite_size=st.integers(0, 5),
    islands=st.integers(1, 3),
    quota=st.booleans(),
    migration_interval=st.integers(0, 6),
    migration_unit=st.sampled_from(["adds", "generations", "largest_island"]),
    migration_rate=st.sampled_from([0.2, 1.0]),
    migration_relays=st.booleans(),
    deduplicate=st.booleans(),
    axes=st.just(AXES),
    diversity=st.sampled_from(
        [TextShape(), TextShape(sample_size=3), Hamming(), Hamming(sample_size=2)]
    ),
    temperature=st.sampled_from(
        [Adaptive(Inverted()), Annealed(start=1.0, rate=0.9, minimum=0.01)]
    ),
    selection=st.sampled_from([LoongFlow(), Settings().selection]),
    survival=st.sampled_from([Worst(), Oldest(), Crowding(), CellAware()]),
    ranking=st.sampled_from([LowerBound(1.0, 0.2), Settings().ranking]),
    topology=st.sampled_from([Ring(both_ways=True), Complete()]),
    retention=st.sampled_from(
        [Settings().retention, KeepLiving(grace=3), MaxBytes(n_bytes=4_000)]
    ),
)


def corrected(memory: EvolutionaryMemory, k: int) -> None:
    """Says a word on somebody, where there is anybody."""
    ids = memory.ids
    if not ids:
        return
    name = ids[k % len(ids)]
    if k % 3 == 0:
        memory.repeat(name, 0.1 * (k % 9), "again")
    elif k % 3 == 1:
        memory.rescore(name, 0.1 * (k % 7), "the unit was wrong")
    else:
        memory.retract(name, "it cheats")


@given(configurations, st.integers(5, 45), st.integers(1, 30))
@settings(deadline=None, max_examples=100)
def test_from_a_snapshot_the_fold_is_the_same_to_the_last_bit(
    configuration: Settings, before: int, after: int
) -> None:
    journal = InMemoryJournal()
    live = EvolutionaryMemory(configuration, journal, seed=3, compact_interval=None)
    for k in range(before):
        grow(live, 1, start=k)
        if k % 6 == 5:
            corrected(live, k)
    live.compact()
    restored = EvolutionaryMemory(configuration, journal, seed=3, compact_interval=None)
    whole = refolded(live, journal)
    assert document(restored) == document(live) == document_of(whole)
    assert restored.digest() == live.digest() == whole.digest()
    if len(live):
        assert restored.diversity() == live.diversity() == whole.diversity()
        drawn = [
            [
                memory.select(decision=900 + k, island=island, law=True, measure=True)
                for k in range(5)
                for island in ("all", None)
            ]
            for memory in (live, restored)
        ]
        assert drawn[0] == drawn[1]
    # And so is everything that comes after.
    for k in range(before, before + after):
        grow(restored, 1, start=k)
        if k % 6 == 5:
            corrected(restored, k)
    live.sync()
    assert document(live) == document(restored)
    assert document_of(refolded(live, journal)) == document(live)


def spoiled(change: Callable[[bytes], bytes]) -> InMemoryJournal:
    """Returns a journal whose snapshot has been changed."""
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(capacity=5), journal)
    grow(memory, 20)
    memory.compact()
    seq, blob = journal._snapshots[READER]
    journal._snapshots[READER] = (seq, change(blob))
    return journal


@pytest.mark.parametrize(
    "change",
    [
        lambda blob: blob[:-1],
        lambda blob: blob + b"\0",
        lambda blob: blob[:60] + bytes([blob[60] ^ 1]) + blob[61:],
        lambda blob: b"boltzmem snapshot 2\n" + blob[20:],
        lambda blob: b"\x80\x04something else altogether",
        lambda blob: b"x",
    ],
)
def test_a_snapshot_that_is_damaged_or_foreign_is_refused(
    change: Callable[[bytes], bytes],
) -> None:
    with pytest.raises(
        JournalUnreadable, match="snapshot of scope '' at entry 21 is d"
    ):
        EvolutionaryMemory(Settings(capacity=5), spoiled(change))


def test_a_snapshot_of_another_configuration_is_refused() -> None:
    def foreign(blob: bytes) -> bytes:
        text = zlib.decompress(blob[36:])
        packed = zlib.compress(text.replace(b'"fingerprint":"', b'"fingerprint":"0'))
        return blob[:20] + blake2b(packed, digest_size=16).digest() + packed

    with pytest.raises(ConfigurationMismatch, match="the snapshot of scope '' belongs"):
        EvolutionaryMemory(Settings(capacity=5), spoiled(foreign))


class Fragile:
    """A survival rule that goes wrong after ``left`` questions, once or for good."""

    left: int | None = None
    for_good = False
    before: Callable[[], None] | None = None
    error: BaseException = RuntimeError("the rule broke")

    def victim(self, candidates: Any) -> int:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = self.left if self.for_good else None
                if self.before is not None:
                    self.before()
                raise self.error
        return Worst().victim(candidates)


@pytest.mark.parametrize("error", [RuntimeError("the rule broke"), KeyboardInterrupt()])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_fold_that_raises_amid_a_migration_leaves_everything_whole(
    error: BaseException, compacted: bool
) -> None:
    rule = Fragile()
    journal = InMemoryJournal()
    configuration = Settings(
        islands=3,
        capacity=9,
        migration_interval=12,
        migration_rate=1.0,
        survival=rule,
        retention=KeepLiving(),
    )
    memory = EvolutionaryMemory(configuration, journal)
    for k in range(23):
        memory.remember(f"{k}", float(k), island=k % 3)
        if compacted and k == 17:
            memory.compact()
    before = document(memory)
    # The newcomer's own duel, and four of the copies; the fifth copy breaks it.
    rule.left, rule.error = 5, error
    with pytest.raises(type(error)):
        memory.remember("the twenty-fourth", 99.0, island=0, id="last")
    assert document(memory) == before
    assert memory.n_migrations == 1
    # The entry is in the journal, and everybody folds it in now.
    memory.sync()
    assert memory.n_migrations == 2
    assert document_of(refolded(memory, journal)) == document(memory)
    assert len(memory.living()) <= len(memory) == 9


def test_a_rule_that_goes_on_raising_leaves_a_memory_that_is_behind_but_whole() -> None:
    rule = Fragile()
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(capacity=2, survival=rule), journal)
    for k in range(4):
        memory.remember(f"{k}", float(k))
    # It answers while it is asked before the entry is written, and breaks in the fold.
    rule.left, rule.for_good = 1, True
    calls = (lambda: memory.remember("x", 9.0, id="x"), memory.sync)
    for seq, call in zip((0, 3), calls, strict=True):
        with pytest.raises(RuntimeError, match="the rule broke"):
            call()
        # As far as the rule lets it come: the third solution is the first it is asked of.
        assert (memory.seq, len(memory)) == (seq, max(0, seq - 1))
        assert len(memory.living()) == len(memory)
    rule.left = None
    memory.sync()
    assert memory.seq == 6
    assert document_of(refolded(memory, journal)) == document(memory)


def test_where_the_rows_before_are_gone_the_fold_is_taken_from_the_snapshot() -> None:
    rule = Fragile()
    journal = InMemoryJournal()
    configuration = Settings(capacity=3, survival=rule, retention=KeepLiving())
    memory = EvolutionaryMemory(configuration, journal, compact_interval=None)
    grow(memory, 1_100)
    other = EvolutionaryMemory(configuration, journal, stream="other")
    behind = other.seq
    memory.remember("x", 0.5)
    grow(memory, 1_500, start=1_100)
    assert memory.compact() > behind
    # What lies between is gone: the other one starts from the snapshot.
    other.sync()
    rule.left, seq = 1, other.seq
    with pytest.raises(RuntimeError, match="the rule broke"):
        other.remember("y", 5.0)
    assert other.seq == seq
    other.sync()
    memory.sync()
    assert document(other) == document(memory)


def test_where_others_trim_while_a_rule_breaks_the_fold_goes_on_from_theirs() -> None:
    rule = Fragile()
    journal = InMemoryJournal()
    configuration = Settings(capacity=3, survival=rule, retention=KeepLiving())
    ahead = EvolutionaryMemory(configuration, journal, compact_interval=None)
    grow(ahead, 10)
    behind = EvolutionaryMemory(configuration, journal, stream="behind")
    ahead.remember("x", 0.5)

    def trimmed() -> None:
        grow(ahead, 1_200, start=10)
        assert ahead.compact() > behind.seq

    rule.left, rule.before = 0, trimmed
    with pytest.raises(RuntimeError, match="the rule broke"):
        behind.sync()
    assert behind.seq == ahead.seq
    assert document(behind) == document(ahead)


def test_an_entry_no_release_can_have_written_is_refused_and_changes_nothing() -> None:
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(capacity=4), journal)
    grow(memory, 12)
    before = document(memory)
    journal.append("bad", b'["remembered/1","","x","high",1.0,null,[]]', b"")
    with pytest.raises(CorruptEntry, match="entry 14 of the journal is corrupt"):
        memory.sync()
    assert document(memory) == before
    journal._rows[-1] = b'["remembered/9",""]'
    with pytest.raises(UnknownEvent, match="kind 'remembered' of version 9"):
        memory.sync()
    assert document(memory) == before


def run(url: str, first: int, last: int, hash_seed: int) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.memory.resuming", url, f"{first}", f"{last}"],
        env={**os.environ, "PYTHONHASHSEED": f"{hash_seed}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_resumed_run_equals_one_that_never_stopped_under_any_hash_seed(
    tmp_path: Path,
) -> None:
    def url(name: str) -> str:
        return f"sqlite:///{tmp_path / name}"

    whole = run(url("whole.db"), 0, 160, hash_seed=0)
    run(url("halves.db"), 0, 77, hash_seed=1)
    assert run(url("halves.db"), 77, 160, hash_seed=4_294_967_295) == whole
    # The same in a process of ours, in another store.
    memory = attached("memory:")
    grow(memory, 77)
    memory.compact()
    save_checkpoint(memory._following.journal, tmp_path / "a.checkpoint")
    with SqliteJournal(tmp_path / "moved.db") as journal:
        load_checkpoint(tmp_path / "a.checkpoint", journal)
    assert run(url("moved.db"), 77, 160, hash_seed=7) == whole
    assert whole.startswith("(161, ")


def test_a_checkpoint_brings_back_everything_that_decides(tmp_path: Path) -> None:
    memory = attached("memory:")
    grow(memory, 90)
    save_checkpoint(memory._following.journal, tmp_path / "a.checkpoint")
    with SqliteJournal(tmp_path / "a.db") as journal:
        load_checkpoint(tmp_path / "a.checkpoint", journal)
        moved = EvolutionaryMemory(memory.settings, journal, seed=11)
        assert document(moved) == document(memory)
        assert account(moved) == account(memory)
        assert [one.id for one in moved.history()] == [
            one.id for one in memory.history()
        ]


def test_who_opens_a_long_journal_from_a_snapshot_reads_only_what_came_since() -> None:
    class Counting(InMemoryJournal):
        n_read = 0

        def read(self, after: int, limit: int = 10_000) -> Any:
            entries = super().read(after, limit)
            self.n_read += len(entries)
            return entries

    journal = Counting()
    memory = EvolutionaryMemory(Settings(capacity=5), journal, compact_interval=100)
    grow(memory, 450)
    journal.n_read = 0
    EvolutionaryMemory(Settings(capacity=5), journal, stream="other")
    assert journal.n_read <= 52


def test_weights_and_views_come_back_as_they_were() -> None:
    journal = InMemoryJournal()
    memory = EvolutionaryMemory(Settings(axes=AXES), journal)
    for k in range(9):
        memory.remember("x" * k, k / 7, weight=0.1 + k / 3)
    memory.compact()
    again = EvolutionaryMemory(Settings(axes=AXES), journal)
    for mine, theirs in zip(memory.view(), again.view(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
