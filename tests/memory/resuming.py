"""Goes on with a population as a process of its own, and prints what has become of it.

Run as ``resuming.py URL FIRST LAST``: adds the attempts ``FIRST`` to ``LAST``, takes a
snapshot, and prints the digest, the living and the parents of the next decisions.
"""

from __future__ import annotations

import sys

from memory import EvolutionaryMemory, Settings
from memory.diversity.text_shape import TextShape
from memory.mapping.inverted import Inverted
from memory.retention.keep_living import KeepLiving
from memory.stores.urls import open_journal
from memory.temperature.adaptive import Adaptive
from tests.memory.builds import grow


def attached(url: str) -> EvolutionaryMemory:
    configuration = Settings(
        capacity=21,
        elite_size=6,
        islands=3,
        migration_interval=5,
        deduplicate=True,
        diversity=TextShape(sample_size=4),
        temperature=Adaptive(Inverted()),
        retention=KeepLiving(grace=20),
    )
    return EvolutionaryMemory(configuration, open_journal(url), seed=11)


def account(memory: EvolutionaryMemory) -> str:
    parents = [memory.select(decision=k, measure=True) for k in range(500, 520)]
    drawn = [(one.id, one.step.u, one.step.temperature) for one in parents]
    return repr((memory.seq, memory.digest(), memory.ids, memory.view("all"), drawn))


if __name__ == "__main__":
    with attached(sys.argv[1]) as memory:
        grow(memory, int(sys.argv[3]) - int(sys.argv[2]), start=int(sys.argv[2]))
        memory.compact()
        print(account(memory))
