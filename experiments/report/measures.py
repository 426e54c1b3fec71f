"""What is measured beside the search, in words and units of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from experiments.report.words import MINUS, NONE, figures, percent


class Measure(NamedTuple):
    """A measure as the page speaks of it.

    Attributes:
        title: Head of its column.
        text: Its values in words.
        meaning: What it is, in one sentence.
    """

    title: str
    text: Callable[[float], str]
    meaning: str


def quantity(value: float) -> str:
    """Returns a number in two significant digits, thousands apart: 1,300, 0.25."""
    if math.isnan(value):
        return NONE
    if abs(value) < 10.0:
        return f"{value:.2g}".replace("-", MINUS)
    return f"{float(f'{value:.2g}'):,.0f}".replace("-", MINUS)


def size(n_bytes: float) -> str:
    """Returns a number of bytes in two significant digits: 840 bytes, 12 kB, 3.4 MB."""
    if math.isnan(n_bytes):
        return NONE
    rounded = float(f"{n_bytes:.2g}")
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if rounded >= scale:
            return f"{quantity(rounded / scale)} {unit}"
    return f"{rounded:.0f} bytes"


MEASURES: Mapping[str, Measure] = {
    "kept_bytes": Measure(
        "Memory kept",
        size,
        "Bytes of all records that the memory has not forgotten at the end of a run, "
        "alive or not.",
    ),
    "consistency": Measure(
        "Consistency",
        percent,
        "How often the same question asked again has the same answer.",
    ),
    "tokens": Measure(
        "Tokens",
        quantity,
        "Tokens of what is given to the model, mean over the questions of a run.",
    ),
}


def described(name: str) -> Measure:
    """Returns how the page speaks of the measure ``name``, known or not."""
    plain = Measure(name.replace("_", " ").capitalize(), figures, "")
    return MEASURES.get(name, plain)
