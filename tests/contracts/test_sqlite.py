"""What only a file can suffer: foreign ones, torn ones, forks and deaths."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory.stores.dump import Dump
from memory.stores.journal import (
    Entry,
    JournalRewound,
    JournalUnavailable,
    JournalUnreadable,
)
from memory.stores.sqlite import SqliteJournal
from memory.stores.sqlite_file import SqliteFile
from tests.contracts.test_journal import forgetting

ROOT = Path(__file__).resolve().parents[2]
EMPTY = Dump(0, (), (), ())
WRITER = Path(__file__).with_name("dying_writer.py")


def python(code: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", [None, 3, b"bytes.db", Path])
def test_a_path_must_be_a_path(path: object) -> None:
    with pytest.raises(TypeError, match="path must be a path of"):
        SqliteJournal(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b"])
def test_a_path_must_name_a_file(path: str) -> None:
    with pytest.raises(ValueError, match="path must name a file, got"):
        SqliteJournal(path)


def test_a_folder_and_a_file_in_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="path must name a file, got the folder"):
        SqliteJournal(tmp_path)
    with pytest.raises(ValueError, match="path must lie in a folder that exists"):
        SqliteJournal(tmp_path / "none" / "a.db")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"synchronous": "OFF"}, "synchronous must be NORMAL or FULL, got 'OFF'"),
        ({"timeout_seconds": 0.0}, "timeout_seconds must be positive and finite"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds must be positive"),
        ({"name": ""}, "name must not be empty"),
        ({"name": "\ud800"}, "name must be encodable as UTF-8"),
    ],
)
def test_bad_options_are_refused(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SqliteJournal(tmp_path / "a.db", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_name_must_be_a_string(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="name must be a string, got 7"):
        SqliteJournal(tmp_path / "a.db", 7)  # type: ignore[arg-type]


def test_a_path_with_signs_of_an_address_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#%41 雪.db"
    with SqliteJournal(path) as journal:
        journal.append("a", b"r", b"")
    assert path.is_file()
    assert repr(journal) == f"SqliteJournal({str(path)!r}, 'main')"


def test_a_relative_path_means_the_same_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with SqliteJournal("a.db") as journal:
        journal.append("a", b"r", b"")
        journal.close()
        (tmp_path / "b").mkdir()
        monkeypatch.chdir(tmp_path / "b")
        assert journal.read(0) == [Entry(1, b"r")]


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE populations (id INTEGER)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalUnreadable, match="a SQLite file of another program"):
        SqliteJournal(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"not a database, " * 100, b"SQLite format 3\0?"])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.db"
    path.write_bytes(content)
    with pytest.raises(JournalUnreadable, match="is damaged or no SQLite file"):
        SqliteJournal(path)
    assert path.read_bytes() == content


def test_a_damaged_file_is_refused_when_the_damage_is_met(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteJournal(path) as journal:
        for k in range(300):
            journal.append(f"k{k}", b"r" * 200, b"b" * 2_000)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with (
        pytest.raises(JournalUnreadable, match="is damaged or no SQLite file"),
        SqliteJournal(path) as journal,
    ):
        journal.read(0)


def test_a_file_of_a_later_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteJournal(path) as journal:
        journal._connected().execute("UPDATE schema_version SET version = 2")
    with pytest.raises(
        JournalUnreadable, match="version 2, this release reads version 1"
    ):
        SqliteJournal(path)


def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with SqliteJournal(path) as journal:
        assert journal.append("a", b"r", b"")


@pytest.mark.parametrize(("synchronous", "value"), [("NORMAL", 1), ("FULL", 2)])
def test_the_file_is_written_ahead_as_durably_as_asked(
    tmp_path: Path, synchronous: str, value: int
) -> None:
    with SqliteJournal(tmp_path / "a.db", synchronous=synchronous) as journal:
        connection = journal._connected()
        assert connection.execute("PRAGMA synchronous").fetchone() == (value,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_who_waits_too_long_for_a_turn_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteJournal(path, timeout_seconds=0.05) as journal:
        assert journal.append("a", b"r", b"")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnavailable, match=r"a\.db: database is locked"):
            journal.append("b", b"r", b"")
        assert journal.read(0) == [Entry(1, b"r")]
        other.execute("ROLLBACK")
        other.close()
        assert journal.append("b", b"r", b"")
        assert len(journal.read(0)) == 2


def test_a_file_that_is_gone_is_noticed_and_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteJournal(path) as journal:
        journal.append("a", b"r", b"")
        for file in tmp_path.iterdir():
            file.unlink()
        for _ in range(2):
            with pytest.raises(
                JournalRewound, match="is gone: 1 entries had been seen"
            ):
                journal.append("b", b"r", b"")
    assert not path.exists()


def test_the_file_stays_as_small_as_what_it_keeps(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    sizes = []
    with SqliteJournal(path) as journal:
        for n_appended in forgetting(journal, 20_000):
            if n_appended % 2_000 == 0:
                files = (path, path.with_name("a.db-wal"))
                sizes.append(sum(file.stat().st_size for file in files))
        assert len(journal.dump().bodies) == 100
    assert max(sizes) < 1.1 * sizes[0] < 6_000_000
    assert path.stat().st_size < 500_000


def test_a_file_of_which_most_is_forgotten_gets_shorter(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteJournal(path) as journal:
        for k in range(2_000):
            journal.append(f"k{k}", b"r", b"b" * 4_000)
        full = path.stat().st_size
        journal.discard([f"k{k}" for k in range(1_900)])
        journal.save_snapshot(2_000, b"s")
        journal.trim(2_000)
        journal.close()
        assert path.stat().st_size < full - 900 * 4_000
        for _ in range(3):
            journal.trim(2_000)
        journal.close()
        assert path.stat().st_size < full / 4
        assert journal.fetch(["k1899", "k1900"]) == [None, b"b" * 4_000]


def test_processes_that_make_a_file_at_once_share_it(tmp_path: Path) -> None:
    code = """
