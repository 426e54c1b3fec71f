"""A task that raises, hangs, eats memory, prints, kills its process or exits."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass

import numpy as np

from experiments.contracts import Anchors, Evaluation


@dataclass(frozen=True)
class _Problem:
    kind: str

    @property
    def anchors(self) -> Anchors:
        return Anchors(0.0, 1.0, True, "made up")

    def initial(self, rng: np.random.Generator) -> str:
        return format(int(rng.random() * 256), "08b")

    def evaluate(self, text: str) -> Evaluation:
        match self.kind:
            case "raises":
                raise RuntimeError(f"no luck with {len(text)} bits")
            case "hangs":
                time.sleep(3600)
            case "eats":
                hoard = []
                while True:
                    hoard.append(np.ones(2**22))
            case "prints":
                sys.stdout.write("x" * 100_000)
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exits":
                sys.exit(3)
            case "fails":
                return Evaluation(None, None, "always")
        return Evaluation(text.count("1") / 8, float(text.count("1")))


@dataclass(frozen=True)
class Trouble:
    kind: str = "none"

    @property
    def family(self) -> str:
        return "trouble"

    @property
    def natural_diversity(self) -> str:
        return "hamming"

    @property
    def natural_proposer(self) -> str:
        return "bit_flip"

    def problem(self, instance: int) -> _Problem:
        return _Problem(self.kind)

    def cheap(self) -> Trouble:
        return self
