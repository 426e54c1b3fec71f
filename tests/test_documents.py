"""The documents' code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(("name", "n_blocks"), [("memory", 10), ("graded", 4)])
def test_every_block_of_a_document_runs(
    name: str, n_blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == n_blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), names)
