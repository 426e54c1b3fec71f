"""The contracts: what a policy of each room must offer, with units.

A policy is a frozen dataclass; its parameters are its fields and are validated when it is
made. Its methods are pure: what they need comes in, what they find goes out, randomness
is an argument. Any class with these methods is a policy, wherever it lives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: What a metric keeps of a text: computed once by the writer, stored with the row of the
#: journal, made of strings, numbers and lists only.
Features = Any


#: How many recent scores a view holds.
RECENT = 16


class View(NamedTuple):
    """The living, as selection sees them: read-only arrays of one length ``n``.

    Attributes:
        scores: ``(n,)`` finite scaled scores, higher is better.
        weights: ``(n,)`` multipliers of the probability of selection, not negative;
            zero means never.
        elites: ``(n,)`` membership of the elite archive.
        seqs: ``(n,)`` order of arrival, all different, which orders by age.
        recent: Raw scores of the last solutions remembered, alive or not, at most
            ``RECENT`` of them, the newest last.
        cells: ``(n,)`` index of the cell of the MAP-Elites grid that each one lies in,
            not negative; ``None`` where there is no grid.
        champions: ``(n,)`` whether each one is the best of its cell; ``None`` where there
            is no grid.
    """

    scores: Floats
    weights: Floats
    elites: Flags
    seqs: Integers
    recent: tuple[float, ...] = ()
    cells: Integers | None = None
    champions: Flags | None = None


def view(
    scores: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None = None,
    elites: Sequence[bool] | Flags | None = None,
    recent: Sequence[float] = (),
) -> View:
    """Returns a ``View`` of bare numbers, for policies used outside a memory.

    Args:
        scores: ``(n,)`` finite scores, higher is better, at least one.
        weights: ``(n,)`` weights; one for each by default.
        elites: ``(n,)`` membership of the elite archive; nobody by default.
        recent: Raw scores of the last solutions remembered, the newest last.

    Raises:
        ValueError: ``scores`` is empty or not finite, a weight is negative or not
            finite, or the lengths differ.
    """
    values = np.asarray(scores, dtype=np.float64)
    n = values.size
    if values.ndim != 1 or n == 0 or not np.isfinite(values).all():
        raise ValueError(f"scores must be finite, flat and not empty, got {scores!r}")
    factors = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    flags = np.zeros(n, bool) if elites is None else np.asarray(elites, dtype=bool)
    if factors.shape != (n,) or not np.isfinite(factors).all() or factors.min() < 0.0:
        raise ValueError(
            f"weights must be {n} finite numbers, none negative, got {weights!r}"
        )
    if flags.shape != (n,):
        raise ValueError(f"elites must be {n} flags, got {elites!r}")
    return View(values, factors, flags, np.arange(1, n + 1), tuple(recent))


class Pick(NamedTuple):
    """A selected parent.

    Attributes:
        place: Index of the parent in the view.
        explored: Whether the uniform exploration chose it.
        u: The uniform number in ``[0, 1)`` that decided.
    """

    place: int
    explored: bool
    u: float


class Selection(Protocol):
    """A parent-selection policy: an exact law, and a draw that follows it."""

    @property
    def closed_form(self) -> bool:
        """Whether ``probabilities`` costs no more than a draw.

        Where it does not, a run computes the law only at a few steps.
        """

    def probabilities(self, view: View, temperature: float) -> Floats:
        """Returns the ``(n,)`` probabilities of selection; they sum to one.

        Args:
            view: The living, at least one with a positive weight.
            temperature: Positive temperature, in units of scaled score.
        """

    def draw(self, view: View, temperature: float, rng: np.random.Generator) -> Pick:
        """Returns a parent drawn from ``probabilities``, from ``rng`` alone."""


class Scaling(Protocol):
    """A scaling of the scores of the living before selection."""

    def scale(self, scores: Floats) -> Floats:
        """Returns ``(n,)`` scaled scores of ``(n,)`` finite scores, in their order."""


class Mapping(Protocol):
    """A mapping from diversity to a factor of the base temperature."""

    def factor(self, diversity: float) -> float:
        """Returns the factor, in ``[0, 2]`` for ``diversity`` in ``[0, 1]``."""


class Signal(NamedTuple):
    """What a temperature controller may look at.

    Attributes:
        step: Number of entries that have changed the living.
        diversity: Diversity of the living as measured; ``text_shape`` reaches 1.3.
        scores: ``(n,)`` scaled scores of the living.
    """

    step: int
    diversity: float
    scores: Floats


class Control(NamedTuple):
    """What a controller decided, and how.

    Attributes:
        temperature: Temperature for selection, positive, in units of scaled score.
        used_diversity: Diversity after its own bound; NaN if none was used.
        factor: Factor of the mapping; NaN if there is none.
        raw: Temperature before bounds and blend.
        clamped: Temperature after the bounds alone.
        clamp: -1 if the temperature was held at its minimum, +1 at its maximum, else 0.
    """

    temperature: float
    used_diversity: float
    factor: float
    raw: float
    clamped: float
    clamp: int


class Temperature(Protocol):
    """A temperature controller; its state is one float.

    A stateful controller is advanced once per journal entry that changes the living, and
    its next state is the temperature it decided. A stateless one always starts from
    ``initial``.
    """

    @property
    def stateful(self) -> bool:
        """Whether its state is the temperature before."""

    @property
    def reads_diversity(self) -> bool:
        """Whether it reads the diversity; where it does not, none is measured for it."""

    @property
    def initial(self) -> float:
        """State before the first update."""

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the temperature that follows ``state`` under ``signal``."""


