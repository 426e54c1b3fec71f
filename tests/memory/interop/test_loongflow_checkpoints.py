"""Checkpoint folders: LoongFlow's layout, whole or not at all, and nowhere else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memory import open_memory
from memory.checkpoints import CheckpointUnreadable
from memory.interop import loongflow_folder as folders
from memory.interop.loongflow import InMemory, RedisMemory, Solution, StoredMemory
from memory.interop.loongflow_memory import JournalMemory
from memory.stores.urls import purge

ROOT = Path(__file__).resolve().parents[3]
UPSTREAM = ROOT / "benchmarks" / ".upstream" / "bin" / "python"
ARTIFACTS = ROOT.parent / "shared" / "data" / "loongflow_artifacts"

KEYS = [
    "total_generated_solutions",
    "total_valid_solutions",
    "island_feature_map",
    "islands",
    "elites",
    "best_solution_id",
    "island_best_solution",
    "last_iteration",
    "current_island",
    "island_capacity",
    "last_migration_generation",
    "feature_stats",
]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000_000))
    monkeypatch.setattr(Solution, "clock", staticmethod(lambda: float(next(ticks))))


def add(memory: JournalMemory, **fields: Any) -> str:
    return asyncio.run(memory.add_solution(Solution(**fields)))


def grow(memory: JournalMemory, first: int, last: int) -> None:
    for k in range(first, last):
        parent = memory.sample()
        parent_id = parent.solution_id if parent else ""
        score = (k * 37 % 101) / 101
        add(
            memory,
            solution="x" * (k % 17 + 1) + str(k),
            solution_id=f"s{k}",
            parent_id=parent_id,
            score=score,
            metadata={"k": [k]},
        )


def saved(memory: JournalMemory, path: Path, tag: str = "t") -> Path:
    asyncio.run(memory.save_checkpoint(str(path), tag))
    return path / "checkpoints" / f"checkpoint-{tag}"


def data(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def plain(memory: JournalMemory) -> dict[str, dict[str, Any]]:
    """Returns all solutions as data, without what depends on who else lives."""
    found = {one.solution_id: one.to_dict() for one in memory.list_solutions()}
    for one in found.values():
        one["metadata"].pop("MAP_Elite_feature", None)
    return found


def test_the_layout_is_loongflows(tmp_path: Path) -> None:
    memory = InMemory(population_size=12, migration_interval=5)
    grow(memory, 0, 30)
    folder = saved(memory, tmp_path)
    metadata = data(folder / "metadata.json")
    assert list(metadata) == KEYS
    files = {path.stem for path in (folder / "solutions").glob("*.json")}
    copies = {id_ for island in metadata["islands"] for id_ in island if "_" in id_}
    assert copies
    assert files == {f"s{k}" for k in range(30)} | copies
    assert metadata["total_generated_solutions"] == len(files)
    assert metadata["total_valid_solutions"] == 12
    for name in files:
        solution = data(folder / "solutions" / f"{name}.json")
        assert list(solution) == list(Solution().to_dict())
        assert solution["solution_id"] == name
        assert bool(solution["metadata"].get("migrated")) == (name in copies)
    best = data(folder / "best_solution.json")
    assert best["solution_id"] == metadata["best_solution_id"]
    assert metadata["last_iteration"] == 30
    for cells, island in zip(
        metadata["island_feature_map"], metadata["islands"], strict=True
    ):
        assert set(cells.values()) <= set(island)


@pytest.mark.parametrize("profile", ["repaired", "upstream"])
def test_a_resumed_run_equals_an_uninterrupted_one(
    profile: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "population_size": 12,
        "migration_interval": 4,
        "profile": profile,
        "feature_binning": "living",
        "seed": 3,
    }
    memory = InMemory(**options)
    grow(memory, 0, 40)
    folder = saved(memory, tmp_path)
    resumed = InMemory(**options)
    resumed.load_checkpoint(str(folder))
    assert resumed.list_solutions() == memory.list_solutions()
    for one in (memory, resumed):
        Solution.clock = staticmethod(lambda: 7.0)
        grow(one, 40, 80)
    assert resumed.list_solutions() == memory.list_solutions()
    assert resumed._register.memory.digest() == memory._register.memory.digest()


def test_a_checkpoint_goes_into_a_store_and_out_again(tmp_path: Path) -> None:
    memory = InMemory(population_size=12, migration_interval=4)
    grow(memory, 0, 30)
    asyncio.run(memory.update_solution("s3", summary="noted"))
    folder = saved(memory, tmp_path)
    stored = StoredMemory(
        f"sqlite:///{tmp_path / 'run.db'}",
        memory_id="p",
        population_size=12,
        migration_interval=4,
    )
    stored.load_checkpoint(str(folder))
    assert stored.list_solutions() == memory.list_solutions()
    again = StoredMemory(
        f"sqlite:///{tmp_path / 'run.db'}",
        memory_id="p",
        population_size=12,
        migration_interval=4,
    )
    assert again.list_solutions() == memory.list_solutions()
    assert again._register.memory.digest() == memory._register.memory.digest()
    for one in (stored, again):
        one.close()


def test_loading_into_a_store_leaves_others_in_it_alone(tmp_path: Path) -> None:
    memory = InMemory()
    grow(memory, 0, 10)
    folder = saved(memory, tmp_path)
    url = f"sqlite:///{tmp_path / 'run.db'}"
    with open_memory(url, "shared", scope="mine") as mine:
        mine.remember("kept", 0.5, id="kept")
    stored = StoredMemory(url, memory_id="shared")
    stored.load_checkpoint(str(folder))
    assert plain(stored) == plain(memory)
    stored.close()
    with open_memory(url, "shared", scope="mine") as mine:
        assert mine.get("kept").text == "kept"


def test_a_checkpoint_is_read_under_other_options_too(tmp_path: Path) -> None:
    memory = InMemory(num_islands=5, population_size=50, migration_interval=0)
    grow(memory, 0, 30)
    folder = saved(memory, tmp_path)
    for islands in (2, 7):
        other = InMemory(num_islands=islands, population_size=70, migration_interval=0)
        other.load_checkpoint(str(folder))
        assert len(other.list_solutions()) == 30
        assert sum(other._register.memory.sizes) == sum(memory._register.memory.sizes)
        add(other, solution="new", solution_id="new", score=0.5)
        (new,) = other.get_solutions(["new"])
        assert new.iteration == 31


def test_the_dead_stay_dead_and_keep_their_scores(tmp_path: Path) -> None:
    memory = InMemory(num_islands=1, population_size=10, migration_interval=0)
    grow(memory, 0, 51)
    folder = saved(memory, tmp_path)
    (folder / folders.JOURNAL).unlink()
    other = InMemory(num_islands=1, population_size=10, migration_interval=0)
    other.load_checkpoint(str(folder))
    assert other.get_best_solutions(top_k=99) == memory.get_best_solutions(top_k=99)
    assert plain(other) == plain(memory)
    assert other.memory_status() == memory.memory_status()
    lineage = other.get_parents_by_child_id("s50", 99)
    assert lineage == memory.get_parents_by_child_id("s50", 99)


def test_a_failed_attempt_does_not_spoil_what_is_loaded(tmp_path: Path) -> None:
    memory = InMemory()
    add(memory, solution="x", solution_id="a", score=0.5)
    add(memory, solution="y", solution_id="b", score=None)
    folder = saved(memory, tmp_path)
    (folder / folders.JOURNAL).unlink()
    other = InMemory()
    other.load_checkpoint(str(folder))
    add(other, solution="z", score=0.25)
    assert other.memory_status()["global_status"]["best_score"] == 0.5
    assert other.get_solutions(["b"])[0].score is None


def test_an_id_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    ids = ["../../../escaped", "a/b", "..", ".", "A" * 300, "ü", "a%2Fb", "x\0y", "a b"]
    memory = InMemory()
    for k, id_ in enumerate(ids):
        add(memory, solution=f"{k}", solution_id=id_, score=k / 10)
    folder = saved(memory, tmp_path)
    inside = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert all(path.is_relative_to(folder) for path in inside)
    assert len(list((folder / "solutions").iterdir())) == len(ids)
    (folder / folders.JOURNAL).unlink()
    other = InMemory()
    other.load_checkpoint(str(folder))
    assert plain(other) == plain(memory)


@pytest.mark.parametrize("tag", ["../x", "a/b", "", "x\0", "t" * 300])
def test_a_tag_never_leads_out_of_the_folder(tag: str, tmp_path: Path) -> None:
    memory = InMemory()
    with pytest.raises(ValueError, match="tag must be a name"):
        saved(memory, tmp_path, tag)
    assert list(tmp_path.iterdir()) == []


def test_the_same_tag_again_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    for id_ in ("old", "new"):
        memory = InMemory()
        add(memory, solution="x", solution_id=id_, score=0.5)
        folder = saved(memory, tmp_path)
    assert [path.name for path in (folder / "solutions").iterdir()] == ["new.json"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_write_that_fails_leaves_the_older_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = InMemory()
    add(memory, solution="x", solution_id="a", score=0.5)
    folder = saved(memory, tmp_path)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    add(memory, solution="y", solution_id="b", score=0.6)
    calls = iter(range(100))

    def fsync(descriptor: int) -> None:
        if next(calls) == 2:
            raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="no space left"):
        saved(memory, tmp_path)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_death_between_two_renames_leaves_a_checkpoint(tmp_path: Path) -> None:
    memory = InMemory()
    add(memory, solution="x", solution_id="a", score=0.5)
    folder = saved(memory, tmp_path)
    folder.rename(folder.with_name(f".{folder.name}.old"))
    other = InMemory()
    other.load_checkpoint(str(folder))
    assert other.list_solutions() == memory.list_solutions()


def test_without_a_path_or_a_tag_options_and_the_clock_decide(tmp_path: Path) -> None:
    memory = InMemory(output_path=str(tmp_path))
    asyncio.run(memory.save_checkpoint())
    (folder,) = (tmp_path / "checkpoints").iterdir()
    assert folder.name.startswith("checkpoint-19")
    empty = InMemory()
    empty.load_checkpoint(str(folder))
    assert empty.list_solutions() == []
    with pytest.raises(ValueError, match="path must be given"):
        asyncio.run(InMemory(output_path=None).save_checkpoint())


def test_loading_needs_a_folder_and_an_empty_memory(tmp_path: Path) -> None:
    memory = InMemory()
    with pytest.raises(FileNotFoundError, match="checkpoint_path must be a folder"):
        memory.load_checkpoint(str(tmp_path / "nothing"))
    add(memory, solution="x", score=0.5)
    folder = saved(memory, tmp_path)
    with pytest.raises(ValueError, match="into an empty memory, got one of 1"):
        memory.load_checkpoint(str(folder))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("metadata.json", None, "is missing"),
        ("metadata.json", "{", "is damaged"),
        ("metadata.json", "[]", "must hold an object"),
        ("metadata.json", '{"islands": 3}', "must hold islands"),
        ("metadata.json", '{"last_iteration": -1}', "must hold last_iteration"),
        ("metadata.json", '{"island_feature_map": 3}', "must hold island_feature_map"),
        ("solutions/a.json", '{"score": NaN}', "it holds NaN"),
        ("solutions/a.json", '{"solution": "x"}', "must name a solution_id"),
        ("solutions/a.json", '{"solution_id": "a", "solution": 3}', "must be a string"),
        ("solutions/b.json", b"\xff", "is damaged"),
        (folders.JOURNAL, b"\xff", "is no checkpoint"),
    ],
)
def test_what_is_damaged_is_refused_and_leaves_nothing(
    file: str, text: Any, message: str, tmp_path: Path
) -> None:
    memory = InMemory()
    for id_ in "abc":
        add(memory, solution="x", solution_id=id_, score=0.5)
    folder = saved(memory, tmp_path)
    if file != folders.JOURNAL:
        (folder / folders.JOURNAL).unlink()
    path = folder / file
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    other = InMemory()
    with pytest.raises((CheckpointUnreadable, TypeError), match=message):
        other.load_checkpoint(str(folder))
    assert other.list_solutions() == []
    add(other, solution="y", score=0.5)


def theirs(folder: Path, islands: list[list[str]], **more: Any) -> Path:
    """Writes a checkpoint as LoongFlow's own code does, of solutions a to d."""
    (folder / "solutions").mkdir(parents=True)
    for k, id_ in enumerate(["a", "b", "c", "d", "b_migrated_0"]):
        solution = Solution(
            solution=f"text {id_[0]}",
            solution_id=id_,
            score=k / 10,
            parent_id="b_migrated_0" if id_ == "c" else "",
            island_id=k % 2,
            iteration=k,
            metadata={"migrated": True} if "_" in id_ else {},
        )
        (folder / "solutions" / f"{id_}.json").write_text(
            json.dumps(solution.to_dict(), indent=4)
        )
    metadata = {"islands": islands, "last_iteration": 9, "current_island": 1, **more}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


