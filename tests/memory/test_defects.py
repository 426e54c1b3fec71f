"""What LoongFlow does wrong and no other module has a test of: each done right.

The table in ``docs/loongflow_defects.md`` names a test for each of its defects.
"""

from __future__ import annotations

import ast
import asyncio
import copy
import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memory
from memory import (
    AsyncMemory,
    EvolutionaryMemory,
    InMemoryJournal,
    Settings,
    Solution,
    open_memory,
)
from memory.checkpoints import load_checkpoint, save_checkpoint
from memory.lineage import Lineage
from memory.retention.keep_living import KeepLiving
from memory.scaling.raw import Raw
from memory.selection.boltzmann import Boltzmann
from memory.selection.loongflow import LoongFlow
from memory.selection.uniform import Uniform
from memory.stores.sqlite import SqliteJournal
from memory.temperature.fixed import Fixed
from tests.contracts.conftest import Place
from tests.memory.builds import document, grow

ROOT = Path(__file__).resolve().parents[2]


def entropy(temperature: float) -> float:
    configuration = Settings(
        elite_size=50,
        scaling=Raw(),
        temperature=Fixed(value=temperature),
        selection=Boltzmann(exploration=0.2),
    )
    recollection = EvolutionaryMemory(configuration)
    for k in range(100):
        recollection.remember(f"{k}", (k + 1) / 100)
    law = recollection.law()[1]
    return float(-(law @ np.log(law)))


def test_temperature_controls_the_entropy_of_selection() -> None:
    cold, warm, hot = (entropy(temperature) for temperature in (0.05, 0.6, 1.8))
    # Figures of a Boltzmann law over the whole of this population.
    assert np.exp(cold) == pytest.approx(28.33, abs=0.01)
    assert np.exp(warm) == pytest.approx(93.35, abs=0.01)
    assert cold < warm < hot < np.log(100)


def test_an_exploration_rate_has_one_default_in_one_place() -> None:
    for policy in (Boltzmann, LoongFlow):
        fields = {field.name: field.default for field in dataclasses.fields(policy)}
        assert "exploration" in fields
        assert policy() == policy(exploration=fields["exploration"])
    assert "exploration" not in inspect.signature(EvolutionaryMemory.select).parameters


