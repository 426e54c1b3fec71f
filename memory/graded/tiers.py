"""The tiers: what is in short, medium and long-term memory, as a fold over entries.

Each message is in one tier or in none. Adding one costs the same whatever there is.
Nothing here reads a text: the writer has counted and classified each message.

The fold decides, not the writer, whether a compression counts: one whose messages have
changed since its compressor began is void and changes nothing, in every worker alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from memory import codec
from memory.archive import Amendment, Archive
from memory.graded.events import (
    GRADED,
    Added,
    Cleared,
    Committed,
    Compressed,
    Event,
    Removed,
    Tasked,
    Uncompressed,
    Voided,
)
from memory.graded.groups import Groups
from memory.graded.messages import Role
from memory.graded.settings import GradedSettings

#: Messages after which a call without an output is taken to have been given up.
ABANDONED_AFTER_MESSAGES = 64
#: Events of which it is known what they did, for those who wrote them.
_EFFECTS = 64


class Tier(StrEnum):
    """Where a message is."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


class Place(NamedTuple):
    """What the fold knows of a message in a tier.

    Attributes:
        order: How many messages and summaries of this memory came before it.
        role: Who speaks.
        tokens: What it takes up.
    """

    order: int
    role: Role
    tokens: int


class Tiers:
    """The fold of a journal's entries under one configuration.

    Args:
        settings: The configuration.
        scope: Key of the memory; entries of other scopes only count.
    """

    def __init__(self, settings: GradedSettings, scope: str = "") -> None:
        self._settings = settings
        self._scope = scope
        self._places: dict[Tier, dict[str, Place]] = {tier: {} for tier in Tier}
        self._tokens = dict.fromkeys(Tier, 0)
        self._system: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._task: str | None = None
        self._sorted: tuple[str, ...] | None = None
        self.groups = Groups()
        self.archive = Archive(settings.retention)
        self.seq = 0
        self.purged = False
        self.n_added = 0
        self.n_compressions = 0
        self.n_void = 0
        self.n_moved = 0
        self.n_failures = 0
        #: Failures of compressors since the last summary.
        self.failures = 0
        #: Summaries that came too late since the last one that did not.
        self.voids = 0
        self.last_failure = ""
        self._failed_at = 0
        #: What the last keyed events of here took out or moved, by their keys.
        self.effects: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return sum([len(places) for places in self._places.values()])

    def __contains__(self, id: object) -> bool:
        return any(id in places for places in self._places.values())

    def tier(self, id: str) -> Tier | None:
        """Returns the tier that ``id`` is in, or ``None``."""
        return next(
            (tier for tier, places in self._places.items() if id in places), None
        )

    def place(self, id: str) -> Place:
        """Returns what is known of ``id``.

        Raises:
            KeyError: It is in no tier.
        """
        for places in self._places.values():
            if id in places:
                return places[id]
        raise KeyError(f"id must name a message in a tier, got {id!r}")

    def ids(self, tier: Tier) -> Sequence[str]:
        """Returns the ids in a tier, the oldest message first."""
        places = self._places[tier]
        if tier is not Tier.LONG:
            return tuple(places)
        # What was committed late may be old.
        if self._sorted is None:
            self._sorted = tuple(sorted(places, key=lambda id_: places[id_].order))
        return self._sorted

    def tokens(self, tier: Tier) -> int:
        """Returns the tokens of a tier."""
        return self._tokens[tier]

    def size(self, tier: Tier) -> int:
        """Returns the number of messages in a tier."""
        return len(self._places[tier])

    @property
    def order(self) -> int:
        """Number of places that were ever given in a tier: the order of the next one."""
        return self.n_added + self.n_compressions + self.n_moved

    @property
    def system(self) -> tuple[str, ...]:
        """Ids of the system messages in any tier."""
        return tuple(self._system)

    @property
    def task(self) -> str | None:
        """Id of the current task: the one that was named, else the first of the user."""
        if self._task is not None:
            return self._task
        return next(iter(self._users), None)

    @property
    def question(self) -> str | None:
        """Id of the newest message of the user."""
        return next(reversed(self._users), None)

    def is_pinned(self, id: str) -> bool:
        """Returns whether ``id`` is never compressed and never left out of the context."""
        return id in self._system or id in (self.task, self.question)

    @property
    def pinned(self) -> tuple[str, ...]:
        """Ids of what is pinned: the system messages, the task, the newest question."""
        named = [id_ for id_ in (self.task, self.question) if id_ is not None]
        return tuple(dict.fromkeys([*self._system, *named]))

    def is_shown(self, id: str) -> bool:
        """Returns whether ``id`` may stand in a context.

        Outputs whose calls are gone do not, nor those whose place a later one has taken.
        """
        return self.is_pinned(id) or not (
            self.groups.is_orphan(id) or self.groups.is_outdated(id)
        )

    def is_open(self, id: str) -> bool:
        """Returns whether a call of the group of ``id`` still waits for its output.

        One that has waited while ``ABANDONED_AFTER_MESSAGES`` came, or until the user said
        something new, is taken to have been given up.
        """
        return any(self._waits(caller) for caller in self.groups.unanswered(id))

    @property
    def messages_to_wait(self) -> int:
        """Messages that must be added before the next attempt to compress.

        One summary that came too late is no reason to wait, several in a row are.
        """
        wait = self._settings.backoff(self.failures + max(0, self.voids - 1))
        return max(0, wait - (self.n_added - self._failed_at))

    def objection(self, ids: Sequence[str]) -> str | None:
        """Returns why ``ids`` cannot be compressed together, or ``None``."""
        wanted = dict.fromkeys(ids)
        if not ids or len(wanted) != len(ids):
            return f"ids must be different and not empty, got {list(ids)!r}"
        for id_ in ids:
            if self.tier(id_) not in (Tier.SHORT, Tier.MEDIUM):
                return (
                    f"ids must be in the short or medium-term tier, got {id_!r}, which "
                    f"is in {self.tier(id_) or 'none'}"
                )
            if self.is_pinned(id_):
                return f"ids must not be pinned, got {id_!r}"
            if self.is_open(id_):
                return f"ids must not belong to an unanswered tool call, got {id_!r}"
            if not all(member in wanted for member in self.groups.members(id_)):
                return f"ids must hold tool calls with their outputs, got {id_!r} alone"
        return None

    def apply(self, seq: int, row: bytes) -> None:
        """Folds the entry ``row`` in; one of another scope only counts.

        Raises:
            CorruptEntry: It is no row of ours.
            UnknownEvent: Its kind or version is not known.
            ValueError: ``seq`` is not the next one, or its message is there already.
        """
        if seq != self.seq + 1:
            raise ValueError(f"seq must be {self.seq + 1}, the next one, got {seq}")
        fields = codec.fields(row, seq)
        if fields[1] == self._scope:
            self._fold(seq, codec.read(fields, GRADED, seq))
        self.seq = seq
        if self.archive.accounts:
            self.archive.settle(seq)

    def digest(self) -> str:
        """Returns a hash of everything: equal in every worker that has read on."""
        text = json.dumps(self.document(), ensure_ascii=False)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        return {
            "seq": self.seq,
            "places": {
                str(tier): [[id_, *place] for id_, place in places.items()]
                for tier, places in self._places.items()
            },
            "system": list(self._system),
            "users": list(self._users),
            "task": self._task,
            "groups": self.groups.document(),
            "counts": [
                self.n_added,
                self.n_compressions,
                self.n_void,
                self.n_failures,
                self.failures,
                self._failed_at,
                self.n_moved,
                self.voids,
            ],
            "last_failure": self.last_failure,
            "archive": self.archive.document(),
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned; to be called on new tiers."""
        for tier in Tier:
            places = {
                id_: Place(order, Role(role), tokens)
                for id_, order, role, tokens in document["places"][tier]
            }
            self._places[tier] = places
            self._tokens[tier] = sum([place.tokens for place in places.values()])
        self._system = dict.fromkeys(document["system"])
        self._users = dict.fromkeys(document["users"])
        self._task = document["task"]
        self.groups.restore(document["groups"])
        (
            self.n_added,
            self.n_compressions,
            self.n_void,
            self.n_failures,
            self.failures,
            self._failed_at,
            self.n_moved,
            self.voids,
        ) = document["counts"]
        self.last_failure = document["last_failure"]
        self.archive.restore(document["archive"])
        self.seq = document["seq"]

    def _fold(self, seq: int, event: Event) -> None:
        match event:
            case Added():
                self._add(seq, event)
            case Compressed():
                self._compress(seq, event)
            case Uncompressed(_, _, reason):
                self.n_failures += 1
                self.failures += 1
                self.last_failure = reason
                self._failed_at = self.n_added
            case Voided():
                self._void()
            case Committed(_, key, ids):
                self._note(key, [one for id_ in ids for one in self._commit(id_)])
            case Removed(_, key, reason, ids):
                amendment = Amendment(seq, "removed", key, reason)
                gone = [one for id_ in ids for one in self._remove(id_, amendment)]
                self._note(key, gone)
            case codec.Retracted(_, id_, key, reason):
                self._retract(id_, Amendment(seq, "retracted", key, reason))
            case codec.Superseded(_, id_, key, reason, by):
                amendment = Amendment(seq, "superseded", key, reason, None, by)
                if not self._succeed(id_, by, amendment):
                    self._retract(id_, amendment, by)
            case Tasked(_, _, id_):
                if id_ in self:
                    self._task = id_
            case Cleared(_, _, everything):
                for tier in Tier:
                    if everything or tier is not Tier.LONG:
                        for id_ in tuple(self._places[tier]):
                            self._leave(id_, seq)
            case codec.Compacted(_, upto, key):
                self.archive.compact(seq, upto, key)

    def _add(self, seq: int, event: Added) -> None:
        if event.id in self:
            raise ValueError(f"id must be new, got {event.id!r} once more")
        place = Place(self.order, event.role, event.tokens)
        self._enter(Tier.SHORT, event.id, place)
        self.n_added += 1
        for id_ in self.groups.add(
            event.id, event.calls, event.answers, event.progress
        ):
            self._move_behind(id_)
        self._gather(event.id)
        if event.role is Role.SYSTEM:
            self._system[event.id] = None
        elif event.role is Role.USER and not event.answers and not event.progress:
            # Some interfaces send the outputs of tools in the user's name.
            self._users[event.id] = None
        self.archive.born(event.id, event.size, event.time)

    def _compress(self, seq: int, event: Compressed) -> None:
        self.archive.born(event.id, event.size, event.time)
        if self.objection(event.ids) is not None:
            self._void()
            self.archive.died(event.id, seq)
            return
        for id_ in event.ids:
            self._leave(id_, seq)
        place = Place(self.order, Role.ASSISTANT, event.tokens)
        self._enter(Tier.MEDIUM, event.id, place)
        self.n_compressions += 1
        self.failures = 0
        self.voids = 0

    def _void(self) -> None:
        """Notes a summary that came too late."""
        self.n_void += 1
        self.voids += 1
        self._failed_at = self.n_added

    def _commit(self, id: str) -> list[str]:
        """Moves ``id`` and what belongs to it to the long term; returns what was moved."""
        moved: list[str] = []
        for member in self.groups.members(id):
            tier = self.tier(member)
            if tier in (Tier.SHORT, Tier.MEDIUM):
                self._enter(Tier.LONG, member, self._exit(tier, member))
                moved.append(member)
        return moved

    def _gather(self, id: str) -> None:
        """Moves all that ``id`` has joined to the long term, if a part of it is there."""
        # What belonged together before is in one tier: its neighbours stand for it.
        near = self.groups.neighbours(id)
        if any(self.tier(one) is Tier.LONG for one in (id, *near)):
            self._commit(id)

    def _move_behind(self, id: str) -> None:
        """Gives an output that came before its call the place behind it."""
        tier = self.tier(id)
        if tier is not None:
            place = self._exit(tier, id)._replace(order=self.order)
            self._enter(tier, id, place)
            self.n_moved += 1

    def _remove(self, id: str, amendment: Amendment) -> tuple[str, ...]:
        """Removes ``id`` and what belongs to it; returns what was removed."""
        if id not in self:
            return ()
        members = self.groups.members(id)
        for member in members:
            self.archive.amend(member, amendment)
            self._leave(member, amendment.seq)
        return members

    def _succeed(self, id: str, by: str | None, amendment: Amendment) -> bool:
        """Puts an output in the place of ``id``, another output of the same calls.

        Returns:
            Whether that could be done.
        """
        if by is None or by not in self or not self.groups.replace(id, by):
            return False
        self.archive.amend(id, amendment)
        self._leave(id, amendment.seq)
        self._gather(by)
        return True

    def _retract(self, id: str, amendment: Amendment, by: str | None = None) -> None:
        """Lays a tombstone; what belongs to the message is removed along with it.

        Args:
            id: The message.
            amendment: The tombstone.
            by: What takes its place, and stays whatever it belongs to.
        """
        reason = f"belongs to {id}, which was {amendment.kind}: {amendment.reason}"
        removed = Amendment(amendment.seq, "removed", amendment.key, reason)
        here = id in self
        for member in self.groups.members(id):
            if member == by:
                continue
            self.archive.amend(member, amendment if member == id else removed)
            if here:
                self._leave(member, amendment.seq)

    def _waits(self, caller: str) -> bool:
        """Returns whether the outputs of ``caller`` may still be expected."""
        order = self.place(caller).order
        if self.order - 1 - order >= ABANDONED_AFTER_MESSAGES:
            return False
        question = self.question
        return question is None or self.place(question).order <= order

    def _note(self, key: str, ids: Sequence[str]) -> None:
        self.effects[key] = tuple(dict.fromkeys(ids))
        while len(self.effects) > _EFFECTS:
            del self.effects[next(iter(self.effects))]

    def _leave(self, id: str, seq: int) -> None:
        """Takes ``id`` out of its tier for good, if it is still in one."""
        tier = self.tier(id)
        if tier is None:
            return
        self._exit(tier, id)
        self._system.pop(id, None)
        self._users.pop(id, None)
        if self._task == id:
            self._task = None
        self.groups.drop(id)
        self.archive.died(id, seq)

    def _enter(self, tier: Tier, id: str, place: Place) -> None:
        self._places[tier][id] = place
        self._tokens[tier] += place.tokens
        if tier is Tier.LONG:
            self._sorted = None

    def _exit(self, tier: Tier, id: str) -> Place:
        place = self._places[tier].pop(id)
        self._tokens[tier] -= place.tokens
        if tier is Tier.LONG:
            self._sorted = None
        return place
