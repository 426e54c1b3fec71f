"""The living of one island, as arrays that are updated in place.

Slots are contiguous and in no order: whoever leaves is replaced by the last one. A
newcomer is *staged* behind the living first, where it is nobody, so that whatever a
policy raises while it decides who leaves, nothing has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory.policies import Candidates, Features, Flags, Floats, Signal, View
from memory.population.elites import admit
from memory.randomness import KeyedRandom
from memory.settings import Settings

_T = TypeVar("_T", bound=np.generic)

#: Places that an island begins with; they double as it fills.
FIRST_PLACES = 256

_ARRAYS: dict[str, type] = {
    "scores": np.float64,
    "weights": np.float64,
    "seqs": np.int64,
    "elites": np.bool_,
    "cells": np.int64,
    "champions": np.bool_,
    "copies": np.bool_,
}
#: What decides about the future of an island, and so goes into a digest.
_HASHED = ("scores", "weights", "seqs", "elites", "cells", "champions", "copies")


class Member(NamedTuple):
    """One of the living, or who would be.

    Attributes:
        id: Id of the solution.
        score: The score it is ranked by.
        weight: Weight as the user gave it.
        features: What the diversity metric keeps of it.
        text: Key of its normalised text; empty where duplicates do not matter.
        cell: Cell of the grid that it lies in; zero where there is none.
        copy: Whether it came by migration.
    """

    id: str
    score: float
    weight: float
    features: Features
    text: str = ""
    cell: int = 0
    copy: bool = False


class Deme:
    """One island.

    Args:
        settings: The configuration.
        random: Random numbers of the population; sampled diversity is keyed by the entry
            that last changed the island, so that all workers measure the same.
        island: Its index.
        capacity: Largest number of its living.
        elite_size: Largest number of its elites.
    """

    def __init__(
        self,
        settings: Settings,
        random: KeyedRandom,
        island: int,
        capacity: int,
        elite_size: int,
    ) -> None:
        self._settings = settings
        self._random = random
        self._island = island
        self._elite_size = elite_size
        self.capacity = capacity
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}
        self.features: list[Features] = []
        self.texts: list[str] = []
        self._n_of_text: dict[str, int] = {}
        self._arrays: dict[str, NDArray[Any]] = {
            name: np.zeros(0, dtype=kind) for name, kind in _ARRAYS.items()
        }
        self._allocate(FIRST_PLACES)
        self._staged: Member | None = None
        self._tracker = settings.diversity.tracker()
        self._tracked: list[Features] = []
        self._moved: dict[int, None] = {}
        self._scaled: Floats | None = None
        self._adjusted: Floats | None = None
        self._diversity: float | None = None
        #: State of the temperature controller before the current step.
        self.state = settings.temperature.initial
        #: The entry that last changed the living, and how many have.
        self.changed = 0
        self.step = 0

    def __len__(self) -> int:
        return len(self.ids)

    def has_text(self, text: str) -> bool:
        """Returns whether one of the living has the normalised text of this key."""
        return text in self._n_of_text

    def array(self, name: str) -> NDArray[Any]:
        """Returns the ``(n,)`` array ``name`` of the living, read-only."""
        return self._seen[name][: len(self.ids)]

    def member(self, slot: int) -> Member:
        """Returns who is in ``slot``."""
        arrays = self._arrays
        return Member(
            self.ids[slot],
            float(arrays["scores"][slot]),
            float(arrays["weights"][slot]),
            self.features[slot],
            self.texts[slot],
            int(arrays["cells"][slot]),
            bool(arrays["copies"][slot]),
        )

    def features_at(self, slot: int) -> Features:
        """Returns the features in ``slot``, or of the staged newcomer behind them."""
        staged = self._staged
        return (
            staged.features if staged and slot == len(self.ids) else self.features[slot]
        )

    def ranked(self) -> list[int]:
        """Returns all slots, the best first, the oldest first on ties."""
        order = np.lexsort((self.array("seqs"), -self.array("scores")))
        return [int(slot) for slot in order]

    def view(self, recent: tuple[float, ...]) -> View:
        """Returns the living with scaled scores and adjusted weights, in slot order.

        Raises:
            ValueError: Nobody is alive.
        """
        n = len(self.ids)
        if n == 0:
            raise ValueError("the population must not be empty, got 0 living solutions")
        seen = self._seen
        if self._scaled is None:
            self._scaled = read_only(self._settings.scaling.scale(seen["scores"][:n]))
        if self._adjusted is None:
            self._adjusted = read_only(
                self._settings.weights.adjusted(seen["weights"][:n])
            )
        gridded = bool(self._settings.axes)
        return View(
            self._scaled,
            self._adjusted,
            seen["elites"][:n],
            seen["seqs"][:n],
            recent,
            seen["cells"][:n] if gridded else None,
            seen["champions"][:n] if gridded else None,
        )

    def diversity(self) -> float:
        """Returns the diversity of the living as the metric measures it."""
        if self._diversity is None:
            # Keyed by the entry that made the living what they are, not by the last one:
            # a failed attempt in between changes nothing.
            rng = self._random.generator("diversity", self.changed, self._island)
            try:
                self._track()
                self._diversity = float(self._tracker.measure(rng))
            except BaseException:
                # Half told is wrong for ever: it is told all again when it is asked next.
                self._forget_tracked()
                raise
        return self._diversity

    def stage(self, member: Member, order: int) -> None:
        """Puts ``member`` behind the living, where it is nobody yet."""
        n = len(self.ids)
        if n == self._arrays["scores"].size:
            self._allocate(2 * n)
        arrays = self._arrays
        arrays["scores"][n] = member.score
        arrays["weights"][n] = member.weight
        arrays["seqs"][n] = order
        arrays["elites"][n] = False
        arrays["cells"][n] = member.cell
        arrays["champions"][n] = False
        arrays["copies"][n] = member.copy
        self._staged = member

    def candidates(self) -> Candidates:
        """Returns the living and the newcomer, if one is staged, of whom one must leave."""
        staged = self._staged
        n = len(self.ids) + (staged is not None)
        seen = self._seen
        gridded = bool(self._settings.axes)
        return Candidates(
            seen["scores"][:n],
            seen["seqs"][:n],
            seen["cells"][:n] if gridded else None,
            self._champions_then() if gridded else None,
            self._distances,
        )

    def touch(self, seq: int) -> None:
        """Ends a step of the controller, once per entry, before the living change."""
        if self.changed != seq:
            self.state = self._next_state()
            self.changed = seq
            self.step += 1
        self._scaled = self._adjusted = self._diversity = None

    def enter(self) -> None:
        """Makes the staged newcomer one of the living."""
        member = self._staged
        if member is None:
            return
        n = len(self.ids)
        arrays = self._arrays
        if self._settings.axes:
            arrays["champions"][: n + 1] = self._champions_then()
        if not (member.copy and self._settings.migration_relays):
            admit(
                n,
                arrays["scores"][: n + 1],
                arrays["seqs"][: n + 1],
                arrays["elites"][: n + 1],
                self._elite_size,
            )
        self.slots[member.id] = n
        self.ids.append(member.id)
        self.features.append(member.features)
        self.texts.append(member.text)
        if member.text:
            self._n_of_text[member.text] = self._n_of_text.get(member.text, 0) + 1
        self._moved[n] = None
        self._staged = None

    def dismiss(self) -> None:
        """Forgets the staged newcomer."""
        self._staged = None

    def remove(self, slot: int) -> str:
        """Empties ``slot`` by moving the last one into it; returns who left."""
        last = len(self.ids) - 1
        gone, text = self.ids[slot], self.texts[slot]
        cell = int(self._arrays["cells"][slot])
        was_champion = bool(self._arrays["champions"][slot])
        for array in self._arrays.values():
            array[slot] = array[last]
        self.slots[self.ids[last]] = slot
        del self.slots[gone]
        for values in (self.ids, self.features, self.texts):
            values[slot] = values[last]
            values.pop()
        if text:
            self._n_of_text[text] -= 1
            if self._n_of_text[text] == 0:
                del self._n_of_text[text]
        self._moved[slot] = None
        if was_champion:
            self._crown(cell)
        return gone

    def rescore(self, slot: int, score: float) -> None:
        """Gives ``slot`` another score, and ranks elites and champions anew."""
        arrays, n = self._arrays, len(self.ids)
        arrays["scores"][slot] = score
        if self._settings.axes:
            self._crown(int(arrays["cells"][slot]))
        eligible = self.ranked()
        if self._settings.migration_relays:
            eligible = [slot for slot in eligible if not arrays["copies"][slot]]
        arrays["elites"][:n] = False
        arrays["elites"][eligible[: self._elite_size]] = True

    def update(self, digest: hashlib.blake2b) -> None:
        """Adds to ``digest`` who is alive, the elites, the cells and the controller."""
        digest.update(json.dumps(self.ids).encode())
        for name in _HASHED:
            digest.update(self.array(name).tobytes())
        digest.update(np.array([self.state]).tobytes())
        digest.update(np.array([self.changed, self.step]).tobytes())

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        arrays = {name: self.array(name).tolist() for name in _ARRAYS}
        return {
            "ids": self.ids,
            "features": self.features,
            "texts": self.texts,
            "state": self.state,
            "changed": self.changed,
            "step": self.step,
            **arrays,
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned; to be called on an empty island."""
        self.ids = list(document["ids"])
        self.slots = {id_: slot for slot, id_ in enumerate(self.ids)}
        self.features = list(document["features"])
        self.texts = list(document["texts"])
        self._n_of_text = dict(Counter(text for text in self.texts if text))
        n = len(self.ids)
        self._allocate(max(FIRST_PLACES, n))
        for name in _ARRAYS:
            self._arrays[name][:n] = document[name]
        self.state = document["state"]
        self.changed = document["changed"]
        self.step = document["step"]
        self._moved = dict.fromkeys(range(n))

    def _distances(self, index: int) -> Floats:
        """Returns the distances of the living, and the newcomer, to one of them."""
        staged = self._staged
        features = [*self.features, staged.features] if staged else self.features
        distance = self._settings.diversity.distance
        return np.array([distance(features[index], other) for other in features])

    def _next_state(self) -> float:
        """Returns the controller's state after the step that ends now."""
        temperature = self._settings.temperature
        if not temperature.stateful or not self.ids:
            return self.state
        diversity = self.diversity() if temperature.reads_diversity else np.nan
        signal = Signal(self.step, diversity, self.view(()).scores)
        return float(temperature.control(self.state, signal).temperature)

    def _champions_then(self) -> Flags:
        """Returns the champions if the newcomer, if one is staged, entered."""
        n, arrays = len(self.ids), self._arrays
        if self._staged is None:
            return arrays["champions"][:n]
        champions = arrays["champions"][: n + 1].copy()
        cells, scores = arrays["cells"], arrays["scores"]
        rivals = np.flatnonzero(champions & (cells[: n + 1] == cells[n]))
        if rivals.size == 0 or scores[n] > scores[rivals[0]]:
            champions[rivals] = False
            champions[n] = True
        return champions

    def _crown(self, cell: int) -> None:
        """Makes the best of ``cell``, the oldest on ties, its only champion."""
        n, arrays = len(self.ids), self._arrays
        members = np.flatnonzero(arrays["cells"][:n] == cell)
        arrays["champions"][members] = False
        if members.size:
            scores = arrays["scores"][members]
            best = members[scores == scores.max()]
            arrays["champions"][best[arrays["seqs"][best].argmin()]] = True

    def _allocate(self, places: int) -> None:
        """Gives the arrays ``places`` places, and keeps what they hold."""
        # New arrays, not longer ones: somebody may still look at the old.
        for name, array in self._arrays.items():
            if array.size < places:
                self._arrays[name] = np.pad(array, (0, places - array.size))
        # What others see of these arrays they cannot change.
        self._seen = {name: read_only(array) for name, array in self._arrays.items()}

    def _forget_tracked(self) -> None:
        self._tracker = self._settings.diversity.tracker()
        self._tracked = []
        self._moved = dict.fromkeys(range(len(self.features)))

    def _track(self) -> None:
        """Tells the tracker who came and went since it was last asked.

        A tracker measures equal slots equally whatever their history, so it needs to hear
        of a slot only when the diversity is wanted.
        """
        n, tracked = len(self.features), len(self._tracked)
        for slot in sorted(self._moved):
            if slot >= n:
                continue
            features = self.features[slot]
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


def shares(total: int, islands: int) -> list[int]:
    """Returns ``total`` shared out among islands, the first ones getting one more."""
    plain, more = divmod(total, islands)
    return [plain + (island < more) for island in range(islands)]


def read_only(array: NDArray[_T]) -> NDArray[_T]:
    """Returns a view of ``array`` that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def joined(arrays: list[NDArray[_T]]) -> NDArray[_T]:
    """Returns arrays of several islands as one, in the order of the islands."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
