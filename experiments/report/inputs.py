"""What a study says about itself: all that its page needs beside its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from experiments.statistics.control import Expected

#: Primary metrics: mean log10 regret over a run, or the regret at its end.
METRICS = ("area", "regret")

#: What a control may be expected to come out as.
EXPECTED: Mapping[str, Expected] = {
    "same": Expected.SAME,
    "identical": Expected.IDENTICAL,
    "better": Expected.BETTER,
    "worse": Expected.WORSE,
}


class Arm(NamedTuple):
    """An arm as the page introduces it: its name, one line about it, and its group."""

    name: str
    description: str
    group: str = ""


class Contrast(NamedTuple):
    """A planned contrast.

    Attributes:
        arm: Name of the arm.
        base: Name of what it is compared with.
        title: What it asks; ``answers.answer`` says which questions it understands.
        group: What it stands under on the page, such as "At LoongFlow's settings".
    """

    arm: str
    base: str
    title: str
    group: str = ""


class Secondary(NamedTuple):
    """A planned contrast of a measure beside the primary metric.

    Attributes:
        arm: Name of the arm.
        base: Name of what it is compared with.
        title: What it asks.
        measure: Name of the measure.
        margin: Smallest difference that matters, in its units.
    """

    arm: str
    base: str
    title: str
    measure: str
    margin: float


class Control(NamedTuple):
    """A contrast whose answer is known.

    Attributes:
        arm: Name of the arm.
        base: Name of what it is compared with.
        title: What it is, such as "A/A: the same arm under other random numbers".
        expected: One of "same", "identical", "worse" and "better".
        tasks: The tasks registered for it; all if empty.
    """

    arm: str
    base: str
    title: str
    expected: str
    tasks: tuple[str, ...] = ()


class Episode(NamedTuple):
    """How to speak of tasks that play their runs themselves.

    Attributes:
        score: Name of their score, which is 1 - regret, such as "accuracy".
        trial: Name of what a run is so many of, in the singular, such as "question".
        meaning: What the score is, a clause.
    """

    score: str
    trial: str
    meaning: str


class Population(NamedTuple):
    """How many solutions an arm has to choose from.

    Attributes:
        capacity: The most that live at once.
        shared: The most that one draw chooses from: those of one island.
    """

    capacity: int
    shared: int


class Leverage(NamedTuple):
    """How far apart two arms are before anything is run.

    Attributes:
        variation: Largest total variation between their laws of selection on pilot
            populations, in ``[0, 1]``.
        task: Label of the task where it is.
    """

    variation: float
    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInput:
    """What a study says about itself.

    Args:
        name: Name of the study, as in the tables.
        question: What it asks.
        arms: Its arms, in the order of all tables and figures.
        tasks: Labels of its tasks, in the order of all tables and figures.
        budget: Evaluations a run, the most of any task.
        n_seeds: Number of seeds.
        reproduce: Command that makes the page again.
        contrasts: Its planned contrasts, one family.
        controls: Its controls, tested apart.
        secondary: Its contrasts of measures, a family of their own.
        metric: The primary metric, one of ``METRICS``.
        episode: How to speak of tasks that play their runs themselves, if these do.
        margin: Smallest difference that matters, in units of the primary metric.
        alpha: Chance of any false BETTER or WORSE in the family.
        leverage: That of some contrasts, by arm and base.
        deviations: What differs from the registered plan, a line each.
        unheated: Arms whose law of selection does not depend on a temperature.
        parameters: Lines "key = value" of what an arm does not share with all others.
        population: Cap of the population, if it is one number and there are no islands.
        populations: The populations of the arms, where that is not so; may be empty.
        plan_hash: Hash of the registered plan, empty if none is.
        code_version: Version of the code that made the runs, empty if unknown.

    Raises:
        ValueError: There is no arm, task or evaluation, a name is there twice, a
            contrast, control, leverage, population or parameter names an arm that the
            study does not have, a control names such a task or expects something unknown,
            ``metric`` is unknown or none of episodes, or ``margin``, ``alpha`` or a
            leverage is out of range.
    """

    name: str
    question: str
    arms: tuple[Arm, ...]
    tasks: tuple[str, ...]
    budget: int
    n_seeds: int
    reproduce: str
    contrasts: tuple[Contrast, ...] = ()
    controls: tuple[Control, ...] = ()
    secondary: tuple[Secondary, ...] = ()
    metric: str = "area"
    episode: Episode | None = None
    margin: float = 0.05
    alpha: float = 0.05
    leverage: Mapping[tuple[str, str], Leverage] = field(default_factory=dict)
    deviations: tuple[str, ...] = ()
    unheated: tuple[str, ...] = ()
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    population: int | None = None
    populations: Mapping[str, Population] = field(default_factory=dict)
    plan_hash: str = ""
    code_version: str = ""

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        for field_name, entries in (("arms", names), ("tasks", list(self.tasks))):
            if not entries:
                raise ValueError(f"{field_name} must not be empty")
            if len(dict.fromkeys(entries)) < len(entries):
                raise ValueError(
                    f"{field_name} must differ from each other, got {entries}"
                )
        named = {
            "contrasts": [name for plan in self.contrasts for name in plan[:2]],
            "controls": [name for plan in self.controls for name in plan[:2]],
            "secondary": [name for plan in self.secondary for name in plan[:2]],
            "leverage": [name for pair in self.leverage for name in pair],
            "populations": list(self.populations),
            "unheated": list(self.unheated),
            "parameters": list(self.parameters),
        }
        for field_name, mentioned in named.items():
            for name in mentioned:
                if name not in names:
                    raise ValueError(
                        f"{field_name} must name arms of the study, got {name!r}"
                    )
        if self.metric not in METRICS:
            raise ValueError(
                f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}"
            )
        if self.episode is not None and self.metric != "regret":
            raise ValueError(f"metric must be regret of episodes, got {self.metric!r}")
        for control in self.controls:
            _check_control(control, self.tasks)
        if self.budget < 1 or self.n_seeds < 1:
            raise ValueError(
                "budget and n_seeds must be at least 1, got "
                f"{self.budget} and {self.n_seeds}"
            )
        if not 0.0 < self.margin < math.inf:
            raise ValueError(f"margin must be positive and finite, got {self.margin}")
        if not 0.0 < self.alpha < 0.5:
            raise ValueError(f"alpha must lie in (0, 0.5), got {self.alpha}")
        for pair, (variation, _) in self.leverage.items():
            if not 0.0 <= variation <= 1.0:
                raise ValueError(
                    f"leverage must lie in [0, 1], got {variation} of {pair}"
                )

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Arms of the contrasts of each group, in the order of the study."""
        found = {}
        for group in dict.fromkeys(plan.group for plan in self.contrasts):
            pairs = [plan[:2] for plan in self.contrasts if plan.group == group]
            inside = [name for pair in pairs for name in pair]
            found[group] = tuple(arm.name for arm in self.arms if arm.name in inside)
        return found


def _check_control(control: Control, tasks: tuple[str, ...]) -> None:
    if control.expected not in EXPECTED:
        raise ValueError(
            f"expected must be one of {', '.join(EXPECTED)}, got {control.expected!r}"
        )
    for task in control.tasks:
        if task not in tasks:
            raise ValueError(f"controls must name tasks of the study, got {task!r}")
