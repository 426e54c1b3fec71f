"""Controls: contrasts whose answer is known, tested apart from the family.

A study whose A/A control comes out BETTER or WORSE sees what is not there; one whose
positive control does not come out as it must would not see what is.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import pandas as pd

from experiments.statistics.family import Contrast, Keyed, verdicts
from experiments.statistics.verdict import Outcome, Verdict


class Expected(StrEnum):
    """What a control must come out as."""

    SAME = "neither better nor worse"
    IDENTICAL = "identical in every run"
    BETTER = "better"
    WORSE = "worse"


_PASSES = {
    Expected.SAME: (Outcome.EQUIVALENT, Outcome.INCONCLUSIVE),
    Expected.IDENTICAL: (Outcome.EQUIVALENT,),
    Expected.BETTER: (Outcome.BETTER,),
    Expected.WORSE: (Outcome.WORSE,),
}


class Control(NamedTuple):
    """A control and whether it came out as it must.

    Attributes:
        verdict: Its verdict, in a family of its own.
        expected: What it had to come out as.
        passed: Whether it did.
    """

    verdict: Verdict
    expected: Expected
    passed: bool


def control_verdict(
    values: pd.DataFrame,
    contrast: Contrast,
    expected: Expected,
    *,
    margin: float,
    tasks: tuple[str, ...] = (),
    alpha: float = 0.05,
    lower_is_better: bool = True,
    sensitivity: pd.DataFrame | None = None,
    resamples: int = 4000,
    generator: Keyed,
) -> Control:
    """Returns a control, tested as a family of one.

    An A/A control fails by chance in ``alpha`` of all studies. It fails, too, if no run
    finished, as does every control; one that is identical passes, and its verdict says
    so: the two arms then shared the stream that should have told them apart. Where that
    is the point, as with two arms that differ in nothing that decides, identity itself
    is expected, and any difference at all fails.

    Args:
        values: As in ``family.verdicts``.
        contrast: The arm and its base.
        expected: What it must come out as.
        margin: As in ``family.verdicts``.
        tasks: The tasks registered for it, such as those that reward selection; all if
            empty.
        alpha: As in ``family.verdicts``.
        lower_is_better: As in ``family.verdicts``.
        sensitivity: As in ``family.verdicts``.
        resamples: As in ``family.verdicts``.
        generator: As in ``family.verdicts``.

    Raises:
        TypeError: As ``family.verdicts``.
        ValueError: As ``family.verdicts``, or a task is not in the table.
    """
    for task in tasks:
        if not (values["task"] == task).any():
            raise ValueError(f"tasks must be tasks of the table, got {task!r}")
    (verdict,) = verdicts(
        _of(values, tasks),
        [contrast],
        margin=margin,
        alpha=alpha,
        lower_is_better=lower_is_better,
        sensitivity=None if sensitivity is None else _of(sensitivity, tasks),
        resamples=resamples,
        generator=generator,
    )
    nothing_ran = verdict.identical and verdict.outcome is Outcome.INCONCLUSIVE
    passed = verdict.outcome in _PASSES[expected] and not nothing_ran
    if expected is Expected.IDENTICAL:
        passed = passed and verdict.identical
    return Control(verdict, expected, passed)


def _of(values: pd.DataFrame, tasks: tuple[str, ...]) -> pd.DataFrame:
    return values[values["task"].isin(tasks)] if tasks else values
