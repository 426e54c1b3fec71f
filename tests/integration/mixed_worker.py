"""One worker of both memories in one journal, as a process.

Run as ``mixed_worker.py URL NAME INDEX N``. It adds N solutions and N messages, compresses
what is overdue, reads on after a line on its input, and prints both digests.
"""

from __future__ import annotations

import asyncio
import json
import sys

import memory
from memory.graded.messages import assistant, user


def opened(
    url: str, name: str, stream: str
) -> tuple[memory.EvolutionaryMemory, memory.GradedMemory]:
    population = memory.open_memory(
        url, name, memory.Settings(capacity=20), stream=stream, scope="texts"
    )
    talk = memory.open_graded_memory(
        url,
        name,
        memory.GradedSettings(threshold_tokens=600),
        stream=stream,
        scope="talk",
    )
    return population, talk


def main(url: str, name: str, index: int, n: int) -> None:
    population, talk = opened(url, name, f"worker {index}")
    talk.add(user(f"Task of worker {index}."))
    for k in range(n):
        population.remember(f"text {index} {k}", float(k % 13), id=f"{index} {k}")
        talk.add(assistant(f"Worker {index} has come to step {k} of its long work."))
        if k % 10 == 9:
            asyncio.run(talk.compress_overdue())
    print("done", flush=True)
    sys.stdin.readline()
    population.sync()
    talk.sync()
    print(json.dumps({"texts": population.digest(), "talk": talk.digest()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
