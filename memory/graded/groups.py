"""Tool calls and their outputs: what belongs together is moved and dropped together.

A call's id need not be unique: an output answers the latest call of its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class _Group:
    """Messages that belong together, their calls, and which of these are unanswered."""

    members: list[str] = field(default_factory=list)
    calls: dict[str, None] = field(default_factory=dict)
    unanswered: dict[str, None] = field(default_factory=dict)


class Groups:
    """The groups of the messages in the tiers; a message without calls has none."""

    def __init__(self) -> None:
        self._of: dict[str, _Group] = {}
        self._callers: dict[str, _Group] = {}
        self._orphans: dict[str, None] = {}

    def members(self, id: str) -> tuple[str, ...]:
        """Returns the ids of all that belong to ``id``, itself included, in order."""
        group = self._of.get(id)
        return (id,) if group is None else tuple(group.members)

    def is_open(self, id: str) -> bool:
        """Returns whether a call of the group of ``id`` has no final output yet."""
        group = self._of.get(id)
        return group is not None and bool(group.unanswered)

    def is_orphan(self, id: str) -> bool:
        """Returns whether ``id`` answers nothing but calls that are not there."""
        return id in self._orphans

    @property
    def n_open(self) -> int:
        """Number of calls without a final output."""
        distinct = {id(group): group for group in self._of.values()}
        return sum([len(group.unanswered) for group in distinct.values()])

    @property
    def orphans(self) -> tuple[str, ...]:
        """Ids of the outputs whose calls are not there."""
        return tuple(self._orphans)

    def add(
        self,
        id: str,
        calls: Sequence[str],
        answers: Sequence[str],
        progress: Sequence[str],
    ) -> None:
        """Notes a message.

        Args:
            id: Its id.
            calls: Ids of the calls that it makes.
            answers: Ids of the calls that it answers for good.
            progress: Ids of the calls that it answers for now.
        """
        joined = [
            self._callers[call]
            for call in (*answers, *progress)
            if call in self._callers
        ]
        if not calls and not joined:
            if answers or progress:
                self._orphans[id] = None
            return
        group = self._merged(joined)
        group.members.append(id)
        self._of[id] = group
        for call in answers:
            group.unanswered.pop(call, None)
        for call in calls:
            group.calls[call] = None
            group.unanswered[call] = None
            self._callers[call] = group

    def drop(self, id: str) -> None:
        """Forgets ``id`` and all that belong to it."""
        self._orphans.pop(id, None)
        group = self._of.get(id)
        if group is None:
            return
        for member in group.members:
            del self._of[member]
        for call in group.calls:
            if self._callers.get(call) is group:
                del self._callers[call]

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        distinct = {id(group): group for group in self._of.values()}
        return {
            "groups": [
                [
                    group.members,
                    list(group.calls),
                    list(group.unanswered),
                    [call for call in group.calls if self._callers.get(call) is group],
                ]
                for group in distinct.values()
            ],
            "orphans": list(self._orphans),
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned; to be called on new groups."""
        for members, calls, unanswered, latest in document["groups"]:
            group = _Group(
                list(members), dict.fromkeys(calls), dict.fromkeys(unanswered)
            )
            self._of.update(dict.fromkeys(members, group))
            self._callers.update(dict.fromkeys(latest, group))
        self._orphans = dict.fromkeys(document["orphans"])

    def _merged(self, groups: Sequence[_Group]) -> _Group:
        """Returns one group of several; a new one of none."""
        if not groups:
            return _Group()
        first = groups[0]
        for other in groups[1:]:
            if other is first:
                continue
            first.members += other.members
            first.calls |= other.calls
            first.unanswered |= other.unanswered
            self._of.update(dict.fromkeys(other.members, first))
            for call in other.calls:
                if self._callers.get(call) is other:
                    self._callers[call] = first
        return first