import os, sys, time
from memory.stores.sqlite import SqliteJournal
for n in range(40):
    path, start, children = f"{sys.argv[1]}/{n}.db", time.monotonic() + 0.02, []
    for k in range(6):
        children.append(os.fork())
        if children[-1] == 0:
            while time.monotonic() < start:
                pass
            SqliteJournal(path).append(str(k), b"r", b"")
            os._exit(0)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    with SqliteJournal(path) as journal:
        assert [entry.seq for entry in journal.read(0)] == [1, 2, 3, 4, 5, 6]
"""
    python(code, tmp_path)


class Busy:
    """A connection that is refused ``n`` times, as by another that makes the file."""

    def __init__(self, n: int, code: int) -> None:
        self.left = n
        self.code = code

    def execute(self, _: str) -> Busy:
        self.left -= 1
        if self.left >= 0:
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = self.code
            raise error
        return self

    def fetchone(self) -> tuple[str]:
        return ("wal",)


def test_who_opens_a_file_that_another_is_making_waits(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "a.db", timeout_seconds=0.2)
    connection = Busy(3, sqlite3.SQLITE_BUSY)
    file._write_ahead(connection)  # type: ignore[arg-type]
    assert connection.left == -1
    for n, code in ((1, sqlite3.SQLITE_FULL), (10**6, sqlite3.SQLITE_BUSY)):
        with pytest.raises(sqlite3.OperationalError, match="refused"):
            file._write_ahead(Busy(n, code))  # type: ignore[arg-type]


def test_a_fork_leaves_each_process_a_connection_and_locks_of_its_own(
    tmp_path: Path,
) -> None:
    # The child goes on writing after the parent has closed. With locks that it only
    # seemed to inherit, the parent's closing would remove the log it writes to.
    code = """
