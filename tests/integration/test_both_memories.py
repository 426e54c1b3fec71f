"""Both memories in one journal under two scopes, by two processes, in one checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory import (
    EvolutionaryMemory,
    GradedMemory,
    GradedSettings,
    InMemoryJournal,
    JournalRewound,
    Settings,
    load_checkpoint,
    purge_scope,
    save_checkpoint,
)
from tests.contracts.conftest import Place, lasting, redis_url, valkey_url
from tests.integration.mixed_worker import opened

__all__ = ["lasting", "redis_url", "valkey_url"]

ROOT = Path(__file__).resolve().parents[2]
N_ADDS = 60


def started(place: Place, index: int) -> subprocess.Popen[str]:
    command = ["-m", "tests.integration.mixed_worker", place.url, place.name]
    return subprocess.Popen(
        [sys.executable, *command, str(index), str(N_ADDS)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_one_checkpoint_and_one_of_two_purged(
    lasting: Place, tmp_path: Path
) -> None:
    workers = [started(lasting, index) for index in range(2)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "done\n"
    answers = [json.loads(worker.communicate("go on\n", 300)[0]) for worker in workers]
    assert answers[0] == answers[1]
    population, talk = opened(lasting.url, lasting.name, "reader")
    with population, talk:
        assert {"texts": population.digest(), "talk": talk.digest()} == answers[0]
        assert population.n_remembered == 2 * N_ADDS
        assert talk.status().compressions > 0
        summaries = talk.messages("medium")
        assert all(talk.sources(one.id) for one in summaries)
        population.compact()
        talk.compact()
    # One file holds both, and either goes on from it on another store.
    journal = lasting.open()
    save_checkpoint(journal, tmp_path / "both")
    copy = InMemoryJournal()
    load_checkpoint(tmp_path / "both", copy)
    again = EvolutionaryMemory(Settings(capacity=20), copy, scope="texts")
    talks = GradedMemory(GradedSettings(threshold_tokens=600), copy, scope="talk")
    assert {"texts": again.digest(), "talk": talks.digest()} == answers[0]
    # One of the two goes, and the other stays as it was.
    before = [one.text for one in talks.context()]
    purge_scope(copy, "texts")
    with pytest.raises(JournalRewound):
        again.remember("late", 1.0)
    talks.sync()
    assert [one.text for one in talks.context()] == before
    assert not any("text 0 " in body.decode() for _, body in copy.dump().bodies)
    assert len(EvolutionaryMemory(Settings(capacity=9), copy, scope="texts")) == 0
