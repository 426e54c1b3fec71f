"""OpenEvolve's checkpoints: what is read, what is refused, and a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory import CheckpointUnreadable, EvolutionaryMemory, Settings, Status
from memory.interop.openevolve import load_programs, read_programs

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "openevolve_circle26"


def program(id: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "code": f"# {id}",
        "metrics": {"combined_score": 0.5},
        "timestamp": 1.0,
        "iteration_found": 0,
        "parent_id": None,
        **fields,
    }


def checkpoint(folder: Path, *programs: object) -> Path:
    (folder / "programs").mkdir(parents=True)
    for index, one in enumerate(programs):
        text = one if isinstance(one, str) else json.dumps(one)
        (folder / "programs" / f"{index}.json").write_text(text, "utf-8")
    return folder


def test_programs_come_in_their_order_with_their_parents(tmp_path: Path) -> None:
    folder = checkpoint(
        tmp_path,
        program(
            "child", parent_id="root", timestamp=2.0, iteration_found=1, generation=1
        ),
        program("root"),
        program("orphan", parent_id="evicted", timestamp=3.0, generation=5),
        program("own", parent_id="own", timestamp=4.0),
    )
    found = read_programs(folder)
    assert [one.id for one in found] == ["root", "child", "orphan", "own"]
    assert [one.parent_ids for one in found] == [(), ("root",), (), ()]
    assert [one.generation for one in found] == [0, 1, 5, 0]
    assert found[2].metadata["openevolve_parent"] == "evicted"
    assert found[1].time == 2.0


@pytest.mark.parametrize(
    "metrics",
    [
        {"error": 0.0, "timeout": True},
        {"combined_score": True},
        {"combined_score": "0.7"},
        {"combined_score": float("-inf")},
        {"combined_score": None},
    ],
)
def test_a_program_without_a_finite_score_has_failed(
    tmp_path: Path, metrics: dict[str, Any]
) -> None:
    folder = checkpoint(tmp_path, program("a", metrics=metrics), program("b"))
    found = read_programs(folder)[0]
    assert found.status is Status.FAILED
    assert found.score is None
    assert "failure" in found.metadata


def test_all_metrics_are_kept_and_another_may_be_the_score(tmp_path: Path) -> None:
    metrics = {"combined_score": 0.1, "speed": 3, "parts": [1, 2], "bad": float("inf")}
    (found,) = read_programs(
        checkpoint(tmp_path, program("a", metrics=metrics)), score="speed"
    )
    assert found.score == 3.0
    assert found.metadata["metric.combined_score"] == 0.1
    assert found.metadata["metric.parts"] == "[1, 2]"
    assert found.metadata["metric.bad"] == "inf"


def test_loading_twice_is_harmless(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, program("a"), program("b", parent_id="a"))
    memory = EvolutionaryMemory(scope="mine")
    load_programs(folder, memory)
    before = memory.digest()
    assert load_programs(folder, memory) == []
    assert memory.digest() == before
    assert memory.lineage().edges() == [("a", "b")]


def test_a_later_checkpoint_adds_what_is_new_in_it(tmp_path: Path) -> None:
    a, b = program("a"), program("b", parent_id="a", timestamp=2.0)
    c = program("c", parent_id="b", timestamp=3.0)
    early, late = (
        checkpoint(tmp_path / "early", a, b),
        checkpoint(tmp_path / "late", b, c),
    )
    for first, second in ((early, late), (late, early)):
        memory = EvolutionaryMemory()
        load_programs(first, memory)
        load_programs(second, memory)
        assert sorted(memory.ids) == ["a", "b", "c"]
        assert ("b", "c") in memory.lineage().edges()
    with pytest.raises(ValueError, match="id must be new or name the same program"):
        load_programs(checkpoint(tmp_path / "x", program("a", code="other")), memory)


def test_a_program_goes_to_the_island_it_names_where_there_is_one(
    tmp_path: Path,
) -> None:
    folder = checkpoint(
        tmp_path,
        *[program(f"{k}", metadata={"island": k}, timestamp=k) for k in range(4)],
    )
    memory = EvolutionaryMemory(Settings(islands=3))
    load_programs(folder, memory)
    assert [memory.home(str(k)) for k in range(3)] == [0, 1, 2]
    assert len(memory) == 4
    single = EvolutionaryMemory()
    load_programs(folder, single)
    assert len(single) == 4


def test_a_score_that_no_program_has_is_refused(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, program("a"))
    with pytest.raises(ValueError, match=r"score must name a metric .*combined_score"):
        load_programs(folder, EvolutionaryMemory(), score="speed")


@pytest.mark.parametrize(
    "broken",
    ["", "[]", "{", json.dumps(program("a", code=None)), json.dumps({"id": "a"})],
)
def test_a_broken_file_is_named_and_nothing_is_remembered(
    tmp_path: Path, broken: str
) -> None:
    folder = checkpoint(tmp_path, program("good"), broken)
    memory = EvolutionaryMemory()
    with pytest.raises(CheckpointUnreadable, match=r"1\.json"):
        load_programs(folder, memory)
    assert len(memory) == 0


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointUnreadable, match="folder must be a checkpoint"):
        read_programs(tmp_path)


@pytest.mark.skipif(not REAL.exists(), reason="the folder of real runs is absent")
def test_a_real_run_becomes_a_population() -> None:
    memory = EvolutionaryMemory(Settings(capacity=1000))
    found = load_programs(REAL / "checkpoint_100", memory)
    assert len(found) == len(list((REAL / "checkpoint_100" / "programs").glob("*")))
    assert len(memory) + memory.n_failed == len(found)
    best = memory.best()
    assert best is not None
    assert best.score == pytest.approx(0.81, abs=0.01)
    assert len(memory.lineage().edges()) == sum(bool(one.parent_ids) for one in found)
