"""Compares our aggregates with rliable's, once, on one small table.

rliable (Agarwal et al. 2021) does not import with pandas 3, so it runs in an environment
of its own and leaves its numbers in ``tests/golden/rliable.json``, with the table they
belong to; the tests compare ours with them.

    python -m venv .rliable
    .rliable/bin/pip install "rliable==1.2.0" "pandas<3" "numpy<2"
    .rliable/bin/python benchmarks/rliable_agreement.py theirs
    .venv/bin/python -m benchmarks.rliable_agreement ours
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "rliable.json"
PAGE = ROOT / "docs" / "rliable_agreement.md"

N_RUNS, N_TASKS, REPEATS = 10, 6, 20_000
THRESHOLDS = (0.2, 0.4, 0.6, 0.8)
PAIRS = (("other", "base"), ("twin", "base"))


def generator(*names: str) -> np.random.Generator:
    digest = hashlib.blake2b(repr(names).encode(), digest_size=16).digest()
    key = int.from_bytes(digest, "little")
    return np.random.Generator(np.random.Philox(key=key))


def scores() -> dict[str, np.ndarray]:
    """Returns arms of (run, task) unit scores; ``twin`` follows ``base`` run by run."""
    rng = generator("rliable")
    base, other, noise = rng.random((3, N_RUNS, N_TASKS))
    hard = np.linspace(0.5, 2.0, N_TASKS)
    arms = {
        "base": base**hard,
        "other": 0.1 + 0.9 * other**hard,
        "twin": 0.05 + 0.9 * base**hard + 0.05 * noise,
    }
    # Rounded, so that there are ties.
    return {arm: np.round(table, 2) for arm, table in arms.items()}


def theirs() -> None:
    """Writes rliable's numbers; runs in its environment."""
    from rliable import library, metrics

    arms = scores()

    def seed() -> None:
        # rliable draws from the global state whatever random_state it is given.
        np.random.seed(1)  # noqa: NPY002

    seed()
    iqm, iqm_ends = library.get_interval_estimates(
        arms, lambda table: np.array([metrics.aggregate_iqm(table)]), reps=REPEATS
    )
    seed()
    profile, profile_ends = library.create_performance_profile(
        arms, np.array(THRESHOLDS), reps=REPEATS
    )
    seed()
    compared = {f"{arm}, {base}": [arms[arm], arms[base]] for arm, base in PAIRS}
    better, better_ends = library.get_interval_estimates(
        compared,
        lambda x, y: np.array([metrics.probability_of_improvement(x, y)]),
        reps=REPEATS,
    )

    def rows(points: dict, ends: dict) -> dict[str, list]:
        return {
            name: [
                [round(float(number), 6) for number in triple]
                for triple in zip(points[name], *ends[name], strict=True)
            ]
            for name in points
        }

    content = {
        "made_by": "benchmarks/rliable_agreement.py theirs, rliable 1.2.0",
        "repeats": REPEATS,
        "thresholds": list(THRESHOLDS),
        "scores": {arm: table.tolist() for arm, table in arms.items()},
        "interquartile_mean": rows(iqm, iqm_ends),
        "performance_profile": rows(profile, profile_ends),
        "probability_of_improvement": rows(better, better_ends),
    }
    text = json.dumps(content, indent=1)
    GOLDEN.write_text(compact(text) + "\n", encoding="utf-8", newline="\n")


def compact(text: str) -> str:
    """Returns JSON with each list of numbers on one line."""
    return re.sub(
        r"\[[^\[\]{}]*\]", lambda found: " ".join(found.group().split()), text
    )


def long_table(golden: dict) -> pd.DataFrame:
    """Returns the golden scores as a long table."""
    return pd.DataFrame(
        [
            {"arm": arm, "task": f"task {task}", "instance": 1, "seed": seed}
            | {"value": value}
            for arm, rows in golden["scores"].items()
            for seed, row in enumerate(rows)
            for task, value in enumerate(row)
        ]
    )


def our_numbers(golden: dict) -> dict:
    """Returns our numbers in the shape of theirs: value, low and high."""
    from experiments.statistics.aggregate import interquartile_means
    from experiments.statistics.effect import probability_of_improvement
    from experiments.statistics.paired import differences
    from experiments.statistics.profiles import performance_profile

    table, repeats = long_table(golden), golden["repeats"]
    iqm = interquartile_means(table, generator("iqm"), resamples=repeats)
    profile = performance_profile(
        table, np.array(golden["thresholds"]), generator("p"), resamples=repeats
    )
    better = {
        f"{arm}, {base}": probability_of_improvement(
            differences(table, arm, base),
            generator("better", arm, base),
            lower_is_better=False,
            resamples=repeats,
        )
        for arm, base in PAIRS
    }
    return {
        "interquartile_mean": {
            row.arm: [[row.iqm, row.low, row.high]] for row in iqm.itertuples()
        },
        "performance_profile": {
            arm: rows[["share", "low", "high"]].to_numpy().tolist()
            for arm, rows in profile.groupby("arm")
        },
        "probability_of_improvement": {
            name: [[found.value, *found.interval]] for name, found in better.items()
        },
    }


def ours() -> None:
    """Writes the table of both; runs in the project's environment."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    text = page(golden, our_numbers(golden))
    PAGE.write_text(text, encoding="utf-8", newline="\n")


def page(golden: dict, mine: dict) -> str:
    """Returns the table of both."""
    lines = [
        "# Agreement with rliable",
        "",
        f"The same table of 3 arms, {N_TASKS} tasks and {N_RUNS} runs each, through "
        "rliable 1.2.0 in an environment of its",
        f"own and through `experiments/statistics/`; {REPEATS} bootstrap repeats on both "
        "sides. Made by",
        "`benchmarks/rliable_agreement.py`, whose first lines are the commands; "
        "`tests/experiments/test_verdicts.py`",
        "compares the numbers on every run of the tests.",
        "",
        "| quantity | of | rliable | ours |",
        "|---|---|---|---|",
    ]
    for quantity in mine:
        for name, rows in golden[quantity].items():
            for place, (their, our) in enumerate(
                zip(rows, mine[quantity][name], strict=True)
            ):
                of = name
                if quantity == "performance_profile":
                    of += f", score > {golden['thresholds'][place]}"
                words = quantity.replace("_", " ")
                lines.append(f"| {words} | {of} | {shown(their)} | {shown(our)} |")
    lines += [
        "",
        "All values agree to rounding, all intervals of one arm to bootstrap error. "
        "Intervals of two arms differ",
        "by design: rliable draws the runs of each independently, ours draws pairs. "
        "`twin` follows `base` run by",
        "run, and its interval is the narrower one; `other` does not, and the intervals "
        "differ by chance alone.",
    ]
    return "\n".join(lines) + "\n"


def shown(triple: list) -> str:
    value, low, high = triple
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    {"theirs": theirs, "ours": ours}[sys.argv[1]]()
