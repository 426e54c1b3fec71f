"""The command line as a person meets it: real processes, real folders."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["study=smoke", "study.seeds=2", "study.budget=30"]


def boltzmem(
    *arguments: str, cwd: Path, hash_seed: str = "0", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONHASHSEED": hash_seed,
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def tables(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "raw" not in path.parts
    }


def test_every_hash_seed_engine_and_number_of_workers_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    found = []
    for name, seed, options in (
        ("a", "1", ["--engine", "serial"]),
        ("b", "2", ["--workers", "1"]),
        ("c", "3", ["--workers", "2"]),
    ):
        done = boltzmem(
            "run", *SMALL, "--results", name, *options, cwd=tmp_path, hash_seed=seed
        )
        assert done.returncode == 0, done.stderr
        (folder,) = (tmp_path / name).iterdir()
        assert done.stdout == f"report: {name}/{folder.name}/report.html\n"
        found.append(tables(folder))
    assert found[0].keys() >= {
        "runs.parquet",
        "trajectories.parquet",
        "report.html",
    }
    assert found[0] == found[1] == found[2]


def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    first = boltzmem("run", *SMALL, cwd=tmp_path)
    assert "8 to compute" in first.stderr
    again = boltzmem("run", *SMALL, cwd=tmp_path)
    assert again.returncode == 0
    assert "8 done, 0 to compute" in again.stderr
    assert "0 cells computed" in again.stderr
    more = boltzmem("run", *SMALL, "study.seeds=3", cwd=tmp_path)
    assert "12 cells" in more.stderr


def test_a_bad_configuration_exits_with_2_before_anything_runs(tmp_path: Path) -> None:
    for arguments in (
        ["run", "study=nope"],
        ["run", "study.seds=1"],
        ["run", "temperature.value=-1"],
        ["run", "--workers", "0"],
        ["run", "--timeout", "soon"],
        ["nothing"],
        [],
    ):
        done = boltzmem(*arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_report_without_a_run_says_what_to_do(tmp_path: Path) -> None:
    done = boltzmem("report", "study=smoke", cwd=tmp_path)
    assert done.returncode == 2
    assert "run it first with boltzmem run study=smoke" in done.stderr


def test_the_list_names_every_study_and_policy(tmp_path: Path) -> None:
    done = boltzmem("list", cwd=tmp_path)
    assert done.returncode == 0
    for line in ("study=default", "temperature=adaptive", "task=pbo", "arm="):
        assert line in done.stdout
    only = boltzmem("list", "mapping", cwd=tmp_path)
    assert len(only.stdout.splitlines()) == 4


def test_a_foreign_conf_is_refused_and_named(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "__init__.py").touch()
    done = boltzmem("list", cwd=tmp_path)
    assert done.returncode == 2
    assert "another folder is called conf" in done.stderr
    assert str(tmp_path) in done.stderr


@pytest.mark.parametrize("verb", ["run", "report", "list"])
def test_every_verb_has_a_help_that_says_what_it_does(
    verb: str, tmp_path: Path
) -> None:
    done = boltzmem(verb, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: boltzmem {verb}")
    assert len(done.stdout.splitlines()) > 8


def test_a_wheel_runs_from_an_empty_folder(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            str(wheels),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("boltzmem-*.whl")
    venv.create(tmp_path / "venv", with_pip=True, system_site_packages=False)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True
    )
    # The dependencies are those of this environment; the package itself is the wheel's.
    site = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    empty = tmp_path / "empty"
    empty.mkdir()
    # A path that comes after the wheel's own, and whose .pth files are not read.
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "boltzmem", "run", *SMALL],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (empty / done.stdout.split()[-1]).is_file()
    where = subprocess.run(
        [python, "-c", "import memory; print(memory.__file__)"],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path / "venv") in where.stdout
