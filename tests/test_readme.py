"""README says what is there: its findings are those of the results, its commands run."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_every_verdict_in_the_readme_is_that_of_the_results() -> None:
    contrasts = pd.read_csv(ROOT / "results" / "default" / "contrasts.csv")
    assert len(contrasts) == 8
    groups = contrasts["group"].unique()
    for question, rows in contrasts.groupby("question"):
        (line,) = [
            row for row in README.splitlines() if row.startswith(f"| {question}")
        ]
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        for cell, group in zip(cells, groups, strict=True):
            row = rows[rows["group"] == group].iloc[0]
            low, high = row["interval_random_low"], row["interval_random_high"]
            expected = (
                f"{row['verdict']}: {row['effect']:+.4f} [{low:+.4f}, {high:+.4f}]"
            )
            assert cell == expected


def test_what_the_readme_says_of_the_controls_is_so() -> None:
    controls = pd.read_csv(ROOT / "results" / "default" / "controls.csv")
    assert controls["passed"].all()
    worse = controls[controls["expected"] == "worse"].iloc[0]
    percent = 100 * (10 ** worse["effect"] - 1)
    assert f"comes out WORSE by {percent:.0f} %" in README
    feedback = pd.read_csv(ROOT / "results" / "feedback" / "contrasts.csv")
    assert (feedback["verdict"] == "EQUIVALENT").all()
    runs = pd.read_parquet(ROOT / "results" / "default" / "runs.parquet")
    shipped = runs[runs["arm"] == "loongflow_original"]
    assert shipped["zero_diversity_share"].mean() == pytest.approx(0.5, abs=0.05)
    assert shipped["minimum_share"].mean() == pytest.approx(0.75, abs=0.05)
    assert len(runs) == 3840


def test_every_finding_of_another_study_is_that_of_its_results() -> None:
    line = re.compile(r"\| \[(\w+)\]\(results/\1/report\.html\) \| (.*?) \| (.*?) \|")
    found = [match for row in README.splitlines() if (match := line.match(row))]
    assert {match[1] for match in found} == {
        "islands",
        "retention",
        "recall_facts",
        "recall_exploration",
        "compression",
    }
    for match in found:
        folder = ROOT / "results" / match[1]
        tables = [
            pd.read_csv(folder / f"{name}.csv")
            for name in ("contrasts", "secondary")
            if (folder / f"{name}.csv").exists()
        ]
        rows = pd.concat(tables)
        (row,) = [r for _, r in rows.iterrows() if r["question"] == match[2]]
        low, high = row["interval_random_low"], row["interval_random_high"]
        assert match[3] == (
            f"{row['verdict']}: {row['effect']:+.4f} [{low:+.4f}, {high:+.4f}]"
        )


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("docs/**/*.md"),
    ]:
        if path.parent.name.startswith("."):
            continue
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
            there = target.startswith("https://") or (path.parent / target).exists()
            assert there, f"{path.name}: {target}"


def test_the_five_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        names: dict = {}
        exec(compile(block, "README.md", "exec"), names)
        assert "population" in names
