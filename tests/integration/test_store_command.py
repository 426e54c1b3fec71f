"""``boltzmem store`` as a person meets it: real files, real servers, no secret shown."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

import memory
from experiments.commands.store import ACTIONS
from memory.checkpoints import read_checkpoint
from memory.stores.dump import Dump
from memory.stores.urls import list_populations, open_journal
from tests import servers
from tests.contracts.conftest import killable

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Tr0ub4dor"
Run = subprocess.CompletedProcess[str]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **more}


def store(*arguments: object, verb: str = "store", **more: str) -> Run:
    done = subprocess.run(
        [sys.executable, "-m", "experiments", verb, *map(str, arguments)],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done


def refused(*arguments: object, because: str) -> None:
    done = store(*arguments)
    assert done.returncode == 2, done.stdout
    assert because in done.stderr


@pytest.fixture
def server() -> Iterator[servers.Server]:
    yield from killable(servers.VOLATILE)


@pytest.fixture(params=["file", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store; a server's asks for a password."""
    if request.param == "file":
        return f"sqlite:///{tmp_path / 'a.db'}"
    place = request.getfixturevalue("server").url
    with redis.Redis.from_url(place) as client:
        client.acl_setuser("user", enabled=True, passwords=[f"+{SECRET}"], keys=["*"])
        client.acl_setuser("user", categories=["+@all"], enabled=True)
        client.config_set("requirepass", SECRET)
    return f"{place}?username=user&password={SECRET}"


def filled(url: str, name: str, n: int) -> Dump:
    with open_journal(url, name) as journal:
        for k in range(1, n + 1):
            journal.append(f"k{k}", b"row %d" % k, b"body" * 300)
        journal.save_snapshot(n, b"snapshot")
        journal.save_snapshot(n - 1, b"snapshot", "other")
        journal.trim(2)
        journal.discard(["k1"])
        return journal.dump()


LONG = "a population [bold]of a name[/] that is longer than any terminal: " + "x" * 80


def test_the_status_lists_every_population_whole(url: str) -> None:
    filled(url, "main", 1_234)
    filled(url, LONG, 5)
    filled(url, "\x1b[31mred", 3)
    done = store("status", url)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["name", "entries", "rows", "bodies", "readers", "bytes"]
    found = dict(line.rsplit(maxsplit=5)[::5] for line in lines)
    counts = {line.rsplit(maxsplit=5)[0]: line.split()[-5:-1] for line in lines}
    assert counts == {
        "main": ["1,234", "1,232", "1,233", "2"],
        LONG: ["5", "3", "4", "2"],
        r"'\x1b[31mred'": ["3", "1", "2", "2"],
    }
    assert int(found["main"].replace(",", "")) > 1_000_000
    assert "\x1b" not in done.stdout


def test_an_empty_store_says_so(url: str) -> None:
    if url.startswith("sqlite"):
        refused("status", url, because="path must name a file that exists")
        open_journal(url).close()
    done = store("status", url)
    assert (done.returncode, done.stdout) == (0, "no populations\n")


