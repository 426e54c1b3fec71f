"""Real processes, killed with SIGKILL, and cells that misbehave."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = Path(__file__).parent / "hostile"
STUDY = ["study=smoke", "study.seeds=30", "study.budget=400"]


_STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_outlives_its_test() -> Iterator[None]:
    yield
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def start(
    *arguments: str, cwd: Path, path: Path = ROOT, **environment: str
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "experiments", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _STARTED.append(process)
    return process


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def members(session: int) -> dict[int, str]:
    """Returns the living processes of a session, each with its command line."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        state, _, _, its_session = stat.rpartition(")")[2].split()[:4]
        if int(its_session) == session and state != "Z":
            found[int(folder.name)] = command
    return found


def workers(session: int) -> list[int]:
    return [pid for pid, line in members(session).items() if "spawn_main" in line]


def oldest_worker(process: subprocess.Popen[str]) -> int:
    """Returns a worker; after a kill there may be none for a moment."""
    while process.poll() is None:
        if found := workers(process.pid):
            return min(found)
        time.sleep(0.01)
    raise AssertionError("the run was over before a worker could be killed")


def nobody_left(session: int) -> bool:
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        if not members(session):
            return True
        time.sleep(0.05)
    return False


def rows_on_disk(folder: Path) -> int:
    return sum(
        path.read_bytes().count(b"\n") for path in folder.rglob("raw/shards/*.jsonl")
    )


def wait_for_rows(folder: Path, n: int, process: subprocess.Popen[str]) -> bool:
    """Waits until ``n`` rows are on the disk; false if the process ended before."""
    while process.poll() is None:
        if rows_on_disk(folder) >= n:
            return True
        time.sleep(0.01)
    return False