def documented(function: Any) -> set[str]:
    """Returns the names under ``Args`` of a docstring."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"^Args:\n((?: {4}.*\n|\n)+)", text + "\n", re.MULTILINE)
    return set(re.findall(r"^ {4}(\w+):", found[1], re.MULTILINE)) if found else set()


PUBLIC = [
    (kind, name, function)
    for kind in (EvolutionaryMemory, AsyncMemory, Lineage)
    for name, function in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize(
    ("kind", "name", "function"),
    PUBLIC,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_no_docstring_names_a_parameter_that_there_is_not(
    kind: type, name: str, function: Any
) -> None:
    assert documented(function) <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("kind", [EvolutionaryMemory, Settings])
def test_a_constructor_documents_exactly_its_parameters(kind: type) -> None:
    parameters = set(inspect.signature(kind).parameters)
    assert documented(kind) == parameters


def test_threads_select_while_others_add_and_nobody_is_missing() -> None:
    recollection = EvolutionaryMemory(Settings(capacity=10, retention=KeepLiving()))
    recollection.remember("first", 0.0)
    errors: list[BaseException] = []
    ended = threading.Event()
    before = sys.getswitchinterval()

    def add() -> None:
        try:
            for k in range(400):
                recollection.remember(f"{k}", float(k % 37))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    def look() -> None:
        try:
            while not ended.is_set():
                assert recollection.select().text
                assert len(recollection.living()) <= 10
                recollection.view()
        except BaseException as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for work in (add, look, look)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []


def test_the_hash_seed_of_a_process_decides_nothing() -> None:
    code = (
        "from tests.memory.builds import document, grow\n"
        "from memory import EvolutionaryMemory, Settings\n"
        "from memory.selection.loongflow import LoongFlow\n"
        "m = EvolutionaryMemory(Settings(islands=3, capacity=12, migration_interval=4,\n"
        "    selection=LoongFlow(), deduplicate=True), seed=1)\n"
        "grow(m, 80)\n"
        "print(document(m), [m.select().id for _ in range(20)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert len(next(iter(outputs))) > 1_000


def test_nothing_is_counted_that_nobody_reads() -> None:
    """How often somebody was a parent is in the draws of the children, and there only."""
    assert "sample_cnt" not in {field.name for field in dataclasses.fields(Solution)}
    recollection = EvolutionaryMemory()
    recollection.remember("root", 0.5, id="root")
    for k in range(5):
        recollection.remember(f"{k}", 0.1, parent=recollection.select())
    draws = [one.provenance.draw for one in recollection.history()[1:]]
    assert all(draw is not None for draw in draws)
    assert len(recollection.lineage().descendants("root")) == 5


def test_children_of_two_workers_both_count() -> None:
    journal = InMemoryJournal()
    first = EvolutionaryMemory(journal=journal, stream="first")
    second = EvolutionaryMemory(journal=journal, stream="second")
    first.remember("root", 0.5, id="root")
    second.sync()
    parents = first.select(), second.select()
    first.remember("a", 0.5, parent=parents[0], id="a")
    second.remember("b", 0.5, parent=parents[1], id="b")
    first.sync()
    assert first.lineage().children("root") == ("a", "b")


def test_a_score_of_zero_is_a_score_from_the_first_add_on() -> None:
    recollection = EvolutionaryMemory()
    for k in range(4):
        recollection.remember(f"{k}", 0.0, id=f"s{k}")
    assert len(recollection) == 4
    assert recollection.select().score == 0.0
    recollection.remember("worse", -5.0, id="worse")
    recollection.remember_failure("broken", "no", id="broken")
    best = recollection.best()
    assert best is not None
    assert best.id == "s0"
    assert recollection.living()[-1].id == "worse"
    assert "broken" not in recollection.ids


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": None},
        {"score": float("nan")},
        {"score": float("inf")},
        {"score": "0.9"},
        {"score": None},
        {"island": 7},
        {"island": -1},
        {"weight": -0.1},
        {"metadata": {"a": object()}},
        {"metadata": ["not", "a", "mapping"]},
        {"time": float("inf")},
    ],
)
def test_a_failed_add_leaves_nothing_behind(
    place: Place, wrong: dict[str, Any]
) -> None:
    journal = place.open()
    recollection = EvolutionaryMemory(Settings(islands=3), journal)
    grow(recollection, 12)
    before, rows = document(recollection), len(journal.read(0))
    with pytest.raises((TypeError, ValueError)):
        recollection.remember(**{"text": "x", "score": 0.5, **wrong})
    assert len(journal.read(0)) == rows
    recollection.sync()
    assert document(recollection) == before


def test_an_empty_text_is_a_text() -> None:
    recollection = EvolutionaryMemory(Settings(islands=2, deduplicate=True))
    recollection.remember("", 0.5, id="empty")
    assert recollection.select().text == ""


def test_what_a_caller_does_to_what_it_gave_or_got_changes_nothing() -> None:
    recollection = EvolutionaryMemory()
    metadata, inputs = {"plan": "a"}, ["data"]
    recollection.remember("x", 0.5, metadata=metadata, inputs=inputs, id="x")
    metadata["plan"] = "b"
    inputs.append("more")
    kept = recollection.get("x")
    assert (kept.metadata["plan"], kept.provenance.inputs) == ("a", ("data",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        kept.score = 9.0  # type: ignore[misc]
    with pytest.raises(TypeError, match="metadata cannot be changed"):
        kept.metadata["plan"] = "c"  # type: ignore[index]
    before = recollection.digest()
    view = recollection.view()
    view.scores[0] = 9.0
    recollection.living().clear()
    recollection.sizes.append(3)
    assert recollection.digest() == before
    assert copy.copy(kept).metadata is kept.metadata


def test_one_id_is_one_solution_wherever_it_is_put() -> None:
    recollection = EvolutionaryMemory(Settings(islands=2))
    recollection.remember("x", 0.5, id="x", island=0)
    with pytest.raises(ValueError, match="id must be new or name the same solution"):
        recollection.remember("x", 0.5, id="x", island=1)
    with pytest.raises(ValueError, match="id must be new or name the same solution"):
        recollection.remember_failure("x", "no", id="x")
    assert (recollection.ids, recollection.get("x").score) == (("x",), 0.5)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"islands": 0}, "islands"),
        ({"islands": 101}, "capacity"),
        ({"capacity": 0}, "capacity"),
        ({"elite_size": -1}, "elite_size"),
        ({"migration_rate": 5}, "migration_rate"),
        ({"migration_rate": 0}, "migration_rate"),
        ({"migration_interval": -1}, "migration_interval"),
        ({"migration_unit": "zscore"}, "migration_unit"),
        ({"quota": "yes"}, "quota"),
        ({"deduplicate": 1}, "deduplicate"),
        ({"axes": "complexity"}, "axes"),
        ({"scaling": "zscore"}, "scaling"),
        ({"topology": None}, "topology"),
        ({"retention": KeepLiving}, "retention"),
        ({"assignment": 3}, "assignment"),
        ({"ranking": "mean"}, "ranking"),
        ({"weights": 1.0}, "weights"),
        ({"survival": "worst"}, "survival"),
    ],
)
def test_every_setting_is_validated_at_construction_by_name(
    options: dict[str, Any], name: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name} must"):
        Settings(**options)


def test_no_elites_at_all_is_a_setting_like_any_other() -> None:
    recollection = EvolutionaryMemory(Settings(elite_size=0, capacity=3))
    grow(recollection, 20)
    assert not recollection.view().elites.any()


def test_the_living_bound_what_a_process_holds() -> None:
    recollection = EvolutionaryMemory(Settings(capacity=10))
    for k in range(1_000):
        recollection.remember("x" * 1_000 + str(k), float(k % 101))
    assert len(recollection._known) <= 3 * 10 + 65
    assert len(recollection._population.ids()) == 10
    assert len(document(recollection)) < 20_000


def test_the_first_add_after_a_restart_costs_what_any_add_costs() -> None:
    calls = [0]

    class Counting(memory.settings.TextShape):  # type: ignore[misc,name-defined]
        def distance(self, first: Any, second: Any) -> float:
            calls[0] += 1
            return float(super().distance(first, second))

    journal = InMemoryJournal()
    configuration = Settings(diversity=Counting(), capacity=300)
    recollection = EvolutionaryMemory(configuration, journal)
    grow(recollection, 350)
    recollection.compact()
    again = EvolutionaryMemory(configuration, journal)
    again.remember("x", 0.5)
    assert calls[0] == 0


def test_what_was_evicted_or_failed_does_not_come_back_from_a_checkpoint(
    tmp_path: Path,
) -> None:
    journal = InMemoryJournal()
    recollection = EvolutionaryMemory(Settings(capacity=10), journal)
    grow(recollection, 60)
    save_checkpoint(journal, tmp_path / "a.checkpoint")
    with SqliteJournal(tmp_path / "a.db") as other:
        load_checkpoint(tmp_path / "a.checkpoint", other)
        again = EvolutionaryMemory(Settings(capacity=10), other)
        assert again.ids == recollection.ids
        assert len(again) == 10
        # Failures brick nothing.
        assert again.best() == recollection.best()
        assert again.validity().n_solutions > 10
        again.remember("x", 0.5)
        assert len(again) == 10


def test_a_checkpoint_of_other_islands_is_refused_when_it_is_opened(
    tmp_path: Path,
) -> None:
    journal = InMemoryJournal()
    grow(EvolutionaryMemory(Settings(islands=5), journal), 10)
    save_checkpoint(journal, tmp_path / "a.checkpoint")
    other = InMemoryJournal()
    load_checkpoint(tmp_path / "a.checkpoint", other)
    with pytest.raises(
        memory.ConfigurationMismatch, match=r"settings\.islands: 3 here, 5 there"
    ):
        EvolutionaryMemory(Settings(islands=3), other)


@pytest.mark.parametrize(
    "id_", ["../../../escaped", "a/b", "/etc/x", "..", "a\0b", "C:\\x"]
)
def test_no_id_becomes_a_path(tmp_path: Path, id_: str) -> None:
    folder = tmp_path / "deep" / "down" / "here"
    folder.mkdir(parents=True)
    with open_memory(f"sqlite:///{folder / 'a.db'}", "main") as recollection:
        recollection.remember("x", 0.5, id=id_)
        save_checkpoint(recollection._following.journal, folder / "a.checkpoint")
        other = InMemoryJournal()
        load_checkpoint(folder / "a.checkpoint", other)
        assert EvolutionaryMemory(journal=other).get(id_).text == "x"
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent for path in made} == {folder}
    assert {path.name.split("-")[0] for path in made} <= {"a.db", "a.checkpoint"}


def test_a_checkpoint_written_again_holds_nothing_of_the_old_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.checkpoint"
    for name in ("old", "new"):
        journal = InMemoryJournal()
        EvolutionaryMemory(journal=journal).remember(name, 0.5, id=name)
        save_checkpoint(journal, path)
    other = InMemoryJournal()
    load_checkpoint(path, other)
    assert [one.id for one in EvolutionaryMemory(journal=other).history()] == ["new"]


def test_an_empty_memory_can_be_saved_and_loaded(tmp_path: Path) -> None:
    journal = InMemoryJournal()
    EvolutionaryMemory(journal=journal)
    save_checkpoint(journal, tmp_path / "a.checkpoint")
    other = InMemoryJournal()
    load_checkpoint(tmp_path / "a.checkpoint", other)
    assert EvolutionaryMemory(journal=other).history() == []


def test_extreme_numbers_survive_a_checkpoint_to_the_last_bit(tmp_path: Path) -> None:
    journal = InMemoryJournal()
    recollection = EvolutionaryMemory(journal=journal)
    numbers = [5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2, 2.0**53 + 2]
    for k, number in enumerate(numbers):
        recollection.remember(
            f"{k}", number, id=f"s{k}", metadata={"n": number, "k": k}
        )
    save_checkpoint(journal, tmp_path / "a.checkpoint")
    other = InMemoryJournal()
    load_checkpoint(tmp_path / "a.checkpoint", other)
    again = EvolutionaryMemory(journal=other)
    for k, number in enumerate(numbers):
        assert repr(again.get(f"s{k}").score) == repr(number)
        assert again.get(f"s{k}") == recollection.get(f"s{k}")


def test_a_memory_is_opened_by_an_address_that_is_read_or_refused() -> None:
    with open_memory("memory:") as recollection:
        recollection.remember("x", 0.5)
    for url in ("Redis", "redis", "in_memory", "inmemory:", ""):
        with pytest.raises(ValueError, match="url must"):
            open_memory(url)
    with pytest.raises(TypeError, match="capacty"):
        Settings(capacty=5)  # type: ignore[call-arg]


def test_settings_are_copied_pickled_and_never_changed() -> None:
    configuration = memory.upstream()
    assert copy.deepcopy(configuration) == copy.copy(configuration) == configuration
    with pytest.raises(dataclasses.FrozenInstanceError):
        configuration.capacity = 3  # type: ignore[misc]


@pytest.mark.parametrize("texts", [1_100])
def test_a_shared_store_takes_any_number_of_adds_and_what_it_holds_grows_evenly(
    place: Place, texts: int
) -> None:
    with EvolutionaryMemory(Settings(capacity=12), place.open()) as recollection:
        for k in range(texts):
            recollection.remember(f"text {k}", float(k % 7))
        entries = place.open().read(0)
        assert len(entries) == texts + 1
        lengths = [len(entry.row) for entry in entries[1:]]
        assert max(lengths) <= 2 * min(lengths)
        assert len(recollection) == 12


def test_every_store_gives_the_same_population_for_the_same_calls(
    place: Place,
) -> None:
    configuration = Settings(
        islands=3, capacity=9, migration_interval=4, selection=LoongFlow(), elite_size=4
    )
    reference = EvolutionaryMemory(configuration, seed=2)
    shared = EvolutionaryMemory(configuration, place.open(), seed=2)
    for recollection in (reference, shared):
        grow(recollection, 60)
        recollection.retract(recollection.living()[0].id, "it cheats")
    assert document(shared) == document(reference)
    assert shared.history() == reference.history()
    assert [a.id for a in shared.living()] == [a.id for a in reference.living()]
    # Somebody new finds it all there, by its name.
    again = EvolutionaryMemory(configuration, place.open(), seed=2)
    assert document(again) == document(reference)
    assert again.select().id == reference.select().id


def test_a_root_has_no_parent_on_any_store(place: Place) -> None:
    recollection = EvolutionaryMemory(journal=place.open())
    root = recollection.remember("x", 0.5, parent=None, id="root")
    assert root.parent_ids == ()
    assert recollection.lineage().ancestors("root") == ()


def test_the_best_is_kept_where_there_is_room_for_one(place: Place) -> None:
    recollection = EvolutionaryMemory(Settings(capacity=1), place.open())
    recollection.remember("good", 0.9, id="good")
    recollection.remember("bad", 0.1, id="bad")
    assert recollection.ids == ("good",)


def test_an_add_is_one_call_of_the_store_and_a_draw_is_none() -> None:
    calls: list[str] = []

    class Outer:
        """Counts only what the memory calls, not what the journal calls of itself."""

        def __init__(self) -> None:
            self.inner = InMemoryJournal()

        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(self.inner, name)

    recollection = EvolutionaryMemory(Settings(capacity=20), Outer())  # type: ignore[arg-type]
    grow(recollection, 40)
    calls.clear()
    parent = recollection.select()
    assert calls == []
    recollection.remember("x", 0.5, parent=parent)
    assert calls == ["append_and_read"]


def test_awaiting_and_calling_give_the_same_memory() -> None:
    async def main() -> str:
        awaited = AsyncMemory(EvolutionaryMemory(seed=1))
        for k in range(10):
            await awaited.remember(f"{k}", k / 10)
        return document(awaited.memory)

    plain = EvolutionaryMemory(seed=1)
    for k in range(10):
        plain.remember(f"{k}", k / 10)
    assert asyncio.run(main()) == document(plain)


def test_uniform_selection_is_the_only_one_that_sees_no_scores() -> None:
    """The mutation that LoongFlow's own tests let pass: always the first solution."""
    for selection in (Boltzmann(), LoongFlow(), Uniform()):
        recollection = EvolutionaryMemory(Settings(selection=selection))
        for k in range(12):
            recollection.remember(f"{k}", float(k), id=f"s{k}")
        drawn = [recollection.select().id for _ in range(300)]
        assert len(set(drawn)) > 1
        assert drawn.count("s0") < 60


LINE = re.compile(r"^\| (\d+) \|.*\| (.+) \|$")


def test_the_table_of_defects_names_tests_that_there_are() -> None:
    text = (ROOT / "docs" / "loongflow_defects.md").read_text()
    rows = dict(match.groups() for match in map(LINE.match, text.splitlines()) if match)
    assert set(map(int, rows)) >= set(range(1, 78))
    known = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for number, cell in rows.items():
        named = re.findall(r"`(test_\w+)`", cell)
        assert named or "does not apply" in cell, f"defect {number} names no test"
        assert set(named) <= known, f"defect {number} names {set(named) - known}"


def test_json_is_the_only_form_of_what_is_written() -> None:
    journal = InMemoryJournal()
    grow(EvolutionaryMemory(journal=journal), 10)
    for entry in journal.read(0):
        json.loads(entry.row)
    for _, body in journal.dump().bodies:
        json.loads(body)
