"""Runs that never happened: tables with known effects, keyed, for the tests."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.report.inputs import (
    Arm,
    Contrast,
    Control,
    Episode,
    Leverage,
    PageInput,
)

TASKS = {"onemax_64": 0.35, "trap_60": 0.05, "nk_32": 0.15}
ARMS = ("fixed", "adaptive", "inverted", "twin", "stuck")
EPSILON = 1e-6
GRID = np.unique(np.round(np.geomspace(10, 500, 60))).astype(np.int64)


class Kind(NamedTuple):
    """How an arm behaves: its dial, how much faster its regret falls, whose noise."""

    dial: str
    gain: float
    noise: str


KINDS = {
    "fixed": Kind("fixed", 1.0, "fixed"),
    "adaptive": Kind("adaptive", 1.5, "adaptive"),
    "inverted": Kind("inverted", 0.7, "inverted"),
    "twin": Kind("fixed", 1.0, "fixed"),
    "stuck": Kind("stuck", 0.95, "stuck"),
}

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
        Contrast("adaptive", "fixed", "Does an adaptive temperature beat a fixed one?"),
        Contrast("inverted", "adaptive", "Does the sign of the mapping matter?"),
        Contrast("stuck", "fixed", "Shipped adaptive against fixed"),
        Contrast("twin", "fixed", "Does another name help?"),
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


def _dials(arm: str, diversity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns temperature and clamps."""
    low, high = (0.5, 2.0) if arm == "stuck" else (0.01, 2.0)
    if arm == "fixed":
        return np.ones(diversity.size), np.zeros(diversity.size)
    raw = 2.0 * (1.0 - diversity) if arm == "inverted" else 2.0 * diversity
    clamps = np.where(raw < low, -1, np.where(raw > high, 1, 0))
    return np.clip(raw, low, high), clamps


