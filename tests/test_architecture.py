"""The layering is a test: who may import whom."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BASE = {"memory.records", "memory.policies", "memory.randomness"}
SEAM = {"experiments.contracts"}
PURE = {"memory.draws", "memory.candidate_law"}
ROOMS = {
    f"memory.{room}"
    for room in (
        "diversity",
        "mapping",
        "temperature",
        "scaling",
        "selection",
        "survival",
        "ranking",
        "weights",
        "descriptors",
        "bounds",
        "assignment",
        "topology",
        "retention",
    )
}

# Each module lists every other one that it may import; a module without a line here is a
# failure. The order is the order of the layers, so a cycle cannot be written down.
ALLOWED: dict[str, set[str]] = {
    "memory.records": set(),
    "memory.randomness": set(),
    "memory.policies": {"memory.records"},
    "memory.codec": {"memory.records", "memory.policies"},
    "memory.stores": set(),
    "memory.draws": BASE,
    "memory.candidate_law": BASE | {"memory.draws"},
    **dict.fromkeys(ROOMS, BASE),
    "memory.selection": BASE | PURE,
    "memory.diversity": BASE | {"memory.draws"},
    "memory.grid": BASE,
    "memory.texts": set(),
    "memory.lineage": set(),
    "memory.validity": BASE,
    "memory.archive": BASE,
    "memory.checkpoints": {"memory.stores"},
    "memory.settings": BASE | ROOMS | {"memory.grid"},
    "memory.following": BASE
    | {"memory.archive", "memory.codec", "memory.settings", "memory.stores"},
    "memory.profiles": BASE | ROOMS | {"memory.settings"},
    "memory.control": BASE,
    "memory.recollection": BASE
    | {
        "memory.archive",
        "memory.checkpoints",
        "memory.codec",
        "memory.following",
        "memory.stores",
    },
    "memory.population": BASE
    | {"memory.archive", "memory.codec", "memory.grid", "memory.settings"},
    "memory.evolution": BASE
    | {
        "memory.archive",
        "memory.checkpoints",
        "memory.codec",
        "memory.control",
        "memory.following",
        "memory.grid",
        "memory.lineage",
        "memory.population",
        "memory.recollection",
        "memory.settings",
        "memory.stores",
        "memory.texts",
        "memory.validity",
    },
    "memory.asynchronous": BASE | {"memory.evolution"},
    "memory.graded": BASE
    | {
        "memory.recollection",
        "memory.archive",
        "memory.codec",
        "memory.following",
        "memory.retention",
        "memory.selection",
        "memory.settings",
        "memory.stores",
    },
    "memory.interop": BASE
    | ROOMS
    | {
        "memory.archive",
        "memory.checkpoints",
        "memory.codec",
        "memory.following",
        "memory.texts",
        "memory.evolution",
        "memory.opening",
        "memory.profiles",
        "memory.settings",
        "memory.stores",
    },
    "memory.opening": {
        "memory.graded",
        "memory.evolution",
        "memory.following",
        "memory.settings",
        "memory.stores",
    },
    "experiments.contracts": {"memory", "memory.graded"},
    "experiments.conversations": {"memory", "memory.graded"},
    "experiments.expressions": set(),
    "experiments.tasks": SEAM
    | {
        "memory",
        "memory.graded",
        "experiments.conversations",
        "experiments.expressions",
    },
    "experiments.proposers": SEAM | {"memory", "experiments.expressions"},
    "experiments.weightings": SEAM | {"memory"},
    "experiments.loop": SEAM | {"memory"},
    "experiments.composition": set(),
    "experiments.study": SEAM | {"memory", "memory.graded", "experiments.composition"},
    "experiments.cells": SEAM
    | {
        "memory",
        "experiments.composition",
        "experiments.loop",
        "experiments.study",
        "experiments.weightings",
    },
    "experiments.runs": SEAM
    | {
        "experiments.cells",
        "experiments.loop",
        "experiments.study",
    },
    "experiments.runner": {
        "memory",
        "experiments.cells",
        "experiments.runs",
        "experiments.study",
    },
    "experiments.engines": {"experiments.cells", "experiments.study"},
    "experiments.registration": {"memory", "experiments.study"},
    "experiments.leverage": {
        "memory",
        "experiments.cells",
        "experiments.loop",
        "experiments.study",
    },
    "experiments.progress": {"experiments.cells", "experiments.runner"},
    "experiments.table": set(),
    "experiments.statistics": {"experiments.table"},
    "experiments.figures": {"experiments.table", "experiments.statistics"},
    "experiments.report": {
        "experiments.table",
        "experiments.statistics",
        "experiments.figures",
    },
}
#: These put the parts together and may import any of them.
FREE = {
    "memory",
    "experiments",
    "experiments.commands",
    "experiments.completion",
    "experiments.__main__",
}


def room(module: str) -> str:
    """Returns the first two parts of a dotted name, such as ``memory.selection``."""
    return ".".join(module.split(".")[:2])


def imports(path: Path) -> set[str]:
    """Returns the modules that the file at ``path`` imports, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module in ("memory", "experiments"):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                files = {n for n in names if _is_module(n)}
                found |= files | ({node.module} if files != names else set())
            else:
                found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


SOURCES = sorted(
    path for top in ("memory", "experiments") for path in (ROOT / top).rglob("*.py")
)


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return room(".".join(part for part in parts if part != "__init__"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    name = name_of(path)
    if name in FREE:
        return
    ours = {m for m in imports(path) if m.split(".")[0] in ("memory", "experiments")}
    rooms = {room(module) for module in ours} - {name}
    assert rooms <= ALLOWED[name]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_decides_by_a_global_stream_or_pickles(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    named = {name.split(".")[0] for name in imports(path)}
    assert not named & {"random", "pickle", "shelve", "marshal", "secrets", "uuid"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("hash", "eval", "exec", "compile"), called
            found = re.match(r"np\.random\.(\w+)", called)
            assert found is None or found[1] in ("Philox", "Generator"), called


def test_the_library_never_imports_what_belongs_to_the_harness() -> None:
    code = (
        "import sys, memory; print([m for m in ('experiments', 'hydra', 'omegaconf', "
        "'pandas', 'matplotlib', 'scipy', 'pyarrow') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert out.stdout.strip() == "[]"


def test_the_public_names_are_sorted_and_there() -> None:
    import memory

    assert list(memory.__all__) == sorted(memory.__all__)
    for name in memory.__all__:
        assert hasattr(memory, name)
