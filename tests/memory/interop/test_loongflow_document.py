"""The code of the document on moving over runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "loongflow.md"


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 5
    names: dict = {}
    for block in blocks:
        exec(compile(block, DOCUMENT.name, "exec"), names)


def test_every_defect_of_the_evolution_stack_has_a_line() -> None:
    rows = [
        line.split("|")
        for line in DOCUMENT.read_text("utf-8").splitlines()
        if line.startswith("| ") and line.count("|") == 6
    ]
    named = set()
    for row in rows[1:]:
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", row[4]):
            named |= set(range(int(first), int(last or first) + 1))
    assert set(range(12, 78)) <= named
