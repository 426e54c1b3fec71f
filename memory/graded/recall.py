"""Recall: which of the remembered answer a question, and why.

The score of a record is the sum of three parts,

    score = relevance * r + recency * 2^(-age / half_life) + weight of its tier

with ``r`` its lexical relevance over the largest among the candidates. At no temperature
the best are recalled: the same question twice has the same answer. At a temperature,
records are drawn one after the other, without replacement, by the Boltzmann law of their
scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memory.policies import Flags, Floats, Integers, View
from memory.records import count, positive, real
from memory.selection.boltzmann import Boltzmann


class Recallable(NamedTuple):
    """Candidates of a recall, as arrays of one length ``n``.

    Attributes:
        relevance: ``(n,)`` finite relevances, not negative, of any scale.
        ages: ``(n,)`` messages that came after each, not negative.
        tiers: ``(n,)`` their tiers: 0 short, 1 medium, 2 long.
    """

    relevance: Floats
    ages: Integers
    tiers: Integers


class Reason(NamedTuple):
    """Why a record was recalled: the parts of its score, already weighted.

    Attributes:
        score: The sum of the parts.
        relevance: Part of the words that it shares with the question.
        recency: Part of its age.
        tier: Part of its tier.
        probability: Probability of this draw among those that were left; one where the
            best are taken.
        u: The uniform number that decided; ``None`` where the best are taken.
        summary: Id of the summary in a tier that the record stands behind; empty for what
            is in a tier itself.
    """

    score: float
    relevance: float
    recency: float
    tier: float
    probability: float = 1.0
    u: float | None = None
    summary: str = ""


class Choice(NamedTuple):
    """The place of a candidate among all, and why it was recalled."""

    place: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Recall:
    """Recalls by relevance, recency and tier.

    Args:
        relevance: Weight of the relevance, not negative.
        recency: Weight of the recency, not negative.
        half_life_messages: Age at which the recency is a half, positive.
        short: Weight of the short-term tier, not negative.
        medium: Weight of the medium-term tier, not negative.
        long: Weight of the long-term tier, not negative.
        temperature: Temperature of the draw, in units of score; ``None`` takes the best.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: A weight is negative, or a positive parameter is not.
    """

    relevance: float = 1.0
    recency: float = 0.1
    half_life_messages: float = 100.0
    short: float = 0.0
    medium: float = 0.05
    long: float = 0.1
    temperature: float | None = None

    def __post_init__(self) -> None:
        for name in ("relevance", "recency", "short", "medium", "long"):
            weight = real(name, getattr(self, name))
            if weight < 0.0:
                raise ValueError(f"{name} must not be negative, got {weight!r}")
            object.__setattr__(self, name, weight)
        half_life = positive("half_life_messages", self.half_life_messages)
        object.__setattr__(self, "half_life_messages", half_life)
        if self.temperature is not None:
            temperature = positive("temperature", self.temperature)
            object.__setattr__(self, "temperature", temperature)

    def choose(
        self, candidates: Recallable, size: int, rng: np.random.Generator
    ) -> list[Choice]:
        """Returns at most ``size`` candidates, the best or the first drawn first.

        Where any candidate is relevant, only relevant ones are recalled; where none is,
        as for an empty question, recency and tier decide alone.

        Args:
            candidates: What there is, the oldest first.
            size: Most records that are wanted, positive.
            rng: Decides the draws at a temperature; otherwise it is not used.

        Raises:
            TypeError: ``size`` is not an integer.
            ValueError: ``size`` is not positive.
        """
        count("size", size, minimum=1)
        if not len(candidates.relevance):
            return []
        parts = self._parts(candidates)
        eligible = candidates.relevance > 0.0
        if not eligible.any():
            eligible = np.ones(eligible.size, dtype=bool)
        if self.temperature is None:
            return self._best(parts, eligible, size)
        return self._drawn(parts, eligible, size, self.temperature, rng)

    def _parts(self, candidates: Recallable) -> Floats:
        """Returns ``(4, n)``: the score, and the parts that it is the sum of."""
        highest = candidates.relevance.max()
        relevance = candidates.relevance / (highest if highest > 0.0 else 1.0)
        parts = np.stack(
            [
                self.relevance * relevance,
                self.recency * np.exp2(-candidates.ages / self.half_life_messages),
                np.array([self.short, self.medium, self.long])[candidates.tiers],
            ]
        )
        return np.vstack([parts.sum(axis=0), parts])

    def _best(self, parts: Floats, eligible: Flags, size: int) -> list[Choice]:
        places = np.flatnonzero(eligible)
        # Of equal scores the newest comes first.
        order = np.lexsort((-places, -parts[0, places]))[:size]
        return [
            Choice(int(place), Reason(*parts[:, place].tolist()))
            for place in places[order]
        ]

    def _drawn(
        self,
        parts: Floats,
        eligible: Flags,
        size: int,
        temperature: float,
        rng: np.random.Generator,
    ) -> list[Choice]:
        policy = Boltzmann()
        weights = eligible.astype(np.float64)
        choices: list[Choice] = []
        for _ in range(min(size, int(weights.sum()))):
            view = _view(parts[0], weights.copy())
            law = policy.probabilities(view, temperature)
            pick = policy.draw(view, temperature, rng)
            reason = Reason(*parts[:, pick.place].tolist())._replace(
                probability=float(law[pick.place]), u=pick.u
            )
            choices.append(Choice(pick.place, reason))
            weights[pick.place] = 0.0
        return choices


def _view(scores: Sequence[float] | Floats, weights: Floats) -> View:
    n = len(scores)
    return View(
        np.asarray(scores, dtype=np.float64),
        weights,
        np.zeros(n, dtype=bool),
        np.arange(1, n + 1),
    )
