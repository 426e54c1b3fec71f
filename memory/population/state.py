"""The population: what is alive, as a fold over the entries of a journal.

The fold is deterministic: no clock, no global random number, no order of a set. Who is
alive follows from recorded numbers alone; diversity and temperature flavour selection and
nothing else, so a last-bit difference of an ``exp`` cannot make two workers' populations
diverge. The arrays are updated in place, here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections import deque
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory.codec import Configured, Event, Failed, Remembered
from memory.policies import RECENT, Features, Floats, Integers, Signal, View
from memory.population.elites import admit
from memory.randomness import KeyedRandom
from memory.settings import Settings

_T = TypeVar("_T", bound=np.generic)

#: Places that a population begins with; it grows to its capacity as it fills.
FIRST_PLACES = 256


class Population:
    """The fold of a journal's entries under one configuration.

    Args:
        settings: The configuration.
        random: Random numbers of the population; sampled diversity is keyed by the
            sequence number, so that all workers measure the same.
        scope: Key of the population; entries of other scopes only count.
    """

    def __init__(
        self, settings: Settings, random: KeyedRandom, scope: str = ""
    ) -> None:
        self._settings = settings
        self._scope = scope
        self._random = random
        # One place more than the capacity, for the newcomer before somebody leaves.
        places = min(settings.capacity + 1, FIRST_PLACES)
        self._ids: list[str] = []
        self._features: list[Features] = []
        self._scores = np.zeros(0)
        self._weights = np.zeros(0)
        self._seqs = np.zeros(0, dtype=np.int64)
        self._elites = np.zeros(0, dtype=bool)
        self._allocate(places)
        self._tracker = settings.diversity.tracker()
        self._tracked: list[Features] = []
        self._moved: dict[int, None] = {}
        self._decisions: dict[str, int] = {}
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._state = settings.temperature.initial
        self._scaled: Floats | None = None
        self._diversity: float | None = None
        self._changed = 0
        self.seq = 0
        self.step = 0
        self.n_failed = 0
        self.best_id: str | None = None
        self.best_score = -math.inf

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the living, in the order of ``view``."""
        return tuple(self._ids)

    def id_at(self, index: int) -> str:
        """Returns the id at ``index`` of ``view``."""
        return self._ids[index]

    @property
    def scores(self) -> Floats:
        """``(n,)`` raw scores of the living, read-only."""
        return self._seen.scores[: len(self._ids)]

    @property
    def state(self) -> float:
        """State of the temperature controller before the current step."""
        return self._state

    def next_decision(self, stream: str) -> int:
        """Returns one more than the last remembered decision of ``stream``."""
        return self._decisions.get(stream, 0)

    def apply(self, seq: int, event: Event) -> None:
        """Folds one entry in.

        Raises:
            ValueError: ``seq`` is not the next one.
        """
        if seq != self.seq + 1:
            raise ValueError(f"seq must be {self.seq + 1}, the next one, got {seq}")
        if event.scope == self._scope and not isinstance(event, Configured):
            if isinstance(event, Remembered):
                self._add(seq, event)
            else:
                self.n_failed += 1
            self._count_decision(event)
        self.seq = seq

    def view(self) -> View:
        """Returns the living with scaled scores, in slot order.

        Raises:
            ValueError: Nobody is alive.
        """
        n = len(self._ids)
        if n == 0:
            raise ValueError("the population must not be empty, got 0 living solutions")
        if self._scaled is None:
            self._scaled = _read_only(self._settings.scaling.scale(self.scores))
        _, weights, elites, seqs, _ = self._seen
        return View(
            self._scaled, weights[:n], elites[:n], seqs[:n], tuple(self._recent)
        )

    def signal(self, *, measure: bool = True) -> Signal:
        """Returns what a controller may look at.

        Args:
            measure: Whether to measure the diversity even if the controller reads none.
        """
        measured = measure or self._settings.temperature.reads_diversity
        diversity = self.diversity() if measured else math.nan
        return Signal(self.step, diversity, self.view().scores)

    def diversity(self) -> float:
        """Returns the diversity of the living as the metric measures it."""
        if self._diversity is None:
            self._track()
            # Keyed by the entry that made the living what they are, not by the last one:
            # a failed attempt in between changes nothing.
            rng = self._random.generator("diversity", self._changed)
            self._diversity = float(self._tracker.measure(rng))
        return self._diversity

    def digest(self) -> str:
        """Returns a hash of who is alive, of the elites and of the controller."""
        n = len(self._ids)
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps(self._ids).encode())
        for array in self._seen[:4]:
            digest.update(array[:n].tobytes())
        digest.update(np.array(self._recent).tobytes())
        digest.update(
            struct.pack("<qqqd", self.seq, self.step, self.n_failed, self._state)
        )
        return digest.hexdigest()

    def _next_state(self) -> float:
        """Returns the controller's state after the step that ends now."""
        temperature = self._settings.temperature
        if not temperature.stateful or not self._ids:
            return self._state
        signal = self.signal(measure=False)
        return temperature.control(self._state, signal).temperature

    def _count_decision(self, event: Remembered | Failed) -> None:
        draw = event.draw
        if draw is not None and draw.decision >= self.next_decision(draw.stream):
            self._decisions[draw.stream] = draw.decision + 1

    def _add(self, seq: int, event: Remembered) -> None:
        """Adds a solution; whatever a policy raises, nothing has changed."""
        next_state = self._next_state()
        n = len(self._ids)
        self._make_room(n)
        # What lies behind the living is nobody's until the end.
        self._scores[n] = event.score
        self._weights[n] = event.weight
        self._seqs[n] = seq
        self._elites[n] = False
        scores, seqs = self._scores[: n + 1], self._seqs[: n + 1]
        victim = None
        if n == self._settings.capacity:
            victim = self._victim(scores, seqs)
        self._recent.append(event.score)
        if event.score > self.best_score:
            self.best_id, self.best_score = event.id, event.score
        elites = self._elites[: n + 1]
        admit(n, scores, seqs, elites, self._settings.elite_size)
        if victim == n:
            return
        self._ids.append(event.id)
        self._features.append(event.features)
        self._moved[n] = None
        if victim is not None:
            self._remove(victim)
        self._state = next_state
        self._changed = seq
        self.step += 1
        self._scaled = None
        self._diversity = None

    def _victim(self, scores: Floats, seqs: Integers) -> int:
        """Returns who leaves, as the survival rule says, which may be somebody else's."""
        rule = self._settings.survival
        victim = rule.victim(scores, seqs)
        plain = isinstance(victim, int | np.integer) and not isinstance(victim, bool)
        if not plain or not 0 <= victim < scores.size:
            raise ValueError(
                f"{type(rule).__name__} must name who leaves by an index in "
                f"[0, {scores.size}), got {victim!r}"
            )
        return int(victim)

    def _make_room(self, n: int) -> None:
        """Doubles the arrays where ``n`` solutions fill them."""
        places = self._scores.size
        if n < places:
            return
        self._allocate(min(2 * places, self._settings.capacity + 1))

    def _allocate(self, places: int) -> None:
        """Gives the arrays ``places`` places, and keeps what they hold."""
        # New arrays, not longer ones: somebody may still look at the old.
        more = places - self._scores.size
        self._scores = np.pad(self._scores, (0, more))
        self._weights = np.pad(self._weights, (0, more))
        self._seqs = np.pad(self._seqs, (0, more))
        self._elites = np.pad(self._elites, (0, more))
        # What others see of these arrays they cannot change.
        self._seen = View(
            _read_only(self._scores),
            _read_only(self._weights),
            _read_only(self._elites),
            _read_only(self._seqs),
        )

    def _remove(self, index: int) -> None:
        """Empties slot ``index`` by moving the last one into it."""
        last = len(self._ids) - 1
        for array in (self._scores, self._weights, self._seqs, self._elites):
            array[index] = array[last]
        self._ids[index] = self._ids[last]
        self._features[index] = self._features[last]
        self._ids.pop()
        self._features.pop()
        self._moved[index] = None

    def _track(self) -> None:
        """Tells the tracker who came and went since it was last asked.

        A tracker measures equal slots equally whatever their history, so it needs to hear
        of a slot only when the diversity is wanted.
        """
        n, tracked = len(self._features), len(self._tracked)
        for slot in sorted(self._moved):
            if slot >= n:
                continue
            features = self._features[slot]
            if slot >= tracked:
                self._tracker.append(features)
                self._tracked.append(features)
                tracked += 1
            elif self._tracked[slot] is not features:
                self._tracker.replace(slot, features)
                self._tracked[slot] = features
        while tracked > n:
            tracked -= 1
            self._tracker.remove(tracked)
            self._tracked.pop()
        self._moved.clear()


def _read_only(array: NDArray[_T]) -> NDArray[_T]:
    view = array.view()
    view.flags.writeable = False
    return view