def tables(
    n_seeds: int = 10,
    *,
    tasks: Mapping[str, float] = TASKS,
    kinds: Mapping[str, Kind] = KINDS,
    study: str = "synthetic",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns runs and trajectories of every (task, arm, seed)."""
    runs, trajectories = [], []
    for task, rate in tasks.items():
        for arm, kind in kinds.items():
            for seed in range(n_seeds):
                run, trajectory = _run(task, rate, arm, kind, seed)
                runs.append({**run, "study": study})
                trajectories.append(trajectory)
    return pd.DataFrame(runs), pd.DataFrame(trajectories)


def _run(task: str, rate: float, arm: str, kind: Kind, seed: int) -> tuple[dict, dict]:
    shared = generator(task, seed).random(2)
    own = generator(task, kind.noise, seed).random(GRID.size + 1)
    speed = 4.0 * rate * kind.gain * (0.6 + 0.6 * shared[0] + 0.3 * own[0])
    steps = np.where(own[1:] < 0.35, np.diff(np.log(GRID), prepend=0.0), 0.0)
    regret = (0.7 + 0.2 * shared[1]) * np.exp(-speed * np.cumsum(steps))
    regret = np.where(regret < 1e-3, 0.0, regret)
    best = 1.0 - regret
    diversity = (
        0.9
        * np.exp(
            -(2.0 if kind.dial != "stuck" else 40.0) * np.arange(GRID.size) / GRID.size
        )
        * (0.8 + 0.4 * shared[0])
    )
    if kind.dial == "stuck":
        diversity = np.where(np.arange(GRID.size) < 3, diversity, 0.0)
    temperature, clamp = _dials(kind.dial, np.minimum(diversity, 1.0))
    parents = np.full(GRID.size, np.nan)
    # Recorded at times, and once the population of 100 is full.
    at = np.flatnonzero(GRID > 100)[::3]
    parents[at] = np.maximum(1.0, 100.0 * np.exp(-0.4 / temperature[at]))
    cell = f"{task}-{arm}-{seed}"
    reached = np.flatnonzero(regret <= 1e-9)
    run = {
        "cell": cell,
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


_RATES = (0.35, 0.05, 0.15, 0.02, 0.1, 0.2, 0.28, 0.08, 0.12, 0.03, 0.18, 0.06)
_LABELS = (
    *("onemax_64", "leading_ones_32", "trap_60", "labs_40", "nk_64", "ising_64"),
    *("queens_8", "rastrigin_5", "gallagher_5", "nguyen_3", "nguyen_5", "keijzer_4"),
)
BIG_TASKS = dict(zip(_LABELS, _RATES, strict=True))
_VARIANTS = {
    "fixed": ("a fixed temperature of 1", 1.0),
    "original": ("T follows diversity", 1.0),
    "inverted": ("T falls with diversity", 1.0),
    "blend_0": ("as original, without a blend", 1.0),
    "blend_0.8": ("as original, four fifths of the state kept", 1.0),
    "sample_5": ("as original, diversity of 5 solutions", 1.0),
    "sample_all": ("as original, diversity of all solutions", 1.0),
}
_GROUPS = {
    "loongflow": ("At LoongFlow's settings", (1.0,) * 7),
    "ranked": ("Where the dial is connected", (1.0, 1.25, 0.93, 1.24, 1.25, 1.0, 1.28)),
}
_OTHERS = {
    "again": ("ranked_fixed under other random numbers", Kind("fixed", 1.0, "again")),
    "uniform": ("every solution alike", Kind("fixed", 0.6, "uniform")),
    "cold": ("ranks at a fixed T of 0.05", Kind("fixed", 1.3, "cold")),
    "greedy": ("always the best", Kind("fixed", 1.2, "greedy")),
}
_QUESTIONS = (
    (
        "original",
        "fixed",
        "Does a temperature that follows diversity beat a fixed one?",
    ),
    ("inverted", "original", "Does the sign of the mapping matter?"),
    ("blend_0.8", "blend_0", "Does the blend matter?"),
    ("sample_all", "sample_5", "Does the size of the diversity sample matter?"),
)


def _big_kinds() -> dict[str, Kind]:
    kinds = {}
    for family, (_, gains) in _GROUPS.items():
        for name, gain in zip(_VARIANTS, gains, strict=True):
            arm = f"{family}_{name}"
            dial = "inverted" if name == "inverted" else "adaptive"
            if name != "fixed" and family == "loongflow":
                dial = "stuck"
            kinds[arm] = Kind("fixed" if name == "fixed" else dial, gain, arm)
    kinds["loongflow_blend_0"] = kinds["loongflow_blend_0.8"]
    return kinds | {name: kind for name, (_, kind) in _OTHERS.items()}


BIG_KINDS = _big_kinds()
BIG = PageInput(
    name="big",
    question=(
        "Does adaptive temperature beat a fixed one, and do the sign of its mapping, its "
        "blend and its sample matter?"
    ),
    arms=tuple(
        Arm(f"{family}_{name}", text, group)
        for family, (group, _) in _GROUPS.items()
        for name, (text, _) in _VARIANTS.items()
    )
    + tuple(Arm(name, text, "Controls") for name, (text, _) in _OTHERS.items()),
    contrasts=tuple(
        Contrast(f"{family}_{arm}", f"{family}_{base}", title, group)
        for family, (group, _) in _GROUPS.items()
        for arm, base, title in _QUESTIONS
    ),
    controls=(
        Control("again", "ranked_fixed", "A/A: the same arm, other numbers", "same"),
        Control(
            *("uniform", "cold", "Uniform against a cold fixed temperature", "worse"),
            tasks=_LABELS[:6],
        ),
    ),
    leverage={
        ("loongflow_original", "loongflow_fixed"): Leverage(0.003, "trap_60"),
        ("loongflow_sample_all", "loongflow_sample_5"): Leverage(0.021, "nk_64"),
        ("ranked_original", "ranked_fixed"): Leverage(0.41, "nguyen_5"),
        ("ranked_inverted", "ranked_original"): Leverage(0.62, "labs_40"),
    },
    parameters={
        "loongflow_fixed": ("temperature=fixed", "scaling=raw"),
        "ranked_original": ("temperature=adaptive", "scaling=rank", "maximum=0.5"),
    },
    budget=500,
    n_seeds=20,
    tasks=_LABELS,
    reproduce="make study STUDY=big",
    population=100,
    plan_hash="1e" * 16,
    code_version="c0de" * 8,
)


def big(n_seeds: int = 20) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the tables of ``BIG``, or those of fewer seeds."""
    return tables(n_seeds, tasks=BIG_TASKS, kinds=BIG_KINDS, study="big")


SWEEP_KINDS = {
    f"arm_{index:02d}": Kind(
        ("fixed", "adaptive", "inverted", "stuck")[index % 4],
        0.7 + 0.02 * index,
        f"sweep {index}",
    )
    for index in range(38)
}
#: A sweep without contrasts.
SWEEP = PageInput(
    name="sweep",
    question="Which of these settings is worth a study of its own?",
    arms=tuple(Arm(name, f"setting {name[-2:]}") for name in SWEEP_KINDS),
    budget=500,
    n_seeds=3,
    tasks=_LABELS,
    reproduce="make study STUDY=sweep",
    population=100,
)


def sweep() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the tables of ``SWEEP``."""
    return tables(3, tasks=BIG_TASKS, kinds=SWEEP_KINDS, study="sweep")


EPISODE = Episode("accuracy", "question", "the share of questions answered right")


def of_trials(
    raw: tuple[pd.DataFrame, pd.DataFrame],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns tables as tasks make them that play their runs themselves."""
    runs, trajectories = raw
    n = GRID.size
    best = trajectories["best"].map(lambda row: np.linspace(0.0, row[-1], n).tolist())
    nothing = [[math.nan] * n] * len(trajectories)
    dials = ("diversity", "used_diversity", "temperature", "effective_parents")
    trajectories = trajectories.assign(
        best=best,
        clamp=[[0] * n] * len(trajectories),
        **dict.fromkeys(dials, pd.Series(nothing, index=trajectories.index)),
    )
    unknown = (
        *("mean_diversity", "zero_diversity_share", "mean_temperature"),
        *("minimum_share", "maximum_share"),
    )
    runs = runs.assign(
        **dict.fromkeys(unknown, math.nan),
        consistency=np.where(runs["arm"] == "fixed", 1.0, 0.25),
        tokens=np.where(runs["arm"] == "fixed", 400.0, 900.0),
    )
    return runs, trajectories
