"""Runs that never happened: tables with known effects, keyed, for the tests."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pandas as pd

from experiments.report.page import Arm, Contrast, PageInput

TASKS = {"onemax_64": 0.35, "trap_60": 0.05, "nk_32": 0.15}
ARMS = ("fixed", "adaptive", "inverted", "twin", "stuck")
EPSILON = 1e-6
GRID = np.unique(np.round(np.geomspace(10, 500, 60))).astype(np.int64)

PAGE = PageInput(
    name="synthetic",
    question="Does adaptive temperature beat a fixed one?",
    arms=(
        Arm("fixed", "T = 1 throughout", "as shipped"),
        Arm("adaptive", "T = 2 D, bounded to [0.01, 2]", "connected"),
        Arm("inverted", "T = 2 (1 - D), bounded to [0.01, 2]", "connected"),
        Arm("twin", "the same as fixed under another name", "controls"),
        Arm("stuck", "T = 2 D, bounded to [0.5, 2], D near 0", "as shipped"),
    ),
    contrasts=(
        Contrast("adaptive", "fixed", "Adaptive against fixed"),
        Contrast("inverted", "adaptive", "Inverted against original mapping"),
        Contrast("stuck", "fixed", "Shipped adaptive against fixed"),
        Contrast("twin", "fixed", "The same arm under another name"),
    ),
    budget=500,
    n_seeds=10,
    tasks=tuple(TASKS),
    reproduce="make study STUDY=synthetic",
    population=100,
    plan_hash="0f" * 16,
)


def generator(*names: object) -> np.random.Generator:
    digest = hashlib.blake2b(repr(names).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _rates(task: str, arm: str) -> float:
    """Returns how fast the regret of an arm falls."""
    gain = {"adaptive": 1.5, "inverted": 0.7, "stuck": 0.95}.get(arm, 1.0)
    return 4.0 * TASKS[task] * gain


def _dials(arm: str, diversity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns temperature and clamps."""
    low, high = (0.5, 2.0) if arm == "stuck" else (0.01, 2.0)
    if arm in ("fixed", "twin"):
        return np.ones(diversity.size), np.zeros(diversity.size)
    raw = 2.0 * (1.0 - diversity) if arm == "inverted" else 2.0 * diversity
    clamps = np.where(raw < low, -1, np.where(raw > high, 1, 0))
    return np.clip(raw, low, high), clamps


def tables(n_seeds: int = 10) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns runs and trajectories of every (task, arm, seed)."""
    runs, trajectories = [], []
    for task in TASKS:
        for arm in ARMS:
            for seed in range(n_seeds):
                run, trajectory = _run(task, arm, seed)
                runs.append(run)
                trajectories.append(trajectory)
    return pd.DataFrame(runs), pd.DataFrame(trajectories)


def _run(task: str, arm: str, seed: int) -> tuple[dict, dict]:
    kind = "fixed" if arm == "twin" else arm
    shared = generator(task, seed).random(2)
    own = generator(task, kind, seed).random(GRID.size + 1)
    speed = _rates(task, kind) * (0.6 + 0.6 * shared[0] + 0.3 * own[0])
    steps = np.where(own[1:] < 0.35, np.diff(np.log(GRID), prepend=0.0), 0.0)
    regret = (0.7 + 0.2 * shared[1]) * np.exp(-speed * np.cumsum(steps))
    regret = np.where(regret < 1e-3, 0.0, regret)
    best = 1.0 - regret
    diversity = (
        0.9
        * np.exp(-(2.0 if kind != "stuck" else 40.0) * np.arange(GRID.size) / GRID.size)
        * (0.8 + 0.4 * shared[0])
    )
    if kind == "stuck":
        diversity = np.where(np.arange(GRID.size) < 3, diversity, 0.0)
    temperature, clamp = _dials(arm, np.minimum(diversity, 1.0))
    parents = np.full(GRID.size, np.nan)
    parents[::8] = np.maximum(1.0, 100.0 * np.exp(-0.4 / temperature[::8]))
    cell = f"{task}-{arm}-{seed}"
    reached = np.flatnonzero(regret <= 1e-9)
    run = {
        "cell": cell,
        "study": "synthetic",
        "task": task,
        "family": task.split("_")[0],
        "instance": 1 + seed % 2,
        "arm": arm,
        "seed": seed,
        "stream": f"main/{seed}",
        "status": "ok",
        "failure": "",
        "attempt": 1,
        "evaluations": 500,
        "failures": 0,
        "best": float(best[-1]),
        "regret": max(0.0, 1.0 - float(best[-1])),
        "area": float(np.log10(regret + EPSILON).mean()),
        "success": bool(reached.size),
        "hit": float(GRID[reached[0]]) if reached.size else math.nan,
        "mean_diversity": float(diversity.mean()),
        "zero_diversity_share": float((diversity == 0.0).mean()),
        "mean_temperature": float(temperature.mean()),
        "minimum_share": float((clamp == -1).mean()),
        "maximum_share": float((clamp == 1).mean()),
        "wall_seconds": 0.01,
        "host": "elsewhere",
    }
    trajectory = {
        "cell": cell,
        "evaluation": GRID.tolist(),
        "best": best.tolist(),
        "diversity": diversity.tolist(),
        "used_diversity": np.minimum(diversity, 1.0).tolist(),
        "temperature": temperature.tolist(),
        "clamp": clamp.astype(int).tolist(),
        "effective_parents": parents.tolist(),
    }
    return run, trajectory


def with_failures(runs: pd.DataFrame, cells: list[str]) -> pd.DataFrame:
    """Returns the runs with some of them failed."""
    changed = runs.copy()
    failed = changed["cell"].isin(cells)
    changed.loc[failed, "status"] = "failed"
    changed.loc[failed, "failure"] = "ValueError: bad <text>\n  at line 1"
    changed.loc[failed, ["best", "regret", "area"]] = np.nan
    changed.loc[failed, "success"] = False
    return changed