import os, sys
from memory.stores.sqlite import SqliteJournal
path = sys.argv[1]
journal = SqliteJournal(path)
journal.append("parent 1", b"r", b"")
parent_closed = os.pipe()
child_appended = os.pipe()
child = os.fork()
if child == 0:
    journal.append("child 1", b"r", b"")
    os.write(child_appended[1], b"x")
    os.read(parent_closed[0], 1)
    assert os.path.exists(path + "-wal")
    assert journal.append("child 2", b"r", b"")
    os.kill(os.getpid(), 9)
os.read(child_appended[0], 1)
assert journal.append("parent 2", b"r", b"")
assert len(journal.read(0)) == 3
journal.close()
os.write(parent_closed[1], b"x")
os.waitpid(child, 0)
print([entry.seq for entry in SqliteJournal(path).read(0)])
"""
    assert python(code, tmp_path / "a.db") == "[1, 2, 3, 4]\n"


def test_a_fork_waits_for_the_calls_of_other_threads(tmp_path: Path) -> None:
    code = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from memory.stores.sqlite import SqliteJournal
journal = SqliteJournal(sys.argv[1])
def work():
    for k in range(300):
        assert journal.append(f"thread {k}", b"r", b"")
thread = threading.Thread(target=work)
thread.start()
for k in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if journal.append(f"child {k}", b"r", b"") else 1)
    assert os.waitpid(child, 0)[1] == 0
thread.join()
print(len(journal.read(0)))
"""
    assert python(code, tmp_path / "a.db") == "310\n"


def test_a_process_may_die_before_any_statement(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, WRITER, tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
    )
    files = sorted(tmp_path.glob("*.db"), key=lambda path: int(path.stem))
    # Opening, three appends, a snapshot, a trim and a discard are so many at least.
    assert len(files) > 40
    lengths, restored = [], []
    for path in files:
        acknowledged = path.with_suffix(".acknowledged")
        known = acknowledged.read_text().split() if acknowledged.exists() else []
        with SqliteJournal(path) as journal:
            snapshot = journal.load_snapshot()
            after = 1 if snapshot else 0
            seqs = [entry.seq for entry in journal.read(after)]
            lengths.append(after + len(seqs))
            assert seqs == list(range(after + 1, lengths[-1] + 1))
            # An entry may be there whose writer died before it was told so.
            assert len(known) <= lengths[-1] <= len(known) + 1
            bodies = journal.fetch(["k1", "k2", "k3"])[1:]
            assert bodies == [
                b"body %d" % k if k <= lengths[-1] else None for k in (2, 3)
            ]
            whole = journal.dump()
            assert journal.append("after", b"r", b"")
        with SqliteJournal(path, "restored") as journal:
            restored.append(journal.dump())
            assert restored[-1] in (EMPTY, whole)
    assert restored[-1] == whole != EMPTY
    assert lengths == sorted(lengths)
    assert set(lengths) == {0, 1, 2, 3}


def test_a_log_that_is_cut_anywhere_leaves_a_whole_journal(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copy = tmp_path / "copy.db"
    lengths = []
    with SqliteJournal(path) as journal:
        journal.append("k0", b"row 0", b"body")
        journal.close()
        for k in range(1, 6):
            journal.append(f"k{k}", b"row %d" % k, b"body" * 100)
        log = (tmp_path / "a.db-wal").read_bytes()
        for cut in range(0, len(log) + 1, 701):
            shutil.copy(path, copy)
            copy.with_name("copy.db-wal").write_bytes(log[:cut])
            with SqliteJournal(copy) as torn:
                entries = torn.read(0)
            assert entries == [Entry(k + 1, b"row %d" % k) for k in range(len(entries))]
            lengths.append(len(entries))
    assert lengths == sorted(lengths)
    assert set(lengths) >= {1, 2, 3, 4, 5}


def test_threads_share_the_connection_of_their_process(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "a.db") as journal:
        threads = [
            threading.Thread(target=journal.append, args=(f"k{k}", b"r", b""))
            for k in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(journal.read(0)) == 8
