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
)
from memory.graded.groups import Groups
from memory.graded.messages import Role
from memory.graded.settings import GradedSettings


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
        self.n_added = 0
        self.n_compressions = 0
        self.n_void = 0
        self.n_failures = 0
        #: Failures of compressors since the last summary.
        self.failures = 0
        self.last_failure = ""
        self._failed_at = 0

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
        """Number of messages and summaries that were ever in a tier."""
        return self.n_added + self.n_compressions

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
    def messages_to_wait(self) -> int:
        """Messages that must be added before the next attempt to compress."""
        wait = self._settings.backoff(self.failures)
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
            if self.groups.is_open(id_):
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
            case Committed(_, _, ids):
                self._commit(ids)
            case Removed(_, key, reason, ids):
                for id_ in ids:
                    self._remove(id_, Amendment(seq, "removed", key, reason))
            case codec.Retracted(_, id_, key, reason):
                self._retract(id_, Amendment(seq, "retracted", key, reason))
            case codec.Superseded(_, id_, key, reason, by):
                amendment = Amendment(seq, "superseded", key, reason, None, by)
                self._retract(id_, amendment)
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
        self.groups.add(event.id, event.calls, event.answers, event.progress)
        if event.role is Role.SYSTEM:
            self._system[event.id] = None
        elif event.role is Role.USER and not event.answers and not event.progress:
            # Some interfaces send the outputs of tools in the user's name.
            self._users[event.id] = None
        self.n_added += 1
        self.archive.born(event.id, event.size, event.time)

    def _compress(self, seq: int, event: Compressed) -> None:
        self.archive.born(event.id, event.size, event.time)
        if self.objection(event.ids) is not None:
            self.n_void += 1
            self.archive.died(event.id, seq)
            return
        for id_ in event.ids:
            self._leave(id_, seq)
        place = Place(self.order, Role.ASSISTANT, event.tokens)
        self._enter(Tier.MEDIUM, event.id, place)
        self.n_compressions += 1
        self.failures = 0

    def _commit(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            for member in self.groups.members(id_):
                tier = self.tier(member)
                if tier in (Tier.SHORT, Tier.MEDIUM):
                    self._enter(Tier.LONG, member, self._exit(tier, member))

    def _remove(self, id: str, amendment: Amendment) -> None:
        if id not in self:
            return
        for member in self.groups.members(id):
            self.archive.amend(member, amendment)
            self._leave(member, amendment.seq)

    def _retract(self, id: str, amendment: Amendment) -> None:
        """Lays a tombstone; what belongs to the message is removed along with it."""
        reason = f"belongs to {id}, which was {amendment.kind}: {amendment.reason}"
        removed = Amendment(amendment.seq, "removed", amendment.key, reason)
        here = id in self
        for member in self.groups.members(id):
            self.archive.amend(member, amendment if member == id else removed)
            if here:
                self._leave(member, amendment.seq)

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
        # Whoever takes one out takes out all that belong to it.
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
