"""Opening a memory by the address of its store."""

from __future__ import annotations

from collections.abc import Sequence

from memory.evolution import EvolutionaryMemory
from memory.following import COMPACT_INTERVAL_ENTRIES, is_begun
from memory.graded.contracts import Compressor
from memory.graded.memory import GradedMemory
from memory.graded.recall import Recall
from memory.graded.settings import GradedSettings
from memory.settings import Settings
from memory.stores.journal import Journal
from memory.stores.urls import list_populations, open_journal


def open_memory(
    url: str = "memory:",
    name: str = "main",
    settings: Settings | None = None,
    *,
    seed: int | str | Sequence[int | str] = 0,
    stream: str = "main",
    scope: str = "",
    compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
    create: bool = True,
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
        create: Whether to begin a population that is not there.

    Raises:
        ConfigurationMismatch: The population has other settings, or another seed.
        FileNotFoundError: There is no such file, and none is to be made.
        JournalUnavailable: The store cannot be opened.
        LookupError: There is no such population, and none is to be begun.
        ValueError: ``url`` has another form, or ``name`` is empty.
    """
    journal = _journal(url, name, scope, create=create)
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


def open_graded_memory(
    url: str = "memory:",
    name: str = "main",
    settings: GradedSettings | None = None,
    *,
    compressor: Compressor | None = None,
    recall: Recall | None = None,
    seed: int | str | Sequence[int | str] = 0,
    stream: str = "main",
    scope: str = "messages",
    compact_interval: int | None = COMPACT_INTERVAL_ENTRIES,
    create: bool = True,
) -> GradedMemory:
    """Returns the graded memory of the scope ``scope`` in the store at ``url``.

    It is begun if it is not there, and joined if it is; use it in a ``with`` block. Under
    the name of a population it shares its journal, apart from it by its scope.

    Args:
        url: As for ``open_memory``, like ``name`` and ``create``.
        name: Name of the journal; workers that give the same name share it.
        settings: As for ``GradedMemory``, like all that follow.
        compressor: What is asked for summaries.
        recall: How ``recall`` chooses.
        seed: Name or names of the random numbers.
        stream: Name of this worker's own decisions.
        scope: Key of the memory within its journal.
        compact_interval: Entries after which a worker that adds takes a snapshot.
        create: Whether to begin a journal that is not there.

    Raises:
        ConfigurationMismatch: The scope has other settings.
        FileNotFoundError: There is no such file, and none is to be made.
        JournalUnavailable: The store cannot be opened.
        LookupError: There is no such journal, and none is to be begun.
        ValueError: ``url`` has another form, or ``name`` is empty.
    """
    journal = _journal(url, name, scope, create=create)
    try:
        return GradedMemory(
            settings,
            journal,
            compressor=compressor,
            recall=recall,
            seed=seed,
            stream=stream,
            scope=scope,
            compact_interval=compact_interval,
        )
    except BaseException:
        journal.close()
        raise


def _journal(url: str, name: str, scope: str, *, create: bool) -> Journal:
    if create:
        return open_journal(url, name)
    names = [size.name for size in list_populations(url)]
    if name not in names:
        raise LookupError(
            f"name must be one of the store's, {', '.join(names) or 'which has none'}, "
            f"got {name!r}"
        )
    journal = open_journal(url, name)
    if not is_begun(journal, scope):
        journal.close()
        raise LookupError(f"scope must be one of the journal's, got {scope!r}")
    return journal