def tables(folder: Path) -> list[bytes]:
    return [
        (folder / name).read_bytes()
        for name in ("runs.parquet", "trajectories.parquet")
    ]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The tables of a study that nobody disturbed, by one process."""
    cwd = tmp_path_factory.mktemp("reference")
    code, _, err = finished(
        start("run", *STUDY, "--engine", "serial", "--no-report", cwd=cwd)
    )
    assert code == 0, err
    (folder,) = (cwd / "results").iterdir()
    return tables(folder)


def test_parents_and_workers_that_are_killed_cost_nothing_but_time(
    tmp_path: Path, reference: list[bytes]
) -> None:
    kills = {"parent": 0, "worker": 0}
    command = ["run", *STUDY, "--no-report", "--workers", "2"]
    for n in (4, 30):
        process = start(*command, cwd=tmp_path, PYTHONHASHSEED=str(n))
        assert wait_for_rows(tmp_path, n, process)
        os.kill(process.pid, signal.SIGKILL)
        finished(process)
        assert nobody_left(process.pid)
        kills["parent"] += 1
    process = start(*command, cwd=tmp_path, PYTHONHASHSEED="9")
    # Early, while much is left to do: rows come by the block, and the run must not be
    # over before the last kill. The oldest worker, so that no cell meets all three.
    n = rows_on_disk(tmp_path)
    for more in (1, 2, 3):
        assert wait_for_rows(tmp_path, n + more, process)
        os.kill(oldest_worker(process), signal.SIGKILL)
        kills["worker"] += 1
    code, _, err = finished(process)
    assert code == 0, err
    assert nobody_left(process.pid)
    assert kills == {"parent": 2, "worker": 3}
    (folder,) = (tmp_path / "results").iterdir()
    assert tables(folder) == reference


def test_an_interrupt_says_how_to_go_on_and_loses_nothing(
    tmp_path: Path, reference: list[bytes]
) -> None:
    command = ["run", *STUDY, "--no-report"]
    process = start(*command, cwd=tmp_path)
    assert wait_for_rows(tmp_path, 8, process)
    # A terminal sends it to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = finished(process)
    assert code == 130
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    assert nobody_left(process.pid)
    done = rows_on_disk(tmp_path)
    code, _, err = finished(start(*command, cwd=tmp_path))
    assert code == 0
    assert int(re.findall(r"(\d+) done", err)[0]) == done >= 8
    (folder,) = (tmp_path / "results").iterdir()
    assert tables(folder) == reference


def test_a_second_run_of_a_study_says_who_holds_it(tmp_path: Path) -> None:
    first = start("run", *STUDY, "--no-report", cwd=tmp_path)
    assert wait_for_rows(tmp_path, 2, first)
    code, _, err = finished(start("run", *STUDY, cwd=tmp_path))
    assert code == 2
    assert f"is held by process {first.pid}" in err
    _, status, _ = finished(start("status", *STUDY, cwd=tmp_path))
    assert f"running now: process {first.pid}" in status
    assert finished(first)[0] == 0
    _, status, _ = finished(start("status", *STUDY, cwd=tmp_path))
    assert "running now" not in status


def test_every_failure_is_isolated_and_explained(tmp_path: Path) -> None:
    command = ["--config-dir", str(HOSTILE / "configs"), "study=trouble"]
    path = f"{ROOT}{os.pathsep}{HOSTILE}"
    limits = ["--timeout", "3", "--memory", "800", "--no-report"]
    process = start("run", *command, *limits, cwd=tmp_path, PYTHONPATH=path)
    code, _, err = finished(process)
    assert code == 1
    assert nobody_left(process.pid)
    assert "8 cells computed" in err
    assert "6 failed" in err
    for text in (
        "RuntimeError: no luck with 8 bits",
        "longer than 3 s",
        "MemoryError",
        "the worker died 3 times",
        "SIGKILL",
        "SystemExit: 3",
        "none of 105 evaluations gave a score",
        "1 cells printed 10,500,000 bytes",
    ):
        assert text in err, text
    _, status, _ = finished(start("status", *command, cwd=tmp_path, PYTHONPATH=path))
    assert "8 cells: 2 done, 6 failed, 0 missing" in status
    # What failed is not computed again unasked, and is when asked.
    code, _, err = finished(
        start("run", *command, *limits, cwd=tmp_path, PYTHONPATH=path)
    )
    assert code == 1
    assert "0 to compute" in err
    one = ["~study.tasks.hangs", "~study.tasks.eats", "~study.tasks.dies"]
    retry = start(
        "run", *command, *one, *limits, "--fail-fast", cwd=tmp_path, PYTHONPATH=path
    )
    code, _, err = finished(retry)
    assert code == 1


def test_fail_fast_stops_at_the_first_failure(tmp_path: Path) -> None:
    command = ["--config-dir", str(HOSTILE / "configs"), "study=trouble"]
    path = f"{ROOT}{os.pathsep}{HOSTILE}"
    process = start(
        *["run", *command, "study.seeds=20", "--fail-fast", "--engine", "serial"],
        "~study.tasks.hangs",
        "~study.tasks.eats",
        "~study.tasks.dies",
        cwd=tmp_path,
        PYTHONPATH=path,
    )
    code, _, err = finished(process)
    assert code == 1
    assert "are missing: the same command goes on" in err


def test_a_changed_knob_is_named_and_only_its_cells_are_new(tmp_path: Path) -> None:
    small = ["study=smoke", "study.seeds=2", "study.budget=40", "--no-report"]
    finished(start("run", *small, "--results", "r", cwd=tmp_path))
    (folder,) = (tmp_path / "r").iterdir()
    # The same folder under another configuration: a study edited in place.
    changed = ["study=smoke", "study.seeds=3", "study.budget=40", "--no-report"]
    shutil.copytree(folder, tmp_path / "r" / "smoke+study.seeds=3-study.budget=40")
    code, _, err = finished(start("run", *changed, "--results", "r", cwd=tmp_path))
    assert code == 0
    assert "8 done, 4 to compute" in err
    assert (
        "changed since the last run: study.seeds: [1, 2, 3] here, [1, 2] there" in err
    )


def test_cells_of_other_code_are_stale_and_said_so(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in ("memory", "experiments", "conf"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    small = ["study=smoke", "study.seeds=2", "study.budget=40"]
    assert finished(start("run", *small, cwd=tmp_path, path=copy))[0] == 0
    (folder,) = (tmp_path / "results").iterdir()
    before = tables(folder)
    source = copy / "memory" / "scaling" / "rank.py"
    source.write_text(source.read_text() + "\n# A comment is a change too.\n")
    _, status, _ = finished(start("status", *small, cwd=tmp_path, path=copy))
    assert "8 cells: 0 done, 0 failed, 8 missing" in status
    assert "8 of the missing are stale" in status
    _, _, err = finished(start("run", *small, cwd=tmp_path, path=copy))
    assert "8 of them known from other code" in err
    assert "8 cells computed" in err
    assert tables(folder)[0] != before[0]
    task = copy / "experiments" / "tasks" / "pbo.py"
    task.write_text(task.read_text() + "\n# So is one in a task.\n")
    _, status, _ = finished(start("status", *small, cwd=tmp_path, path=copy))
    assert "8 of the missing are stale" in status
    finished(start("run", *small, "--no-report", cwd=tmp_path, path=copy))
    # What is no part of a run makes nothing stale.
    figure = copy / "experiments" / "figures" / "style.py"
    figure.write_text(figure.read_text() + "\n# Not a run.\n")
    _, status, _ = finished(start("status", *small, cwd=tmp_path, path=copy))
    assert "8 cells: 8 done" in status


def test_a_torn_shard_and_lost_tables_are_mended(tmp_path: Path) -> None:
    small = ["study=smoke", "study.seeds=2", "study.budget=40"]
    finished(start("run", *small, cwd=tmp_path))
    (folder,) = (tmp_path / "results").iterdir()
    before = tables(folder)
    (shard,) = folder.glob("raw/shards/*.jsonl")
    lines = shard.read_bytes().splitlines(keepends=True)
    shard.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    (folder / "runs.parquet").unlink()
    code, _, err = finished(start("run", *small, cwd=tmp_path))
    assert code == 0
    assert "7 done, 1 to compute" in err
    assert "1 damaged lines ignored" in err
    assert tables(folder) == before
    (folder / "runs.parquet").unlink()
    (folder / "trajectories.parquet").unlink()
    code, _, err = finished(start("run", *small, cwd=tmp_path))
    assert "0 to compute" in err
    assert tables(folder) == before


def test_shards_of_two_machines_are_merged(tmp_path: Path) -> None:
    for name, seeds in (("a", "study.seeds=2"), ("b", "study.seeds=4")):
        finished(
            start(
                *["run", "study=smoke", seeds, "study.budget=40", "--no-report"],
                "--results",
                name,
                cwd=tmp_path,
            )
        )
    (a,) = (tmp_path / "a").iterdir()
    (b,) = (tmp_path / "b").iterdir()
    code, out, err = finished(start("merge", str(a), str(b), cwd=tmp_path))
    assert code == 0, err
    assert "8 new cells, 8 known before" in out
    code, _, err = finished(start("merge", str(a), str(a), cwd=tmp_path))
    assert code == 2
    assert "cannot be merged into itself" in err
    code, _, err = finished(start("merge", str(a), str(tmp_path / "no"), cwd=tmp_path))
    assert code == 2
    assert "holds no finished cells" in err
    shutil.move(a, tmp_path / "a" / b.name)
    code, _, err = finished(
        start(
            *["run", "study=smoke", "study.seeds=4", "study.budget=40"],
            *["--no-report", "--results", "a"],
            cwd=tmp_path,
        )
    )
    assert "16 done, 0 to compute" in err
    assert tables(tmp_path / "a" / b.name) == tables(b)
