"""Opening a memory by the address of its store."""

from __future__ import annotations

from collections.abc import Sequence

from memory.evolution import EvolutionaryMemory
from memory.following import COMPACT_INTERVAL_ENTRIES
from memory.settings import Settings
from memory.stores.urls import open_journal


def open_memory(
    url: str = "memory:",
    name: str = "main",
    settings: Settings | None = None,
    *,
    seed: int | str | Sequence[int | str] = 0,
    stream: str = "main",
    scope: str = "",
    compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
) -> EvolutionaryMemory:
    """Returns the memory of the population ``name`` in the store at ``url``.

    It is begun if it is not there, and joined if it is; use it in a ``with`` block.

    Args:
        url: As for ``open_journal``: ``memory:``, ``sqlite:///run.db``, ``redis://...``.
        name: Name of the population; workers that give the same name share it.
        settings: As for ``EvolutionaryMemory``, like all that follow.
        seed: Name or names of the random numbers of the population.
        stream: Name of this worker's own decisions.
        scope: Key of the population within its journal.
        compact_interval: Entries after which a worker that adds takes a snapshot.

    Raises:
        ConfigurationMismatch: The population has other settings, or another seed.
        JournalUnavailable: The store cannot be opened.
        ValueError: ``url`` has another form, or ``name`` is empty.
    """
    journal = open_journal(url, name)
    try:
        return EvolutionaryMemory(
            settings,
            journal,
            seed=seed,
            stream=stream,
            scope=scope,
            compact_interval=compact_interval,
        )
    except BaseException:
        journal.close()
        raise
