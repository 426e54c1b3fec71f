"""The population: what is alive, as a fold over the entries of a journal.

The fold is deterministic: no clock, no global random number, no order of a set. Who is
alive follows from recorded numbers alone; diversity and temperature flavour selection and
nothing else, so a last-bit difference of an ``exp`` cannot make two workers' populations
diverge. Migration is part of the fold, so it is the same for every worker.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from memory import codec
from memory.archive import Amendment, Archive
from memory.codec import (
    Compacted,
    Configured,
    Event,
    Failed,
    Remembered,
    Repeated,
    Rescored,
    Retracted,
    Superseded,
)
from memory.grid import cell
from memory.policies import RECENT, Candidates, Floats, Integers, Signal, View
from memory.population.deme import Deme, Member, joined, read_only, shares
from memory.randomness import KeyedRandom
from memory.records import WHOLE, real
from memory.settings import Settings

#: A slot of an island.
Place = tuple[Deme, int]

#: How many of the last duplicates are named; all are counted.
DUPLICATES_NAMED = 1_000
#: Of how many of the last dead it is known where they lived, for children that come later.
HOMES_KEPT = 1_000


class Spread(NamedTuple):
    """Evaluations of one solution: number, mean, and sum of squared deviations."""

    n: int
    mean: float
    squares: float

    @classmethod
    def of(cls, scores: Iterable[float]) -> Spread:
        """Returns the spread of evaluations, at least one."""
        first, *others = scores
        spread = cls(1, first, 0.0)
        for score in others:
            spread = spread.with_(score)
        return spread

    def with_(self, score: float) -> Spread:
        """Returns the spread after one more evaluation (Welford 1962)."""
        n, deviation = self.n + 1, score - self.mean
        # The mean stays finite even where the deviation, and the squares, do not.
        step = deviation / n if math.isfinite(deviation) else score / n - self.mean / n
        mean = self.mean + step
        return Spread(n, mean, self.squares + deviation * (score - mean))


def evaluated(first: float, amendments: Iterable[Amendment]) -> list[float]:
    """Returns the evaluations of a solution since it was last rescored.

    Args:
        first: The score that it came with.
        amendments: What was said of it later on, the oldest first.
    """
    scores = [first]
    for amendment in amendments:
        if amendment.score is not None:
            if amendment.kind == "rescored":
                scores.clear()
            scores.append(amendment.score)
    return scores


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
        n = settings.islands
        # One island has the whole capacity to itself, by either rule.
        self._quota = settings.quota or n == 1
        quotas = shares(settings.capacity, n) if self._quota else None
        self._demes = [
            Deme(
                settings,
                random,
                island,
                settings.capacity if quotas is None else quotas[island],
                elites,
            )
            for island, elites in enumerate(shares(settings.elite_size, n))
        ]
        self._random = random
        # On how many islands each of the living is.
        self._lives: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._decisions: dict[str, int] = {}
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._duplicates: deque[tuple[str, str]] = deque(maxlen=DUPLICATES_NAMED)
        self._order = 0
        self._n_assigned = 0
        self._generation = 0
        self._migrated_at = 0
        # Sizes as LoongFlow counts them: corrected at an island's own adds only, so that
        # those who left since are still in them.
        self._grown = [0] * n
        self._homes: dict[str, int] = {}
        self.archive = Archive(settings.retention)
        self.seq = 0
        self.purged = False
        self.n_remembered = 0
        self.n_failed = 0
        self.n_duplicates = 0
        self.n_migrations = 0
        self.best_id: str | None = None
        self.best_score = -math.inf

    def __len__(self) -> int:
        return sum(map(len, self._demes))

    def __contains__(self, id: str) -> bool:
        return id in self._lives

    @property
    def sizes(self) -> list[int]:
        """Numbers of the living on each island."""
        return [len(deme) for deme in self._demes]

    @property
    def duplicates(self) -> tuple[tuple[str, str], ...]:
        """The last duplicates that were not let in: their ids and those they repeat."""
        return tuple(self._duplicates)

    def ids(self, island: int = WHOLE) -> tuple[str, ...]:
        """Ids of the living in the order of ``view``; a copy has that of its original."""
        return tuple([id_ for deme in self._of(island) for id_ in deme.ids])

    def scores(self, island: int = WHOLE) -> Floats:
        """``(n,)`` ranked scores of the living, read-only."""
        return joined([deme.array("scores") for deme in self._of(island)])

    def orders(self, island: int = WHOLE) -> Integers:
        """``(n,)`` order of arrival of the living, read-only."""
        return joined([deme.array("seqs") for deme in self._of(island)])

    def drawn(self, index: int, island: int = WHOLE) -> tuple[str, bool]:
        """Returns who is at ``index`` of the view of ``island``, and whether as a copy."""
        for deme in self._of(island):
            if index < len(deme):
                return deme.ids[index], bool(deme.array("copies")[index])
            index -= len(deme)
        raise IndexError(f"index must be of the living, got one {index + 1} beyond")

    def home(self, id: str) -> int | None:
        """Returns the first island that ``id`` lives on, its own before those of copies."""
        homes = [
            (bool(deme.array("copies")[deme.slots[id]]), island)
            for island, deme in enumerate(self._demes)
            if id in deme.slots
        ]
        return min(homes)[1] if homes else None

    def last_home(self, id: str) -> int | None:
        """Returns ``home``, or where one of the ``HOMES_KEPT`` last dead lived."""
        home = self.home(id)
        return self._homes.get(id) if home is None else home

    def state(self, island: int = WHOLE) -> float:
        """State of the temperature controller before the current step.

        The population as a whole has none of its own where there are several islands.
        """
        demes = self._of(island)
        return demes[0].state if len(demes) == 1 else self._settings.temperature.initial

    def next_decision(self, stream: str) -> int:
        """Returns one more than the last remembered decision of ``stream``."""
        return self._decisions.get(stream, 0)

    def apply(self, seq: int, row: bytes) -> None:
        """Folds the entry ``row`` in; one of another scope only counts.

        Raises:
            CorruptEntry: It is no row of ours.
            UnknownEvent: Its kind or version is not known.
            ValueError: ``seq`` is not the next one.
        """
        fields = codec.fields(row, seq)
        if fields[1] == self._scope:
            self.fold(seq, codec.read(fields, codec.EVOLUTIONARY, seq))
        else:
            self._advance(seq)

    def fold(self, seq: int, event: Event) -> None:
        """Folds one event in.

        Raises:
            ValueError: ``seq`` is not the next one.
        """
        if seq == self.seq + 1 and event.scope == self._scope:
            if isinstance(event, Remembered):
                self._remember(seq, event)
                self._count_decision(event)
            elif isinstance(event, Failed):
                self.n_failed += 1
                self._count_decision(event)
                self._bury(seq, event)
            elif isinstance(event, Compacted):
                self.archive.compact(seq, event.upto, event.key)
            elif not isinstance(event, Configured):
                self._amend(seq, event)
        self._advance(seq)

    def view(self, island: int = WHOLE) -> View:
        """Returns the living with scaled scores, in slot order.

        Raises:
            ValueError: Nobody is alive there.
        """
        demes, recent = self._of(island), tuple(self._recent)
        if len(demes) == 1:
            return demes[0].view(recent)
        scores = self.scores(island)
        if scores.size == 0:
            raise ValueError("the population must not be empty, got 0 living solutions")

        def array(name: str) -> Any:  # noqa: ANN401
            return read_only(joined([deme.array(name) for deme in demes]))

        gridded = bool(self._settings.axes)
        return View(
            read_only(self._settings.scaling.scale(scores)),
            read_only(self._settings.weights.adjusted(array("weights"))),
            array("elites"),
            array("seqs"),
            recent,
            array("cells") if gridded else None,
            array("champions") if gridded else None,
        )

    def signal(self, island: int = WHOLE, *, measure: bool = True) -> Signal:
        """Returns what a controller may look at.

        Args:
            island: Whose living.
            measure: Whether to measure the diversity even if the controller reads none.
        """
        measured = measure or self._settings.temperature.reads_diversity
        diversity = self.diversity(island) if measured else math.nan
        step = sum(deme.step for deme in self._of(island))
        return Signal(step, diversity, self.view(island).scores)

    def diversity(self, island: int = WHOLE) -> float:
        """Returns the diversity of the living as the metric measures it."""
        demes = self._of(island)
        if len(demes) == 1:
            return demes[0].diversity()
        # Nobody keeps track of the islands together: counted anew.
        tracker = self._settings.diversity.tracker()
        for deme in demes:
            for features in deme.features:
                tracker.append(features)
        changed = max(deme.changed for deme in demes)
        return float(
            tracker.measure(
                self._random.generator("diversity", changed, self._settings.islands)
            )
        )

    def digest(self) -> str:
        """Returns a hash of all that decides who is alive, and who is drawn, from now on.

        What is known of the dead is not in it.
        """
        digest = hashlib.blake2b(digest_size=16)
        for deme in self._demes:
            deme.update(digest)
        digest.update(np.array(self._recent).tobytes())
        plain = [self.best_id, self._generation, self._migrated_at, self._grown]
        digest.update(json.dumps([*plain, self._decisions]).encode())
        digest.update(
            struct.pack(
                "<qqqqqqqd",
                self.seq,
                self._order,
                self.n_remembered,
                self.n_failed,
                self.n_duplicates,
                self.n_migrations,
                self._n_assigned,
                self.best_score,
            )
        )
        return digest.hexdigest()

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data, exact to the last bit."""
        return {
            "seq": self.seq,
            "demes": [deme.document() for deme in self._demes],
            "decisions": self._decisions,
            "recent": list(self._recent),
            "duplicates": [list(pair) for pair in self._duplicates],
            "counts": [
                self._order,
                self._n_assigned,
                self._generation,
                self._migrated_at,
                self.n_remembered,
                self.n_failed,
                self.n_duplicates,
                self.n_migrations,
            ],
            "grown": self._grown,
            "homes": self._homes,
            "best": None if self.best_id is None else [self.best_id, self.best_score],
            "archive": self.archive.document(),
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned; to be called on a new population."""
        for deme, one in zip(self._demes, document["demes"], strict=True):
            deme.restore(one)
            for id_, text in zip(deme.ids, deme.texts, strict=True):
                self._lives[id_] = self._lives.get(id_, 0) + 1
                if self._settings.deduplicate:
                    self._texts[text] = id_
        self._decisions = dict(document["decisions"])
        self._recent.extend(document["recent"])
        self._duplicates.extend((a, b) for a, b in document["duplicates"])
        (
            self._order,
            self._n_assigned,
            self._generation,
            self._migrated_at,
            self.n_remembered,
            self.n_failed,
            self.n_duplicates,
            self.n_migrations,
        ) = document["counts"]
        self._grown = list(document["grown"])
        self._homes = dict(document["homes"])
        if document["best"] is not None:
            self.best_id, self.best_score = document["best"]
        self.archive.restore(document["archive"])
        self.seq = document["seq"]

    def _of(self, island: int) -> list[Deme]:
        return self._demes if island == WHOLE else [self._demes[island]]

    def _advance(self, seq: int) -> None:
        if seq != self.seq + 1:
            raise ValueError(f"seq must be {self.seq + 1}, the next one, got {seq}")
        self.seq = seq
        if self.archive.accounts and self.best_id in self.archive.settle(seq):
            self.best_id, self.best_score = None, -math.inf
            self._find_best()

    def _count_decision(self, event: Remembered | Failed) -> None:
        draw = event.draw
        if draw is not None and draw.decision >= self.next_decision(draw.stream):
            self._decisions[draw.stream] = draw.decision + 1

    def _remember(self, seq: int, event: Remembered) -> None:
        twin = self._texts.get(event.text) if self._settings.deduplicate else None
        if twin is not None:
            self.n_duplicates += 1
            self._duplicates.append((event.id, twin))
            self._bury(seq, event)
            return
        island = self._island(event)
        member = Member(
            event.id,
            self._ranked(Spread(1, event.score, 0.0)),
            event.weight,
            event.features,
            event.text,
            cell(self._settings.axes, event.descriptors) if self._settings.axes else 0,
        )
        entered = self._enter(seq, island, member)
        self.n_remembered += 1
        self._generation = max(self._generation, event.generation)
        self._recent.append(event.score)
        if member.score > self.best_score:
            self.best_id, self.best_score = member.id, member.score
        self.archive.born(event.id, event.size, event.time)
        if not entered:
            self.archive.died(event.id, seq)
            self._leave(event.id, island)
        if self._migration_is_due():
            self._migrate(seq)
        self._grown[island] = len(self._demes[island])

    def _bury(self, seq: int, event: Remembered | Failed) -> None:
        """Keeps account of a record that was never alive."""
        self.archive.born(event.id, event.size, event.time)
        self.archive.died(event.id, seq)

    def _island(self, event: Remembered) -> int:
        n = self._settings.islands
        island = event.island
        if island is None:
            if n == 1:
                return 0
            rule = self._settings.assignment
            island = self._assigned(event.origin)
            counts = getattr(rule, "counts", None)
            self._n_assigned += counts is None or counts(event.origin, self.sizes)
        if island >= n:
            raise ValueError(f"island must lie in [0, {n}), got {island!r}")
        return island

    def _assigned(self, origin: int | None) -> int:
        """Returns the island that the rule says, which may be somebody else's."""
        rule, n = self._settings.assignment, self._settings.islands
        island = rule.island(origin, self.sizes, self._n_assigned)
        plain = isinstance(island, int | np.integer) and not isinstance(island, bool)
        if not plain or not 0 <= island < n:
            raise ValueError(
                f"{type(rule).__name__} must name an island in [0, {n}), got {island!r}"
            )
        return int(island)

    def _ranked(self, spread: Spread) -> float:
        """Returns the score that evaluations count as, by a rule of somebody's."""
        rule = self._settings.ranking
        return real(f"the score by {type(rule).__name__}", rule.score(*spread))

    def rehearse(self, event: Remembered) -> None:
        """Asks the rules of others what they will say to a newcomer, and checks it.

        What is in the journal is folded by everybody for ever, so a rule that answers
        nonsense is refused before the entry is written.

        Raises:
            ValueError: A rule gives what its contract does not allow.
        """
        settings = self._settings
        self._ranked(Spread(1, event.score, 0.0))
        if event.island is None and settings.islands > 1:
            self._assigned(event.origin)
        if type(settings.survival).__module__.startswith("memory."):
            return
        island = event.island or 0
        deme = self._demes[island]
        if self._quota and len(deme) == deme.capacity:
            score = self._ranked(Spread(1, event.score, 0.0))
            member = Member(event.id, score, event.weight, event.features)
            deme.stage(member, self._order + 1)
            try:
                self._victim(deme.candidates())
            finally:
                deme.dismiss()

    def _enter(
        self, seq: int, island: int, member: Member, *, overflow: bool = False
    ) -> bool:
        """Lets ``member`` in, and whoever must leave out; returns whether it stays.

        Args:
            seq: The entry that brings it.
            island: Where it goes.
            member: Who it is.
            overflow: Whether nobody leaves, whatever the capacity.
        """
        deme = self._demes[island]
        deme.stage(member, self._order + 1)
        newcomer = (deme, len(deme))
        victims: list[Place] = []
        if self._quota:
            if len(deme) == deme.capacity:
                victims = [(deme, self._victim(deme.candidates()))]
        elif not overflow:
            victims = self._victims_anywhere(newcomer)
        stays = newcomer not in victims
        leavers = [place for place in victims if place != newcomer]
        for other in [deme] * stays + [other for other, _ in leavers]:
            other.touch(seq)
        if not stays:
            deme.dismiss()
        else:
            deme.enter()
            self._order += 1
            self._grown[island] += 1
            self._lives[member.id] = self._lives.get(member.id, 0) + 1
            if self._settings.deduplicate:
                self._texts[member.text] = member.id
        # From the back, so that no slot moves before its turn.
        for other, slot in sorted(leavers, key=lambda place: -place[1]):
            self._remove(seq, other, slot)
        return stays

    def _remove(self, seq: int, deme: Deme, slot: int) -> None:
        """Takes out who is in ``slot``."""
        text = deme.texts[slot]
        self._release(seq, deme.remove(slot), text, self._demes.index(deme))

    def _release(self, seq: int, id: str, text: str, island: int) -> None:
        """Counts one life of ``id`` less; who has none left is dead."""
        self._lives[id] -= 1
        if self._lives[id] == 0:
            del self._lives[id]
            self._leave(id, island)
            if self._texts.get(text) == id:
                del self._texts[text]
            self.archive.died(id, seq)

    def _leave(self, id: str, island: int) -> None:
        """Notes where somebody lived who lives nowhere now."""
        if self._settings.islands > 1:
            self._homes[id] = island
            if len(self._homes) > HOMES_KEPT:
                del self._homes[next(iter(self._homes))]

    def _victim(self, candidates: Candidates) -> int:
        """Returns who leaves, as the survival rule says, which may be somebody else's."""
        rule = self._settings.survival
        victim = rule.victim(candidates)
        n = candidates.scores.size
        plain = isinstance(victim, int | np.integer) and not isinstance(victim, bool)
        if not plain or not 0 <= victim < n:
            raise ValueError(
                f"{type(rule).__name__} must name who leaves by an index in [0, {n}), "
                f"got {victim!r}"
            )
        return int(victim)

    def _victims_anywhere(self, newcomer: Place) -> list[Place]:
        """Returns who leaves so that all islands together keep to the capacity."""
        if len(self) < self._settings.capacity:
            return []
        places: list[Place] = [
            (deme, slot) for deme in self._demes for slot in range(len(deme))
        ]
        places.append(newcomer)
        victims = []
        while len(places) > self._settings.capacity:
            victim = self._victim(self._candidates(places))
            victims.append(places.pop(victim))
        return victims

    def _candidates(self, places: list[Place]) -> Candidates:
        by_deme = {id(deme): deme.candidates() for deme in self._demes}
        rows = [(by_deme[id(deme)], slot) for deme, slot in places]
        gridded = bool(self._settings.axes)
        members = [deme.features_at(slot) for deme, slot in places]
        distance = self._settings.diversity.distance
        return Candidates(
            np.array([one.scores[slot] for one, slot in rows]),
            np.array([one.seqs[slot] for one, slot in rows]),
            np.array([one.cells[slot] for one, slot in rows if one.cells is not None])
            if gridded
            else None,
            np.array(
                [one.champions[slot] for one, slot in rows if one.champions is not None]
            )
            if gridded
            else None,
            lambda index: np.array(
                [distance(members[index], other) for other in members]
            ),
        )

    def _amend(
        self, seq: int, event: Rescored | Repeated | Retracted | Superseded
    ) -> None:
        """Notes a later word, and lets the living feel it at once."""
        kind = type(event).__name__.lower()
        score = event.score if isinstance(event, Rescored | Repeated) else None
        by = event.by if isinstance(event, Superseded) else ""
        amended = Amendment(seq, kind, event.key, event.reason, score, by)
        if not self.archive.amend(event.id, amended):
            return
        if isinstance(event, Rescored):
            self._rank(seq, event.id, event.score)
        elif isinstance(event, Repeated):
            self._rank(seq, event.id, event.first)
        else:
            for deme, slot in self._places(event.id):
                deme.touch(seq)
                self._remove(seq, deme, slot)
            if event.id == self.best_id:
                self._find_best()

    def _places(self, id: str) -> list[Place]:
        """Returns where ``id`` lives: once on an island at most."""
        if id not in self._lives:
            return []
        return [(deme, deme.slots[id]) for deme in self._demes if id in deme.slots]

    def _rank(self, seq: int, id: str, first: float) -> None:
        """Gives ``id`` the score that its evaluations count as."""
        if self.archive.tombstone(id) is not None:
            return
        scores = evaluated(first, self.archive.amendments(id))
        score = self._ranked(Spread.of(scores))
        for deme, slot in self._places(id):
            deme.touch(seq)
            deme.rescore(slot, score)
        if score > self.best_score:
            self.best_id, self.best_score = id, score
        elif id == self.best_id:
            self.best_score = score
            self._find_best()

    def _find_best(self) -> None:
        """Names the best anew, after the one that was has changed or gone.

        The best of the living takes its place, the oldest on ties; one that is dead, kept
        and in use stays unless somebody alive is better.
        """
        id_, archive = self.best_id, self.archive
        if id_ is not None and (
            id_ in self._lives or archive.tombstone(id_) or archive.forgotten(id_)
        ):
            self.best_id, self.best_score = None, -math.inf
        firsts = [
            (-deme.array("scores")[slot], deme.array("seqs")[slot], deme.ids[slot])
            for deme in self._demes
            for slot in deme.ranked()[:1]
        ]
        if firsts and -min(firsts)[0] > self.best_score:
            low, _, self.best_id = min(firsts)
            self.best_score = float(-low)

    def _migration_is_due(self) -> bool:
        settings = self._settings
        if settings.migration_interval == 0 or settings.islands < 2:
            return False
        return self._clock() - self._migrated_at >= settings.migration_interval

    def _clock(self) -> int:
        """Returns what the interval of migration counts."""
        unit = self._settings.migration_unit
        if unit == "adds":
            return self.n_remembered
        return self._generation if unit == "generations" else max(self._grown)

    def _migrate(self, seq: int) -> None:
        """Copies the best of each island to others; no copy of a copy, no duplicate."""
        settings = self._settings
        relays, n = settings.migration_relays, settings.islands
        before = [[] if relays else self._migrants(island) for island in range(n)]
        held = [(island, member) for island in range(n) for member in before[island]]
        # Who is crowded out at home while copies are on their way is not dead yet.
        for _, member in held:
            self._lives[member.id] += 1
        for island in range(n):
            for member in self._migrants(island) if relays else before[island]:
                for target in settings.topology.targets(island, n):
                    deme = self._demes[target]
                    if member.id not in deme.slots and not deme.has_text(member.text):
                        copy = member._replace(copy=True)
                        self._enter(seq, target, copy, overflow=relays)
        for island, member in held:
            self._release(seq, member.id, member.text, island)
        self.n_migrations += 1
        self._migrated_at = self._clock()

    def _migrants(self, island: int) -> list[Member]:
        """Returns who leaves copies of itself elsewhere, the best first."""
        deme, relays = self._demes[island], self._settings.migration_relays
        if len(deme) < 2 and relays:
            return []
        number = max(1, int(len(deme) * self._settings.migration_rate))
        slots, copies = deme.ranked(), deme.array("copies")
        if relays:
            slots = slots[:number]
        return [deme.member(slot) for slot in slots if not copies[slot]][:number]
