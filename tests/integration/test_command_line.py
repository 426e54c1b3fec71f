"""The command line as a person meets it: real processes, real folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pandas as pd
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
    assert "boltzmem run writes them once all cells are computed" in done.stderr


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


@pytest.fixture(scope="module")
def done_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cwd = tmp_path_factory.mktemp("done")
    assert boltzmem("run", "study=smoke", "study.budget=40", cwd=cwd).returncode == 0
    (folder,) = (cwd / "results").iterdir()
    return folder


@pytest.mark.parametrize("y", ["best", "regret", "D", "T", "effective_parents"])
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_plot_is_drawn_to_any_format_and_the_same_bytes_again(
    done_study: Path, tmp_path: Path, y: str, suffix: str
) -> None:
    found = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.{suffix}"
        done = boltzmem(
            "plot", str(done_study), "--y", y, "--out", str(out), cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert len(found[0]) > 2_000


def test_a_plot_takes_some_arms_and_tasks_and_refuses_strangers(
    done_study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "one.svg"
    done = boltzmem(
        *["plot", str(done_study), "--arms", "ranked_fixed", "--tasks", "nguyen_1"],
        *["--out", str(out)],
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert "loongflow_original" not in out.read_text()
    for arguments, message in (
        (["--arms", "hot"], "--arms must be among"),
        (["--tasks", "hot"], "--tasks must be among"),
        (["--out", "a.jpg"], "--out must end in one of .svg, .pdf, .png"),
    ):
        done = boltzmem("plot", str(done_study), *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    done = boltzmem("plot", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert "holds no tables of a study" in done.stderr


def test_an_export_holds_every_run_and_every_point(
    done_study: Path, tmp_path: Path
) -> None:
    done = boltzmem("export", str(done_study), "--out", "csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = pd.read_csv(tmp_path / "csv" / "runs.csv")
    points = pd.read_csv(tmp_path / "csv" / "points.csv")
    assert len(runs) == 12
    assert set(points["arm"]) == {"loongflow_original", "ranked_fixed"}
    assert points.groupby("cell")["evaluation"].max().eq(40).all()


def test_a_sweep_makes_paired_arms_and_drops_those_that_differ_in_nothing(
    tmp_path: Path,
) -> None:
    done = boltzmem(
        *["run", "--multirun", *SMALL, "temperature=fixed,adaptive"],
        *["mapping=original,inverted", "--no-report"],
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "2 seeds x 3 arms" in done.stderr
    several = boltzmem(
        "plan", "-m", "study=smoke,default", "study.seeds=2", cwd=tmp_path
    )
    # Two tasks cannot give a p that passes: the plan says so before anything is spent.
    assert several.returncode == 1
    assert "no contrast can come out BETTER or WORSE: 6 tasks" in several.stdout
    assert "smoke: " in several.stdout
    assert "default: " in several.stdout
    refused = boltzmem("report", "-m", "study=smoke,default", cwd=tmp_path)
    assert refused.returncode == 2
    assert "this verb takes one study, the sweep makes 2" in refused.stderr
    bad = boltzmem("run", "-m", "temperature=fixed,adaptve", cwd=tmp_path)
    assert bad.returncode == 2
    assert "temperature/adaptve" in bad.stderr


def test_the_composed_configuration_is_shown_and_nothing_runs(tmp_path: Path) -> None:
    done = boltzmem("run", "--cfg", "job", "temperature=adaptive", cwd=tmp_path)
    assert done.returncode == 0
    assert "_target_: memory.temperature.adaptive.Adaptive" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["ö [a], b", "it's=(#)&", "plain"])
def test_a_folder_of_configurations_may_have_any_name(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "docs" / "example" / "configs", folder)
    path = f"{ROOT}{os.pathsep}{ROOT / 'docs' / 'example'}"
    done = boltzmem(
        *["status", "--config-dir", str(folder), "study=my_lab"],
        cwd=tmp_path,
        PYTHONPATH=path,
    )
    assert done.returncode == 0, done.stderr
    assert "18 cells" in done.stdout


def test_a_name_of_ours_is_refused_instead_of_ignored(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "pbo.yaml").write_text("# Mine.\n_target_: x.Y\n")
    done = boltzmem("plan", "--config-dir", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "task/pbo.yaml has the name of a configuration of ours" in done.stderr


def test_what_cannot_be_read_or_written_exits_with_2_and_no_traceback(
    tmp_path: Path,
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "broken.yaml").write_text("name: [\n")
    (tmp_path / "study" / "latin.yaml").write_bytes(b"# caf\xe9\nname: latin\n")
    (tmp_path / "file").touch()
    for arguments in (
        ["run", "--config-dir", str(tmp_path), "study=broken"],
        ["run", "--config-dir", str(tmp_path), "study=latin"],
        ["run", "~study"],
        ["run", "study.arms=[1]"],
        ["run", "study.seeds=99999999999999999999"],
        ["run", "study=smoke", "--results", str(tmp_path / "file")],
        ["list", "nope"],
    ):
        done = boltzmem(*arguments, cwd=tmp_path)
        assert done.returncode == 2, (arguments, done.stderr)
        assert "Traceback" not in done.stderr, (arguments, done.stderr)
        assert done.stderr.startswith("boltzmem"), (arguments, done.stderr)
    assert boltzmem("list", "study", "--config-dir", ".", cwd=tmp_path).returncode == 0


def test_a_page_is_only_made_of_the_cells_of_its_study(tmp_path: Path) -> None:
    assert boltzmem("run", *SMALL, "--no-report", cwd=tmp_path).returncode == 0
    (folder,) = (tmp_path / "results").iterdir()
    other = [*SMALL[:1], "study.seeds=3", *SMALL[2:]]
    place = tmp_path / "results" / folder.name.replace("seeds=2", "seeds=3")
    shutil.copytree(folder, place)
    done = boltzmem("report", *other, cwd=tmp_path)
    assert done.returncode == 2
    assert "they hold 8 of its 12 cells" in done.stderr


def test_a_damaged_table_is_said_and_mended_by_the_same_command(tmp_path: Path) -> None:
    assert boltzmem("run", *SMALL, "--no-report", cwd=tmp_path).returncode == 0
    (folder,) = (tmp_path / "results").iterdir()
    (folder / "runs.parquet").write_bytes(b"PAR1 nonsense")
    done = boltzmem("report", *SMALL, cwd=tmp_path)
    assert done.returncode == 2
    assert "is damaged" in done.stderr
    assert boltzmem("run", *SMALL, "--no-report", cwd=tmp_path).returncode == 0
    assert boltzmem("report", *SMALL, cwd=tmp_path).returncode == 0


def test_flags_and_overrides_come_in_any_order(tmp_path: Path) -> None:
    done = boltzmem(
        *["run", "--quiet", "study=smoke", "--workers", "1", "study.seeds=1"],
        *["--no-report", "study.budget=30"],
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    bad = boltzmem("run", "study=smoke", "--wrokers", "1", cwd=tmp_path)
    assert bad.returncode == 2
    assert "unrecognized arguments: --wrokers" in bad.stderr


def test_the_doctor_finds_every_package(tmp_path: Path) -> None:
    done = boltzmem("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    for line in ("python ", "cores ", "memory ", "disk ", "package     numpy"):
        assert line in done.stdout
    assert "MISSING" not in done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("boltzmem ", "run plan status"),
        ("boltzmem st", "status"),
        ("boltzmem run mapping=", "mapping=inverted"),
        ("boltzmem run study=default temperature=a", "temperature=adaptive"),
        ("boltzmem plan study.se", "study.seeds="),
    ],
)
def test_the_shell_completes_verbs_groups_and_keys(
    line: str, expected: str, tmp_path: Path
) -> None:
    done = boltzmem(
        *["-sc", "query=bash"],
        cwd=tmp_path,
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_somebody_elses_policies_task_and_study_run(tmp_path: Path) -> None:
    example = ROOT / "docs" / "example"
    path = f"{ROOT}{os.pathsep}{example}"
    command = ["--config-dir", str(example / "configs"), "study=my_lab"]
    done = boltzmem("run", *command, cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "results" / "my_lab" / "runs.parquet")
    assert set(table["arm"]) == {"tournament", "sawtooth", "ranked_fixed"}
    assert set(table["task"]) == {"palindrome_20", "onemax_20"}
    assert (table["status"] == "ok").all()
    sawtooth = table[table["arm"] == "sawtooth"]["mean_temperature"]
    assert sawtooth.between(0.02, 0.5).all()
    listed = boltzmem("list", *command[:2], "selection", cwd=tmp_path, PYTHONPATH=path)
    assert "selection=tournament" in listed.stdout
    lost = boltzmem("run", *command, cwd=tmp_path)
    assert lost.returncode == 2
    assert "my_lab" in lost.stderr


def test_the_source_of_somebody_elses_policy_is_part_of_a_cell(tmp_path: Path) -> None:
    example = tmp_path / "example"
    shutil.copytree(ROOT / "docs" / "example", example)
    path = f"{ROOT}{os.pathsep}{example}"
    command = ["run", "--config-dir", str(example / "configs"), "study=my_lab"]
    command += [
        "--no-report",
        "study.contrasts=[]",
        "study.arms=[tournament,ranked_fixed]",
    ]
    command += ["~study.tasks.palindrome_20"]
    first = boltzmem(*command, cwd=tmp_path, PYTHONPATH=path)
    assert "6 to compute" in first.stderr
    source = example / "my_lab" / "tournament.py"
    source.write_text(source.read_text().replace("u.min() * n", "u.max() * n"))
    again = boltzmem(*command, cwd=tmp_path, PYTHONPATH=path)
    assert "3 done, 3 to compute, 3 of them known from other code" in again.stderr


VERBS = ["run", "plan", "status", "report", "plot", "export", "merge", "list", "doctor"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_help_that_says_what_it_does(
    verb: str, tmp_path: Path
) -> None:
    done = boltzmem(verb, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: boltzmem {verb}")
    assert len(done.stdout.splitlines()) >= 7


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
