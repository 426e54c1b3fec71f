"""One step of control: from the living and a state to a parent and a full account."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from memory.policies import Floats, Selection, Signal, Temperature, View


class Step(NamedTuple):
    """Everything a step of control measured and decided.

    Attributes:
        diversity: Diversity as measured; NaN if nobody asked for it.
        used_diversity: Diversity after the controller's bound; NaN if it uses none.
        factor: Factor of the mapping; NaN if there is none.
        raw: Temperature before bounds and blend.
        clamped: Temperature after the bounds alone.
        temperature: Temperature that selection used.
        clamp: -1 if held at the minimum, +1 at the maximum, else 0.
        effective_parents: Exponential of the entropy of the law, in ``[1, n]``; ``None``
            where the law was not computed.
        explored: Whether the uniform exploration chose the parent.
        u: The uniform number that decided, in ``[0, 1)``.
        pick: Index of the parent among the living.
    """

    diversity: float
    used_diversity: float
    factor: float
    raw: float
    clamped: float
    temperature: float
    clamp: int
    effective_parents: float | None
    explored: bool
    u: float
    pick: int


def effective_parents(law: Floats) -> float:
    """Returns ``exp(H)`` of a law: how many equally likely parents it is worth.

    Args:
        law: ``(n,)`` probabilities that sum to one.

    References:
        Hill 1973, "Diversity and evenness", Ecology 54 (the number of order one).
    """
    positive = law[law > 0.0]
    return math.exp(-float(positive @ np.log(positive)))


def checked_law(selection: Selection, view: View, temperature: float) -> Floats:
    """Returns the law of a policy, which may be somebody else's.

    Raises:
        ValueError: It is no distribution over the living.
    """
    law = np.asarray(selection.probabilities(view, temperature))
    n = view.scores.size
    # A NaN fails every comparison.
    if law.shape != (n,) or not (law.min() >= 0.0 and abs(law.sum() - 1.0) < 1e-6):
        raise ValueError(
            f"{type(selection).__name__} must give {n} probabilities that sum to one, "
            f"got {law!r}"
        )
    return law


def control_step(
    view: View,
    signal: Signal,
    state: float,
    *,
    temperature: Temperature,
    selection: Selection,
    rng: np.random.Generator,
    law: bool = False,
) -> Step:
    """Returns one step of control: a pure function of its arguments.

    Args:
        view: The living, with scaled scores.
        signal: What the controller may look at.
        state: The controller's state before this step.
        temperature: The controller.
        selection: The policy that draws the parent.
        rng: Random numbers of this decision alone.
        law: Whether to compute the law, which ``effective_parents`` needs.
    """
    control = temperature.control(state, signal)
    number = None
    if law:
        number = effective_parents(checked_law(selection, view, control.temperature))
    pick = selection.draw(view, control.temperature, rng)
    place = pick.place
    if isinstance(place, bool) or not isinstance(place, int | np.integer):
        raise TypeError(
            f"{type(selection).__name__} must pick a place by its index, got {place!r}"
        )
    if not 0 <= place < view.scores.size:
        raise ValueError(
            f"{type(selection).__name__} must pick a place in "
            f"[0, {view.scores.size}), got {place!r}"
        )
    return Step(
        diversity=signal.diversity,
        used_diversity=control.used_diversity,
        factor=control.factor,
        raw=control.raw,
        clamped=control.clamped,
        temperature=control.temperature,
        clamp=control.clamp,
        effective_parents=number,
        explored=pick.explored,
        u=pick.u,
        pick=int(place),
    )