@pytest.mark.parametrize("maps", [[{"0-0-0": "a"}, {}], {"0": {"0-0-0": "a"}}])
def test_feature_maps_of_both_backends_are_read(maps: Any, tmp_path: Path) -> None:
    path = theirs(tmp_path / "c", [["a"], []], island_feature_map=maps)
    assert folders.read(path).feature_maps == [{"0-0-0": "a"}, {}]
    memory = InMemory(num_islands=2)
    memory.load_checkpoint(str(path))
    assert [one.solution_id for one in memory.get_best_solutions(0, 9)] == ["a"]


def test_a_copy_is_loaded_as_its_original(tmp_path: Path) -> None:
    path = theirs(tmp_path / "c", [["a", "b_migrated_0"], ["b", "c"]])
    memory = InMemory(num_islands=2, migration_interval=0)
    memory.load_checkpoint(str(path))
    names = [
        [s.solution_id for s in memory.get_best_solutions(island, 9)]
        for island in range(2)
    ]
    assert names == [["a"], ["c", "b"]]
    assert sorted(s.solution_id for s in memory.list_solutions()) == list("abcd")
    parents = memory.get_parents_by_child_id("c", 1)
    assert [one.solution_id for one in parents] == ["b"]
    path = theirs(tmp_path / "d", [["a", "b_migrated_0"], ["c"]])
    memory = InMemory(num_islands=2, migration_interval=0)
    memory.load_checkpoint(str(path))
    assert memory.get_solutions(["b"])[0].island_id == 0