class Tracker(Protocol):
    """The living as one metric sees them, kept up to date as they come and go.

    Slots are contiguous: they count from zero to the number of the living. Whatever the
    order of arrivals and departures, equal slots give equal measures, to the last bit.
    """

    def append(self, features: Features) -> None:
        """Adds a slot at the end."""

    def replace(self, slot: int, features: Features) -> None:
        """Puts another solution into ``slot``."""

    def remove(self, slot: int) -> None:
        """Empties ``slot`` by moving the last one into it."""

    def measure(self, rng: np.random.Generator) -> float:
        """Returns the diversity of the living, zero if fewer than two."""


class Diversity(Protocol):
    """A diversity metric: mean pairwise distance of texts, or an estimate of it."""

    @property
    def sampled(self) -> bool:
        """Whether ``measure`` draws random numbers."""

    def features(self, text: str) -> Features:
        """Returns what the metric keeps of ``text``."""

    def tracker(self) -> Tracker:
        """Returns a tracker with no slots."""

    def measure(self, texts: Sequence[str], rng: np.random.Generator) -> float:
        """Returns the diversity of ``texts``, zero if fewer than two."""

    def distance(self, first: Features, second: Features) -> float:
        """Returns the distance of two texts by their features, zero for equal ones."""


class Candidates(NamedTuple):
    """Those of whom one must leave: the living of an island and the newcomer, the last.

    Attributes:
        scores: ``(n,)`` finite ranked scores, higher is better, at least two.
        seqs: ``(n,)`` order of arrival, all different; the newcomer's is the largest.
        cells: ``(n,)`` index of the cell of the grid that each one lies in, not negative;
            ``None`` where there is no grid.
        champions: ``(n,)`` whether each one is the best of its cell, the newcomer counted;
            ``None`` where there is no grid.
        distances: Returns the ``(n,)`` distances of all to the one at an index, by the
            diversity metric; computed when it is called.
    """

    scores: Floats
    seqs: Integers
    cells: Integers | None
    champions: Flags | None
    distances: Callable[[int], Floats]


class Survival(Protocol):
    """A rule for who leaves a population that has one too many."""

    def victim(self, candidates: Candidates) -> int:
        """Returns the index of who leaves; the newcomer may, it is the last one."""


class Ranking(Protocol):
    """The score that a solution of several evaluations is ranked by."""

    def score(self, n: int, mean: float, squares: float) -> float:
        """Returns the score of ``n`` evaluations, finite.

        Args:
            n: Number of evaluations, at least one.
            mean: Their mean.
            squares: Sum of their squared deviations from it; zero for one evaluation.
        """


class Weights(Protocol):
    """What becomes of the users' weights before selection."""

    def adjusted(self, weights: Floats) -> Floats:
        """Returns ``(n,)`` weights of ``(n,)`` weights, not negative; zero stays zero."""


class Descriptor(Protocol):
    """A number that says what kind of solution a text is, computed once by the writer."""

    def value(self, text: str, score: float) -> float:
        """Returns the finite descriptor of a solution."""


class Bounds(Protocol):
    """The bins of one axis of a grid, known before any solution arrives."""

    @property
    def n_bins(self) -> int:
        """Number of bins, at least one."""

    def bin(self, value: float) -> int:
        """Returns the bin of a finite value, in ``[0, n_bins)``."""


class Assignment(Protocol):
    """A rule for the island of a solution for which none was named."""

    def island(self, origin: int | None, sizes: Sequence[int], n_assigned: int) -> int:
        """Returns an island, in ``[0, n)``.

        Args:
            origin: Island of the first parent; ``None`` for a root.
            sizes: ``(n,)`` numbers of the living on each island.
            n_assigned: How many solutions the rule has placed before; where it has a
                method ``counts(origin, sizes)``, those for which that was true.
        """


class Topology(Protocol):
    """Where the migrants of an island go."""

    def targets(self, island: int, n_islands: int) -> Sequence[int]:
        """Returns other islands, each once, in the order in which copies are made.

        Args:
            island: Where they come from, in ``[0, n_islands)``.
            n_islands: Number of islands, at least two.
        """


class Retention(Protocol):
    """A rule for how long the history keeps a record that is no longer alive.

    The dead are forgotten in the order in which they died; the rule is asked about the
    one that has been dead longest, again and again until it says no.
    """

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever forgotten; then nobody keeps account of the dead."""

    def forgets(self, dead: Dead) -> bool:
        """Returns whether the one that has been dead longest is forgotten now."""


class Dead(NamedTuple):
    """What a retention rule looks at, when it decides on one of the dead.

    Attributes:
        entries: Journal entries since it died.
        time: Time since it was made, in the caller's unit: from its own record to the
            newest one.
        dead_bytes: Bytes of the bodies of all the dead that are kept, this one included.
        living_bytes: Bytes of the bodies of the living.
    """

    entries: int
    time: float
    dead_bytes: int
    living_bytes: int
