"""Memories for tests, and what must be true of any of them."""

from __future__ import annotations

import json
import math
from typing import Any

from memory import EvolutionaryMemory, Journal, KeyedRandom, Population, Settings


def document(memory: EvolutionaryMemory) -> str:
    """Returns everything the fold knows, as text that is exact to the last bit."""
    return document_of(memory._population)


def document_of(population: Population) -> str:
    """Returns ``document`` of a bare fold."""
    return json.dumps(population.document())


def refolded(memory: EvolutionaryMemory, journal: Journal) -> Population:
    """Returns the fold of the whole journal, made anew without any snapshot."""
    population = Population(
        memory.settings, KeyedRandom(*memory._names), scope=memory.scope
    )
    for seq, row in journal.read(0, 10**6):
        population.apply(seq, row)
    return population


def grow(memory: EvolutionaryMemory, n: int, start: int = 0) -> None:
    """Adds ``n`` solutions with parents, texts and scores of some variety."""
    for k in range(start, start + n):
        if k % 7 == 6:
            memory.remember_failure(f"broken {k}", "it did not run")
            continue
        parent = memory.select() if len(memory) and k % 5 else None
        text = "ab\n"[k % 3] * (1 + k * k % 13) + str(k % 11)
        memory.remember(text, round(math.sin(k * k), 3), parent=parent, time=float(k))


def strong_and_weak(**options: Any) -> EvolutionaryMemory:
    """Returns a memory with seven strong on island 0 and a weak one on island 1."""
    memory = EvolutionaryMemory(Settings(islands=2, **options))
    for k in range(7):
        memory.remember(f"strong {k}", 0.9 + k / 100, island=0, id=f"strong {k}")
    memory.remember("weak", 0.1, island=1, id="weak")
    return memory
