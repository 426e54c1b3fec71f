"""Times LoongFlow's own sampling; run by ``selection.py`` in an environment of its own.

Prints one JSON object: microseconds of ``sample()`` and of ``add_solution()`` with a full
population of 100 texts.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import time
import types
from pathlib import Path

TEXTS = json.loads(Path(sys.argv[1]).read_text("utf-8"))
REPEATS = int(sys.argv[2])


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


async def main() -> None:
    in_memory = upstream()
    base = importlib.import_module("loongflow.agentsdk.memory.evolution.base_memory")
    memory = in_memory.InMemory(num_islands=1, population_size=100)
    for index, text in enumerate(TEXTS[:100]):
        await memory.add_solution(
            base.Solution(solution=text, score=0.01 + index / 100, sample_weight=1.0)
        )
    sample, add = [], []
    for index in range(REPEATS):
        solution = base.Solution(
            solution=TEXTS[100 + index], score=0.5 + index / 1000, sample_weight=1.0
        )
        start = time.perf_counter()
        await memory.add_solution(solution)
        middle = time.perf_counter()
        memory.sample()
        sample.append(time.perf_counter() - middle)
        add.append(middle - start)
    sample.sort()
    add.sort()
    half = REPEATS // 2
    print(json.dumps({"sample": sample[half] * 1e6, "add": add[half] * 1e6}))


asyncio.run(main())
