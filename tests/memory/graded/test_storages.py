"""Storages: nothing lost, nothing torn, nothing taken for empty that is not."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from memory.graded.messages import Message, user
from memory.graded.storages import (
    FileStorage,
    InMemoryStorage,
    Storage,
    StorageCorrupt,
)

run = asyncio.run


def message(id: str, text: str = "x") -> Message:
    return user(text).message(id)


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "memory":
        return InMemoryStorage()
    return FileStorage(tmp_path / "messages.json")


def ids(storage: Storage) -> list[str]:
    return [one.id for one in run(storage.get_all())]


def test_messages_are_kept_in_their_order(storage: Storage) -> None:
    run(storage.add(message("a")))
    run(storage.add([message("b"), message("c", "你好 😀")]))
    assert ids(storage) == ["a", "b", "c"]
    assert run(storage.get_size()) == 3
    assert run(storage.get("c")) == message("c", "你好 😀")
    assert run(storage.get("z")) is None


def test_an_id_that_is_there_takes_its_old_place(storage: Storage) -> None:
    run(storage.add([message("a"), message("b")]))
    run(storage.add(message("a", "new")))
    assert ids(storage) == ["a", "b"]
    assert run(storage.get("a")) == message("a", "new")


def test_remove_says_whether_there_was_one(storage: Storage) -> None:
    run(storage.add([message("a"), message("b")]))
    assert run(storage.remove("a"))
    assert not run(storage.remove("a"))
    assert ids(storage) == ["b"]
    run(storage.clear())
    assert ids(storage) == []


def test_search_finds_what_shares_words(storage: Storage) -> None:
    run(
        storage.add(
            [
                message("a", "red apples"),
                message("b", "green pears"),
                message("c", "pears, pears and apples"),
            ]
        )
    )
    assert [one.id for one in run(storage.search("pears"))] == ["c", "b"]
    assert [one.id for one in run(storage.search("pears", limit=1))] == ["c"]
    assert run(storage.search("plums")) == []


@pytest.mark.parametrize("wrong", ["text", 3, None, [3], ["text"]])
def test_what_is_no_message_is_refused(storage: Storage, wrong: Any) -> None:
    with pytest.raises(TypeError, match="message must be a Message or a sequence"):
        run(storage.add(wrong))
    assert ids(storage) == []


def test_a_bare_file_name_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Defect 88.
    monkeypatch.chdir(tmp_path)
    run(FileStorage("bare.json").add(message("a")))
    assert ids(FileStorage("bare.json")) == ["a"]


def test_nothing_is_written_before_something_is_added(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "deep" / "down.json")
    assert ids(storage) == []
    assert list(tmp_path.iterdir()) == []
    run(storage.add(message("a")))
    assert ids(FileStorage(tmp_path / "deep" / "down.json")) == ["a"]


def corrupted(content: bytes) -> list[bytes]:
    document = json.loads(content)
    tampered = json.loads(content)
    tampered["messages"][0]["elements"][0][1] = "other words"
    return [
        b"",
        b"[]",
        b"{}",
        content[:-20],
        content.replace(b"boltzmem", b"boltzmum"),
        content.replace(b"\xe4", b"\xff"),
        json.dumps({**document, "version": 9}).encode(),
        json.dumps(tampered).encode(),
        json.dumps({**document, "messages": [{"id": "a"}]}).encode(),
        b"[" * 200_000,
    ]


@pytest.mark.parametrize("number", range(10))
def test_a_corrupt_file_is_refused_by_every_call_and_kept_aside(
    number: int, tmp_path: Path
) -> None:
    # Defect 89.
    path = tmp_path / "m.json"
    run(FileStorage(path).add([message("a", "你好"), message("b")]))
    bad = corrupted(path.read_bytes())[number]
    path.write_bytes(bad)
    storage = FileStorage(path)
    for call in (
        lambda: storage.get_all(),
        lambda: storage.get("a"),
        lambda: storage.add(message("c")),
        lambda: storage.remove("a"),
        lambda: storage.clear(),
    ):
        with pytest.raises(StorageCorrupt, match="left as it is, with a copy at"):
            run(call())
    assert path.read_bytes() == bad
    (aside,) = tmp_path.glob("m.json.corrupt-*")
    assert aside.read_bytes() == bad
    path.unlink()
    run(storage.add(message("c")))
    assert ids(storage) == ["c"]


def test_what_cannot_be_written_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Defect 90: a full disk in the middle of a write.
    path = tmp_path / "m.json"
    storage = FileStorage(path)
    run(storage.add([message("a"), message("b")]))
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            run(storage.add(message("c")))
    assert path.read_bytes() == before
    assert ids(storage) == ["a", "b"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.json", "m.json.lock"]


def test_two_instances_on_one_path_see_each_other(tmp_path: Path) -> None:
    # Defect 91.
    path = tmp_path / "m.json"
    one, two = FileStorage(path), FileStorage(path)
    run(one.add(message("from one")))
    assert ids(two) == ["from one"]
    run(two.add(message("from two")))
    run(one.add(message("from one again")))
    assert ids(one) == ids(two) == ["from one", "from two", "from one again"]
    run(two.remove("from one"))
    assert run(one.get("from one")) is None


def test_a_link_is_followed_and_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "real" / "m.json", tmp_path / "link.json"
    run(FileStorage(path).add(message("a")))
    link.symlink_to(path)
    one, two = FileStorage(path), FileStorage(link)
    run(two.add(message("b")))
    run(one.add(message("c")))
    assert link.is_symlink()
    assert ids(one) == ids(two) == ["a", "b", "c"]
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["link.json"]


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    storage = FileStorage(path)
    run(storage.add(message("a")))
    path.chmod(0o600)
    run(storage.add(message("b")))
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_a_killed_writer_left_behind_goes_with_the_next_change(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.json"
    run(FileStorage(path).add(message("a")))
    (tmp_path / ".m.json.new").write_bytes(b"half")
    assert not run(FileStorage(path).remove("nobody"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.json", "m.json.lock"]


def test_nothing_is_made_where_there_is_nothing_to_remove(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "deep" / "m.json")
    assert not run(storage.remove("a"))
    run(storage.clear())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda s: s.search("x", limit=-1), "limit must be at least 1, got -1"),
        (lambda s: s.search("x", limit="2"), "limit must be an integer, got '2'"),
        (lambda s: s.search(None), "query must be"),
        (lambda s: s.get([1]), "id must be"),
        (lambda s: s.remove([1]), "id must be"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_by_name(
    storage: Storage, call: Any, reason: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{reason}"):
        run(call(storage))


def write_many(path: Path, name: str, n: int) -> None:
    storage = FileStorage(path)
    for number in range(n):
        run(storage.add(message(f"{name}{number}")))


def test_processes_on_one_path_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "m.json"
    writers = [
        context.Process(target=write_many, args=(path, name, 30)) for name in "ab"
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(ids(FileStorage(path))) == sorted(
        f"{name}{number}" for name in "ab" for number in range(30)
    )


def test_a_killed_writer_leaves_a_file_that_reads(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "m.json"
    writer = context.Process(target=write_many, args=(path, "a", 100_000))
    writer.start()
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join()
    found = ids(FileStorage(path))
    assert found == [f"a{number}" for number in range(len(found))]
    assert found
    run(FileStorage(path).add(message("z")))
    assert ids(FileStorage(path)) == [*found, "z"]