def test_a_purge_without_a_terminal_wants_a_yes(url: str) -> None:
    filled(url, "main", 5)
    filled(url, "other", 3)
    done = store("purge", url, "main")
    assert done.returncode == 2
    assert "main" in done.stdout
    assert "there is no terminal to ask whether to purge it: say --yes" in done.stderr
    assert len(list_populations(url)) == 2
    done = store("purge", url, "main", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("purged main of 5 entries\n")
    assert [size.name for size in list_populations(url)] == ["other"]
    refused("purge", url, "main", "--yes", because="no population called main")


def test_one_scope_is_purged_and_the_settings_of_all_are_shown(url: str) -> None:
    with memory.open_journal(url, "main") as journal:
        for scope in ("one", "two"):
            with memory.EvolutionaryMemory(
                memory.Settings(capacity=9), journal, scope=scope
            ) as population:
                population.remember(f"text of {scope}", 0.5)
    shown = json.loads(store("settings", url, "main").stdout)
    assert shown["one"]["settings"]["capacity"] == 9
    assert shown["two"]["seed"] == [0]
    done = store("purge", url, "main", "--scope", "one", "--yes")
    assert done.returncode == 0, done.stderr
    assert "purged scope 'one' of 2 records and notes" in done.stdout
    assert "one" not in json.loads(store("settings", url, "main").stdout)
    refused(
        "purge", url, "main", "--scope", "one", "--yes", because="scope must be one"
    )
    refused("settings", url, "other", because="no population called other")


@pytest.mark.parametrize(
    ("answer", "code", "left"),
    [("y", 0, 0), ("YES", 0, 0), ("", 1, 1), ("n", 1, 1), ("\x04", 1, 1)],
)
def test_a_purge_shows_what_would_go_and_asks(
    tmp_path: Path, answer: str, code: int, left: int
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    filled(url, "main", 5)
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "experiments", "store", "purge", url, "main"],
        env=environment(),
        stdin=end,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(end)
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == "name"
        assert process.stdout.readline().split()[:2] == ["main", "5"]
        os.write(terminal, answer.encode() + b"\n" * (answer != "\x04"))
        rest = process.stdout.read()
    os.close(terminal)
    assert rest.startswith("Purge it for ever? [y/N] ")
    assert ("nothing was purged" in rest) == bool(left)
    assert process.returncode == code
    assert len(list_populations(url)) == left


def test_a_checkpoint_moves_a_population_from_store_to_store(
    url: str, tmp_path: Path
) -> None:
    dump = filled(url, "main", 7)
    file, again = tmp_path / "a.checkpoint", tmp_path / "b.checkpoint"
    done = store("checkpoint", url, "main", file)
    assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
    assert read_checkpoint(file) == dump
    other = f"sqlite:///{tmp_path / 'other.db'}"
    for place, name in ((other, "moved"), (url, "copy")):
        done = store("restore", file, place, name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[1].split()[:5] == [name, "7", "5", "6", "2"]
        assert store("checkpoint", place, name, again).returncode == 0
        assert again.read_bytes() == file.read_bytes()
    refused(
        *("restore", file, url, "main"),
        because="must be empty to be restored into, got one of 7 entries and 2 readers",
    )


def test_a_checkpoint_of_nothing_is_refused_and_makes_nothing(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.checkpoint"
    if url.startswith("sqlite"):
        refused("checkpoint", url, "main", file, because="a file that exists")
        assert not list(tmp_path.iterdir())
    filled(url, "other", 3)
    refused("checkpoint", url, "main", file, because="no population called main")
    assert not file.exists()
    assert [size.name for size in list_populations(url)] == ["other"]


def test_a_damaged_checkpoint_is_refused_and_makes_no_store(tmp_path: Path) -> None:
    file = tmp_path / "a.checkpoint"
    file.write_bytes(b"something else")
    url = f"sqlite:///{tmp_path / 'a.db'}"
    refused("restore", file, url, "main", because=f"{file} is no checkpoint")
    refused("restore", tmp_path / "none", url, "main", because="No such file")
    assert list(tmp_path.iterdir()) == [file]
    filled(url, "main", 3)
    assert store("checkpoint", url, "main", file).returncode == 0
    refused("restore", file, "memory:", "main", because="outlives a process")
    refused("restore", file, url, "", because="name must not be empty")


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", f"redis://user:{SECRET}@localhost:1/x@y"],
        ["status", f"http://user:{SECRET}@localhost:1"],
        ["status", f"redis:{SECRET}"],
        ["status", "memory:", f"redis://user:{SECRET}@localhost"],
        ["status", f"--url=redis://user:{SECRET}@localhost"],
        [f"redis://user:{SECRET}@localhost", "main"],
        ["purge", f"rediss://:{SECRET}@localhost"],
        [
            "purge",
            f"unix:///s?password={SECRET}",
            "main",
            "more",
            f"redis://:{SECRET}@h",
        ],
        ["restore", "none", f"redis://user:{SECRET}@localhost", "main"],
    ],
)
def test_no_secret_of_an_address_is_printed_by_any_mistake(
    arguments: list[str],
) -> None:
    # ``store`` looks for the secret in all that is printed.
    done = store(*arguments)
    assert done.returncode == 2
    assert done.stderr


def test_no_secret_is_printed_where_an_address_takes_the_place_of_a_verb() -> None:
    done = store("status", verb=f"redis://user:{SECRET}@localhost")
    assert done.returncode == 2
    assert "invalid choice: '(an address)'" in done.stderr


def test_a_refused_password_is_not_printed(server: servers.Server) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", "another")
    done = store("status", f"{server.url}?password={SECRET}")
    assert done.returncode == 2
    assert server.url in done.stderr
    assert "assword" in done.stderr


def test_a_server_that_is_not_there_is_named_without_its_secret() -> None:
    done = store("status", f"redis://user:{SECRET}@localhost:1/0")
    assert done.returncode == 2
    assert "boltzmem: redis://localhost:1/0: " in done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("boltzmem sto", "store"),
        ("boltzmem store ", " ".join(ACTIONS)),
        ("boltzmem store pu", "purge"),
        ("boltzmem store status ", ""),
        (f"boltzmem store status redis://user:{SECRET}@h", ""),
        ("boltzmem store purge redis://h ma", ""),
    ],
)
def test_the_shell_completes_the_actions_and_nothing_of_a_store(
    line: str, expected: str
) -> None:
    done = store("query=bash", verb="-sc", COMP_LINE=line, COMP_POINT=str(len(line)))
    assert done.returncode == 0
    assert done.stdout.strip() == expected


def test_every_action_that_is_completed_is_there() -> None:
    for action in ACTIONS:
        done = store(action, "--help")
        assert done.returncode == 0
        assert f"store {action}" in done.stdout
    done = store("--help")
    assert all(f"\n    {action}" in done.stdout for action in ACTIONS)
