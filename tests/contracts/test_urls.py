"""Stores by address, what they hold, and their configurations."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.utils import get_class

from experiments.composition import Composer
from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import JournalRewound, PopulationSize
from memory.stores.sqlite import SqliteJournal
from memory.stores.urls import list_populations, open_journal, purge
from tests.contracts.conftest import Place

COMPOSER = Composer()


def test_memory_is_a_new_journal_every_time() -> None:
    first, second = open_journal("memory:"), open_journal("memory:", "main")
    assert isinstance(first, InMemoryJournal)
    first.append("a", b"row", b"")
    assert second.read(0) == []


def test_three_slashes_are_a_relative_file_and_four_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///a.db", f"sqlite:///{tmp_path / 'a.db'}"):
        with open_journal(url, "one") as journal:
            assert isinstance(journal, SqliteJournal)
            journal.append("a", b"row", b"")
            assert len(journal.read(0)) == 1
    assert (tmp_path / "a.db").is_file()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.db",
        "memory",
        "memory:x",
        "sqlite:",
        "sqlite:///",
        "sqlite://a.db",
        "redis:",
        "postgres://:secret@localhost",
        "secret:6379",
    ],
)
def test_another_address_is_refused_with_the_ones_that_would_do(url: str) -> None:
    with pytest.raises(
        ValueError, match="url must be memory:, sqlite:///file"
    ) as caught:
        open_journal(url)
    assert "secret" not in str(caught.value)


def test_an_address_and_a_name_must_be_strings() -> None:
    with pytest.raises(TypeError, match="url must be a string, got a NoneType"):
        open_journal(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="name must not be empty"):
        open_journal("memory:", "")


def test_populations_are_listed_with_their_sizes(lasting: Place) -> None:
    first, second = lasting.open(), lasting.open(f"{lasting.name} 2")
    for k in range(10):
        first.append(f"k{k}", b"r" * 100, b"b" * 1_000)
    first.save_snapshot(6, b"s" * 500)
    first.save_snapshot(4, b"s", "other")
    first.trim(4)
    first.discard(["k1", "k2", "k3"])
    second.append("a", b"row", b"body")
    found = {size.name: size for size in list_populations(lasting.url)}
    one, two = found[lasting.name], found[f"{lasting.name} 2"]
    assert one[:5] == (lasting.name, 10, 6, 7, 2)
    # A server estimates by a sample of the bodies, three of ten of which are gone here.
    assert 4 * 1_000 + 6 * 100 + 500 < one.bytes < 20_000
    assert two[:5] == (f"{lasting.name} 2", 1, 1, 1, 0)
    assert 0 < two.bytes < 2_000


def test_a_purged_population_is_gone_whole_and_the_others_stay(lasting: Place) -> None:
    first, second = lasting.open(), lasting.open(f"{lasting.name} 2")
    for journal in (first, second):
        journal.append("a", b"row", b"body")
        journal.save_snapshot(1, b"one")
    before = {size.name: size for size in list_populations(lasting.url)}
    assert purge(lasting.url, lasting.name) == before[lasting.name]
    after = {size.name: size for size in list_populations(lasting.url)}
    del before[lasting.name]
    assert after == before
    with pytest.raises(JournalRewound, match="1 entries had been seen"):
        first.append("b", b"row", b"")
    anew = lasting.open()
    assert anew.load_snapshot() is None
    assert anew.append("a", b"row", b"")
    assert second.read(0) == [(1, b"row")]
    with pytest.raises(LookupError, match="name must name a population, got 'none'"):
        purge(lasting.url, "none")


def test_a_purge_gives_the_space_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with open_journal(url) as journal:
        for k in range(500):
            journal.append(f"k{k}", b"row", b"b" * 4_000)
    full = (tmp_path / "a.db").stat().st_size
    assert isinstance(purge(url, "main"), PopulationSize)
    assert (tmp_path / "a.db").stat().st_size < full / 20
    assert list_populations(url) == []


def test_looking_at_a_file_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with pytest.raises(FileNotFoundError, match="path must name a file that exists"):
        list_populations(url)
    with pytest.raises(FileNotFoundError, match="path must name a file that exists"):
        purge(url, "main")
    assert list(tmp_path.iterdir()) == []


def test_memory_has_nothing_to_list() -> None:
    with pytest.raises(ValueError, match="a store that outlives a process"):
        list_populations("memory:")


@pytest.mark.parametrize("name", ["a", "{a}", "a}:meta", "snö 雪", "a*b", "*", "a:b"])
def test_any_name_is_listed_and_purged_as_itself(lasting: Place, name: str) -> None:
    name = f"{lasting.name} {name}"
    with lasting.open(name) as journal:
        journal.append("a", b"row", b"")
        assert name in [size.name for size in list_populations(lasting.url)]
        assert purge(lasting.url, name).name == name
        assert name not in [size.name for size in list_populations(lasting.url)]


def test_the_library_does_not_need_redis() -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "import memory.stores.redis, memory.stores.urls as urls\n"
        "assert urls.open_journal('memory:').append('a', b'', b'')"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


@pytest.mark.parametrize("name", COMPOSER.names("store"))
def test_every_configuration_of_a_store_names_all_its_parameters(name: str) -> None:
    node = COMPOSER.node("store", name)
    target = get_class(node.pop("_target_"))
    assert target.__module__ == f"memory.stores.{name}"
    parameters = inspect.signature(target).parameters
    assert set(node) == set(parameters)
    for key, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            assert node[key] == parameter.default, key
    assert COMPOSER.comment("store", name).endswith(".")
