"""Our selection step against LoongFlow's, and evaluations a second of the closed loop.

Run with ``make benchmarks``. LoongFlow 0.0.1 is installed into an environment beside this
file, once; both are measured in alternation on the same texts. Read the ratios: the
microseconds belong to the machine and its other tenants.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import replace
from pathlib import Path

import memory
from experiments import loop
from experiments.proposers.bit_flip import BitFlip
from experiments.tasks.pbo import Pbo
from memory.diversity.hamming import Hamming
from memory.diversity.text_shape import TextShape
from memory.mapping.inverted import Inverted
from memory.temperature.adaptive import Adaptive

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".upstream"
PEER = "loongflow==0.0.1"
N_TEXTS, LENGTH, REPEATS, ROUNDS = 100, 1_000, 30, 3
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 =+-*/()[]:,._\n"


def texts(n: int) -> list[str]:
    """Returns ``n`` texts of about ``LENGTH`` characters over a program's alphabet."""
    random = memory.KeyedRandom("benchmark")
    made = []
    for index in range(n):
        rng = random.generator("initial", index)
        length = LENGTH - 50 + int(100 * rng.random())
        letters = (rng.random(length) * len(ALPHABET)).astype(int)
        made.append("".join(ALPHABET[letter] for letter in letters))
    return made


def shipped() -> memory.Settings:
    """Returns LoongFlow's rule with the diversity over all pairs."""
    return replace(memory.upstream(), diversity=TextShape())


def our_step(written: list[str]) -> dict[str, float]:
    """Returns median microseconds of our parts of a step, one text arriving each time."""
    recollection = memory.EvolutionaryMemory(shipped(), seed=1)
    for index, text in enumerate(written[:N_TEXTS]):
        recollection.remember(text, 0.01 + index / 100)
    recollection.select()
    add, select = [], []
    for index, text in enumerate(written[N_TEXTS:]):
        start = time.perf_counter()
        recollection.remember(text, 0.5 + index / 1000)
        middle = time.perf_counter()
        recollection.select()
        select.append(time.perf_counter() - middle)
        add.append(middle - start)
    cold = []
    for _ in range(5):
        start = time.perf_counter()
        TextShape().measure(
            written[:N_TEXTS], memory.KeyedRandom("x").generator("diversity", 0)
        )
        cold.append(time.perf_counter() - start)
    return {
        "sample": statistics.median(select) * 1e6,
        "add": statistics.median(add) * 1e6,
        "cold": statistics.median(cold) * 1e6,
    }


def python_of_peer() -> Path:
    """Returns the Python of the environment that LoongFlow lives in, made if missing."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "ready").exists():
        print(f"setting up {ENVIRONMENT.name} with {PEER}", file=sys.stderr)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "numpy", "redis"], check=True)
        subprocess.run(
            [*install, "--no-deps", "--ignore-requires-python", PEER], check=True
        )
        (ENVIRONMENT / "ready").touch()
    return python


def their_step(written: list[str]) -> dict[str, float]:
    """Returns the same for LoongFlow, measured in its own process."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(written, file)
        file.flush()
        command = [
            python_of_peer(),
            HERE / "upstream_step.py",
            file.name,
            str(REPEATS),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def evaluations_per_second(settings: memory.Settings, budget: int = 4_000) -> float:
    """Returns evaluations a second of the closed loop on OneMax of 64 bits."""
    problem = Pbo(function="OneMax", dimension=64).problem(1)
    start = time.perf_counter()
    loop.run(
        problem, BitFlip(), settings, names=("benchmark",), budget=budget, initial=10
    )
    return budget / (time.perf_counter() - start)


def main() -> None:
    """Prints the ratios."""
    written = texts(N_TEXTS + REPEATS)
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        ours.append(our_step(written))
        theirs.append(their_step(written))
    mine = {key: min(found[key] for found in ours) for key in ours[0]}
    peer = {key: min(found[key] for found in theirs) for key in theirs[0]}
    print(f"{N_TEXTS} texts of {LENGTH} characters, a new one at every step")
    rows = (
        ("select a parent (D over all pairs, T, draw)", mine["sample"], peer["sample"]),
        ("remember a text (population full)", mine["add"], peer["add"]),
        (
            "both: one whole step",
            mine["sample"] + mine["add"],
            peer["sample"] + peer["add"],
        ),
        ("D over all pairs from nothing, T, draw", mine["cold"], peer["sample"]),
    )
    for name, us, them in rows:
        print(f"{name:<46}{us:>9.0f} us {them:>9.0f} us   {them / us:>7.0f} x")
    print("closed loop on OneMax 64, evaluations a second (best of three)")
    for name, settings in (
        ("rank, Boltzmann, fixed T", memory.Settings()),
        (
            "rank, Boltzmann, adaptive T, Hamming",
            memory.Settings(diversity=Hamming(), temperature=Adaptive(Inverted())),
        ),
        ("LoongFlow's rule, D over all pairs", shipped()),
    ):
        best = max(evaluations_per_second(settings) for _ in range(3))
        print(f"{name:<46}{best:>9.0f}")


if __name__ == "__main__":
    main()
