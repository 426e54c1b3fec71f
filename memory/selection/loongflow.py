"""The selection rule of LoongFlow: a softmax over a few random candidates.

As shipped (baidu-baige/LoongFlow, ``boltzmann.py``) the rule ignores its temperature far
more than it seems: five candidates are drawn, three of them from the elites, and only
among those five do the scores compete.

1. With probability ``exploration``: a uniformly random solution.
2. Otherwise candidates: 3 distinct elites and 2 distinct "others", all of a group that
   has fewer. As shipped the others are *all* solutions (a comparison of ids with objects
   lets every elite pass), so that an elite can be listed twice; ``disjoint`` repairs it.
3. If the list has fewer than 5 entries it is filled, without replacement and with those
   not yet listed, from the larger group (the others on equality).
4. A candidate is drawn with probability proportional to ``exp(score / T) * weight^power``
   over the list, duplicates counting twice.

Its exact law is ``memory.candidate_law``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import ClassVar

import numpy as np

from memory.candidate_law import candidate_law
from memory.draws import (
    Places,
    boltzmann_factors,
    checked_temperature,
    eligible,
    exponent,
    inverse,
    located,
    shuffled,
    spread,
)
from memory.policies import Flags, Floats, Pick, View
from memory.records import count, flag, positive, real, within

#: Scores that the agents look back on, and the share that a raised exploration may reach.
STAGNATION_WINDOW = 5
LARGEST_EXPLORATION = 0.9


@dataclass(frozen=True, slots=True)
class LoongFlow:
    """Selects from a short random list of elites and others, as LoongFlow does.

    Args:
        exploration: Probability of a uniform choice among the eligible, in ``[0, 1]``.
        n_elite_candidates: Number of candidates drawn from the elites.
        n_other_candidates: Number of candidates drawn from the others; at least one
            candidate in total.
        weighted: Whether the weights multiply the probabilities.
        power: Exponent of the weights, in ``[0, 1e300]``.
        disjoint: Whether the others exclude the elites; as shipped they do not.
        zero_weight_means_one: Whether a weight of zero counts as one, as it does
            upstream, where an unset weight so beats the smallest set one twenty to one.
            Otherwise it means never.
        stagnation_factor: Factor of ``exploration`` while the search stagnates, that is
            while no two successive ones of the last ``STAGNATION_WINDOW`` scores differ
            by ``stagnation_tolerance``; at least 1, which never changes it. Fewer than
            two scores count as stagnation, and the result is at most
            ``LARGEST_EXPLORATION``, as LoongFlow's agents do it with a factor of 2.
        stagnation_tolerance: Smallest movement that is none, in units of raw score.

    Raises:
        TypeError: A parameter has the wrong type.
        ValueError: A parameter lies outside its range, or there are no candidates.
    """

    exploration: float = 0.2
    n_elite_candidates: int = 3
    n_other_candidates: int = 2
    weighted: bool = True
    power: float = 1.0
    disjoint: bool = False
    zero_weight_means_one: bool = False
    stagnation_factor: float = 1.0
    stagnation_tolerance: float = 0.01

    closed_form: ClassVar[bool] = False

    def __post_init__(self) -> None:
        exploration = within("exploration", self.exploration, 0.0, 1.0)
        object.__setattr__(self, "exploration", exploration)
        object.__setattr__(self, "power", exponent("power", self.power))
        for name in ("n_elite_candidates", "n_other_candidates"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        for name in ("weighted", "disjoint", "zero_weight_means_one"):
            flag(name, getattr(self, name))
        if real("stagnation_factor", self.stagnation_factor) < 1.0:
            raise ValueError(
                f"stagnation_factor must be at least 1, got {self.stagnation_factor}"
            )
        positive("stagnation_tolerance", self.stagnation_tolerance)
        if self.n_elite_candidates + self.n_other_candidates == 0:
            raise ValueError(
                "n_elite_candidates + n_other_candidates must be at least 1, got 0"
            )

    def probabilities(self, view: View, temperature: float) -> Floats:
        """Returns the ``(n,)`` probabilities of selection; they sum to one.

        Args:
            view: The living, at least one with a positive weight.
            temperature: Positive temperature, in units of scaled score.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        temperature = checked_temperature(temperature)
        scores, weights, elites, places = self._eligible(view)
        law = candidate_law(
            scores,
            weights,
            elites,
            temperature,
            exploration=self._exploration(view),
            n_elite_candidates=self.n_elite_candidates,
            n_other_candidates=self.n_other_candidates,
            power=self.power,
            disjoint=self.disjoint,
            weighted=self.weighted,
        )
        return spread(law, places, view.scores.size)

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns a parent drawn by the rule itself, number by number.

        The ``u`` of the pick is the last uniform number used: the one that chose from
        the list or, where ``explored``, from all.

        Raises:
            TypeError: ``temperature`` is not a real number.
            ValueError: ``temperature`` is not positive and finite, the view is
                malformed, or nobody is eligible.
        """
        temperature = checked_temperature(temperature)
        scores, weights, elites, places = self._eligible(view)
        explored = rng.random() < self._exploration(view)
        if explored:
            u = rng.random()
            return Pick(located(int(u * scores.size), places), True, u)
        listed = self._candidates(elites, rng)
        factors = boltzmann_factors(
            scores[listed],
            temperature,
            weights[listed] if self.weighted else None,
            self.power,
        )
        u = rng.random()
        return Pick(located(listed[inverse(factors, u)], places), False, u)

    def _exploration(self, view: View) -> float:
        """Returns the exploration, raised while the search stagnates."""
        if self.stagnation_factor == 1.0:
            return self.exploration
        last = view.recent[-STAGNATION_WINDOW:]
        if any(abs(b - a) >= self.stagnation_tolerance for a, b in pairwise(last)):
            return self.exploration
        raised = self.stagnation_factor * self.exploration
        return raised if raised < 1.0 else max(self.exploration, LARGEST_EXPLORATION)

    def _eligible(self, view: View) -> tuple[Floats, Floats, Flags, Places | None]:
        if self.zero_weight_means_one:
            weights = np.where(view.weights == 0.0, 1.0, view.weights)
            view = view._replace(weights=weights)
        scores, weights, places = eligible(view)
        if view.elites.size != view.scores.size:
            raise ValueError(
                "view must hold as many elites as scores, got "
                f"{view.elites.size} and {view.scores.size}"
            )
        elites = view.elites if places is None else view.elites[places]
        return scores, weights, elites, places

    def _candidates(self, elites: Flags, rng: np.random.Generator) -> list[int]:
        """Returns the list of candidates; one may be listed twice."""
        best = np.flatnonzero(elites)
        others = np.flatnonzero(~elites) if self.disjoint else None
        n_others = elites.size if others is None else others.size
        best_order = shuffled(best.size, rng)
        other_order = shuffled(n_others, rng)
        listed = [
            int(best[place]) for place in islice(best_order, self.n_elite_candidates)
        ]
        listed += [
            place if others is None else int(others[place])
            for place in islice(other_order, self.n_other_candidates)
        ]
        missing = self.n_elite_candidates + self.n_other_candidates - len(listed)
        if missing == 0:
            return listed
        # The shuffle of the group goes on where it stopped.
        from_best = best.size > n_others
        group, order = (best, best_order) if from_best else (others, other_order)
        for place in order:
            candidate = place if group is None else int(group[place])
            if candidate not in listed:
                listed.append(candidate)
                missing -= 1
                if missing == 0:
                    break
        return listed
