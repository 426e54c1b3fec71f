"""One worker of a shared population, as a process that may be killed.

Run as ``population_worker.py URL NAME INDEX N_ADDS FILE``. It writes the id of every
solution into FILE once ``remember`` has returned, says ``done`` after the last, waits for
a line, reads on to the end and prints its length and digest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import memory
from memory.stores.urls import open_journal


def settings(capacity: int = 50) -> memory.Settings:
    return memory.Settings(capacity=capacity, elite_size=10)


def attached(url: str, name: str, stream: str) -> memory.EvolutionaryMemory:
    journal = open_journal(url, name)
    return memory.EvolutionaryMemory(settings(), journal, seed=7, stream=stream)


def main(url: str, name: str, index: int, n_adds: int, path: Path) -> None:
    population = attached(url, name, f"worker {index}")
    with path.open("w", buffering=1) as acknowledged:
        for k in range(n_adds):
            parent = population.select() if len(population) else None
            text = f"# {index}\nvalue = {k}\n" + "x" * (k * 37 % 90)
            score = ((k * 31 + index * 17) % 101) / 10.0
            solution = population.remember(text, score, parent=parent)
            print(solution.id, file=acknowledged)
    print("done", flush=True)
    sys.stdin.readline()
    population.sync()
    print(json.dumps({"seq": population.seq, "digest": population.digest()}))


if __name__ == "__main__":
    main(
        sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
    )