def test_where_no_island_names_anybody_all_live(tmp_path: Path) -> None:
    path = theirs(tmp_path / "c", [])
    memory = InMemory(num_islands=2, migration_interval=0)
    memory.load_checkpoint(str(path))
    assert memory._register.memory.sizes == [2, 2]
    assert memory.memory_status()["global_status"]["current_iteration"] == 9


def test_redis_writes_cells_as_loongflows_redis_does(
    redis_url: str, tmp_path: Path
) -> None:
    name = "boltzmem test of loongflow folders"
    memory = RedisMemory(redis_url=redis_url, memory_id=name)
    try:
        add(memory, solution="x", solution_id="a", score=0.5)
        folder = saved(memory, tmp_path)
        maps = data(folder / "metadata.json")["island_feature_map"]
        assert list(maps) == ["0", "1", "2"]
        other = InMemory()
        other.load_checkpoint(str(folder))
        assert plain(other) == plain(memory)
    finally:
        memory.close()
        purge(redis_url, name)


def test_loongflow_itself_reads_what_we_write_and_we_what_it_writes(
    tmp_path: Path,
) -> None:
    if not UPSTREAM.exists():
        pytest.skip("LoongFlow is not installed: `make benchmarks` does it")
    options: dict[str, Any] = {"population_size": 50, "migration_interval": 5}
    memory = InMemory(profile="upstream", **options)
    grow(memory, 1, 40)
    folder = saved(memory, tmp_path)
    reader = Path(__file__).with_name("upstream_reader.py")
    done = subprocess.run(
        [UPSTREAM, reader, folder, tmp_path / "out"],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    written = data(folder / "metadata.json")
    assert [sorted(ids) for ids in written["islands"]] == found["islands"]
    assert sorted(written["elites"]) == found["elites"]
    assert written["island_feature_map"] == found["feature_maps"]
    assert written["best_solution_id"] == found["best"]
    assert written["last_iteration"] == found["last_iteration"] == 39
    assert found["sampled"] in found["solutions"]
    expected = {one.solution_id: one.to_dict() for one in memory.list_solutions()}
    originals = {k: v for k, v in found["solutions"].items() if "_" not in k}
    assert originals == expected
    back = InMemory(profile="upstream", **options)
    back.load_checkpoint(str(tmp_path / "out" / "checkpoints" / "checkpoint-theirs"))
    assert plain(back) == plain(memory)


def test_the_parent_of_a_real_run_is_a_solution() -> None:
    path = ARTIFACTS / "LLM1" / "planner" / "parent_info.json"
    if not path.exists():
        pytest.skip(f"there is no {path.name} of a real run beside the project")
    solution = Solution.from_dict(data(path))
    assert solution.score == pytest.approx(3.946, abs=1e-3)
    assert solution.solution_id == ""
    memory = InMemory()
    id_ = asyncio.run(memory.add_solution(solution))
    (found,) = memory.get_solutions([id_])
    assert found.solution == solution.solution
    assert found.evaluation == solution.evaluation
    assert found.score == solution.score
