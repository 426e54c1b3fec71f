"""A checkpoint is whole or refused, and the same journal makes the same file."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.checkpoints import (
    CheckpointUnreadable,
    load_checkpoint,
    read_checkpoint,
    save_checkpoint,
)
from memory.stores.dump import Dump, Snapshot
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import Entry
from memory.stores.sqlite import SqliteJournal

ROOT = Path(__file__).resolve().parents[2]
EMPTY = Dump(0, (), (), ())
SMALL = Dump(
    2,
    (b'["remembered/1","sn\xc3\xb6 \xe9\x9b\xaa"]', b"", bytes(range(256))),
    (("../../etc/passwd", b"body"), ("käy\n\u2028", b""), ("雪", bytes(range(256)))),
    (Snapshot("", 2, b"\x00two"), Snapshot("läg\r\ngard", 0, b"")),
)


def holding(dump: Dump) -> InMemoryJournal:
    journal = InMemoryJournal()
    journal.restore(dump)
    return journal


def large(name: str) -> Dump:
    """Returns a dump whose file takes several writes."""
    blocks = [hashlib.sha256(b"%d" % k).digest() * 2 for k in range(400)]
    bodies = tuple((f"{name} {k:04d}", block) for k, block in enumerate(blocks))
    return Dump(0, tuple(blocks), bodies, (Snapshot(name, 400, b"s" * 100),))


def saved(dump: Dump, path: Path) -> bytes:
    save_checkpoint(holding(dump), path)
    return path.read_bytes()


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def sealed(lines: bytes) -> bytes:
    """Returns a file with a true checksum around ``lines``."""
    rest = gzip.compress(lines, mtime=0)
    digest = hashlib.sha256(rest).hexdigest()
    return b"boltzmem checkpoint 1 sha256 %s\n" % digest.encode() + rest


@pytest.mark.parametrize("dump", [EMPTY, SMALL, large("a")])
def test_what_was_saved_is_loaded(tmp_path: Path, dump: Dump) -> None:
    path = tmp_path / "a.checkpoint"
    save_checkpoint(holding(dump), path)
    journal = InMemoryJournal()
    load_checkpoint(str(path), journal)
    assert journal.dump() == read_checkpoint(path) == dump
    assert names(tmp_path) == ["a.checkpoint"]


def test_a_journal_moves_between_stores_by_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    save_checkpoint(holding(SMALL), path)
    with SqliteJournal(tmp_path / "a.db") as journal:
        load_checkpoint(path, journal)
        assert saved(journal.dump(), tmp_path / "b") == path.read_bytes()
        assert journal.read(4) == [Entry(5, bytes(range(256)))]
        save_checkpoint(journal, tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == path.read_bytes()


def test_the_same_journal_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    here = saved(SMALL, tmp_path / "here")
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.memory.test_checkpoints import SMALL, saved\n"
        "saved(SMALL, Path(sys.argv[1]))"
    )
    for seed in ("1", "2"):
        there = tmp_path / seed
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        subprocess.run(
            [sys.executable, "-c", code, there], env=environment, check=True, timeout=60
        )
        assert there.read_bytes() == here


def test_a_person_can_read_a_checkpoint(tmp_path: Path) -> None:
    first, rest = saved(SMALL, tmp_path / "a").split(b"\n", 1)
    assert first == b"boltzmem checkpoint 1 sha256 %s" % (
        hashlib.sha256(rest).hexdigest().encode()
    )
    lines = gzip.decompress(rest).decode().split("\n")
    assert json.loads(lines[0]) == {"trimmed": 2}
    assert lines[2] == '""'
    assert lines[4] == '["../../etc/passwd","body"]'
    assert len(lines) == 1 + 3 + 3 + 2 + 1


def test_a_change_of_any_byte_is_noticed_and_nothing_restored(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = saved(SMALL, path)
    journal = InMemoryJournal()
    for place in range(len(content)):
        for flip in (0x01, 0x20, 0x80):
            torn = bytearray(content)
            torn[place] ^= flip
            path.write_bytes(torn)
            with pytest.raises(CheckpointUnreadable, match=r"damaged|of version"):
                load_checkpoint(path, journal)
    assert journal.dump() == EMPTY


def test_a_file_that_is_cut_or_grown_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = saved(SMALL, path)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(CheckpointUnreadable, match="damaged"):
            read_checkpoint(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(CheckpointUnreadable, match="is damaged or incomplete: its SHA"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8b" * 100, b"x" * 10**6])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(content)
    with pytest.raises(CheckpointUnreadable, match="theirs is no checkpoint of boltz"):
        read_checkpoint(path)


def test_a_checkpoint_of_a_later_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = saved(SMALL, path)
    path.write_bytes(content.replace(b"checkpoint 1 ", b"checkpoint 12 ", 1))
    with pytest.raises(
        CheckpointUnreadable, match="a is a checkpoint of version 12, this release rea"
    ):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"[]\n",
        b'{"trimmed":"0"}\n',
        b'{"trimmed":-1}\n',
        b'{"trimmed":0}\n7\n',
        b'{"trimmed":0}\n["key",7]\n',
        b'{"trimmed":0}\n"\xe9\x9b\xaa"\n',
        b'{"trimmed":0}\n"\xff"\n',
        b'{"trimmed":0}\n["body of","nobody"]\n',
        b'{"trimmed":0}\n["reader",1,"s"]\n',
        b'{"trimmed":0}\nnot JSON\n',
    ],
)
def test_a_true_checksum_around_what_is_none_of_ours_is_refused(
    tmp_path: Path, lines: bytes
) -> None:
    path = tmp_path / "a"
    path.write_bytes(sealed(lines))
    journal = InMemoryJournal()
    with pytest.raises(CheckpointUnreadable):
        load_checkpoint(path, journal)
    assert journal.dump() == EMPTY
    path.write_bytes(sealed(b'{"trimmed":0}\n"row"\n["key","body"]\n'))
    assert read_checkpoint(path) == Dump(0, (b"row",), (("key", b"body"),), ())


def test_no_gzip_under_a_true_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    whole = sealed(b'{"trimmed":0}\n').split(b"\n", 1)[1]
    for rest in (b"plain", b"", whole[:-4], whole[:-9] + b"\xff" * 9):
        digest = hashlib.sha256(rest).hexdigest().encode()
        path.write_bytes(b"boltzmem checkpoint 1 sha256 %s\n" % digest + rest)
        with pytest.raises(CheckpointUnreadable):
            read_checkpoint(path)


def test_a_journal_that_is_in_use_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_checkpoint(holding(SMALL), path)
    journal = InMemoryJournal()
    journal.append("a", b"row", b"")
    with pytest.raises(
        ValueError, match=r"must be empty .* one of 1 entries"
    ) as caught:
        load_checkpoint(path, journal)
    assert not isinstance(caught.value, CheckpointUnreadable)
    assert journal.read(0) == [Entry(1, b"row")]


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none", InMemoryJournal())
    with pytest.raises(FileNotFoundError):
        save_checkpoint(InMemoryJournal(), tmp_path / "none" / "a")
    with pytest.raises(TypeError):
        save_checkpoint(InMemoryJournal(), None)  # type: ignore[arg-type]
    assert names(tmp_path) == []


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "a"
    before = saved(SMALL, path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(holding(large("b")), path)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["a"]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        save_checkpoint(InMemoryJournal(), tmp_path / "a")
    assert names(tmp_path) == ["a"]


# For n = 1, 2, ... a child dies by SIGKILL before the n-th line that saving executes.
DYING = """
import os, signal, sys
from pathlib import Path
from memory import checkpoints
from tests.memory.test_checkpoints import holding, large

