"""Run by the Python that LoongFlow is installed in: loads one checkpoint, saves another.

Prints what LoongFlow makes of the first as one JSON object.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import sys
import types
from pathlib import Path


def upstream() -> types.ModuleType:
    """Returns LoongFlow's in-memory module without its package, which needs an LLM."""
    spec = importlib.util.find_spec("loongflow")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("loongflow is not installed here")
    root = Path(next(iter(spec.submodule_search_locations)))
    for name, folder in (
        ("loongflow", root),
        ("loongflow.agentsdk", root / "agentsdk"),
        ("loongflow.agentsdk.memory", root / "agentsdk" / "memory"),
    ):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module
    return importlib.import_module("loongflow.agentsdk.memory.evolution.in_memory")


def main() -> None:
    source, target = sys.argv[1:]
    memory = upstream().InMemory(num_islands=3, population_size=50)
    memory.load_checkpoint(source)
    found = {
        "solutions": {key: one.to_dict() for key, one in memory.solutions.items()},
        "islands": [sorted(island) for island in memory.islands],
        "elites": sorted(memory.elites),
        "feature_maps": memory.island_feature_maps,
        "best": memory.best_solution_id,
        "last_iteration": memory.last_iteration,
        "sampled": memory.sample().solution_id,
    }
    asyncio.run(memory.save_checkpoint(target, "theirs"))
    print(json.dumps(found))


main()