def live(path, n_lines):
    left = n_lines
    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename != checkpoints.__file__:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    journal = holding(large("new"))
    sys.settrace(trace)
    checkpoints.save_checkpoint(journal, path)

folder, n, step = Path(sys.argv[1]), 0, 1
old = (folder / "old").read_bytes()
while True:
    n += step
    path = folder / f"{n}"
    path.write_bytes(old)
    child = os.fork()
    if child == 0:
        live(path, n)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
    # The lines of the long middle are all alike.
    step = 37 if 60 < n < int(sys.argv[2]) else 1
"""


def lines_of_saving(dump: Dump, path: Path) -> int:
    """Returns how many lines of the module saving executes."""
    journal, n_lines = holding(dump), 0
    module = sys.modules["memory.checkpoints"].__file__

    def trace(frame, event, argument):
        nonlocal n_lines
        if frame.f_code.co_filename != module:
            return None
        n_lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        save_checkpoint(journal, path)
    finally:
        sys.settrace(before)
    return n_lines


def test_a_process_may_die_at_any_line_and_a_whole_file_stays(tmp_path: Path) -> None:
    old, new = SMALL, large("new")
    saved(old, tmp_path / "old")
    n_lines = lines_of_saving(new, tmp_path / "new")
    assert n_lines > 1_000
    subprocess.run(
        [sys.executable, "-c", DYING, tmp_path, str(n_lines - 60)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
    )
    paths = sorted((p for p in tmp_path.iterdir() if p.name.isdigit()), key=number)
    found = [read_checkpoint(path) for path in paths]
    n_old = found.count(old)
    assert n_old > 60
    assert found == [old] * n_old + [new] * (len(found) - n_old)
    assert found[-1] == new
    assert any(path.name.startswith(".checkpoint-") for path in tmp_path.iterdir())


def number(path: Path) -> int:
    return int(path.name)
