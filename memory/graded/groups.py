"""Tool calls and their outputs: what belongs together is moved and dropped together.

A call's id need not be unique: an output answers the first call of its id that has no
final output yet, else the latest one. An output that comes before its call waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Ids of calls that are remembered when the calls have gone: their late outputs must not
#: be taken for outputs of later calls of the same id.
_GONE_CALLS = 1_000


@dataclass(slots=True)
class _Call:
    """The outputs of a call, in order, each with whether it is final; and the latest."""

    outputs: dict[str, bool] = field(default_factory=dict)
    latest: str | None = None

    @property
    def answered(self) -> bool:
        return self.latest is not None and self.outputs[self.latest]

    def put(self, output: str, final: bool) -> None:
        self.outputs[output] = final
        # A word on the way says nothing more once there is a final one.
        if final or not self.answered:
            self.latest = output

    def drop(self, output: str) -> None:
        del self.outputs[output]
        if self.latest == output:
            final = [one for one, is_final in self.outputs.items() if is_final]
            self.latest = next(reversed(final or [*self.outputs]), None)


class Groups:
    """The groups of the messages in the tiers; a message without calls has none."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, _Call]] = {}
        self._callers: dict[str, dict[str, None]] = {}
        self._open: dict[str, dict[str, None]] = {}
        self._claims: dict[str, dict[str, bool]] = {}
        self._links: dict[str, dict[tuple[str, str], None]] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        self._gone: dict[str, None] = {}
        self._places: dict[str, int] = {}
        self._n_placed = 0
        # Of each member of a group, the members; made when asked for.
        self._members: dict[str, tuple[str, ...]] = {}

    def members(self, id: str) -> tuple[str, ...]:
        """Returns the ids of all that belong to ``id``, itself included, in order."""
        if id not in self._calls and not self._links.get(id):
            return (id,)
        if id not in self._members:
            found = {id: None}
            waiting = [id]
            while waiting:
                for other in self.neighbours(waiting.pop()):
                    if other not in found:
                        found[other] = None
                        waiting.append(other)
            members = tuple(sorted(found, key=self._places.__getitem__))
            self._members.update(dict.fromkeys(members, members))
        return self._members[id]

    def neighbours(self, id: str) -> Iterator[str]:
        """Returns what ``id`` answers, and what answers it, without what comes of these."""
        for made in self._calls.get(id, {}).values():
            yield from made.outputs
        for caller, _ in self._links.get(id, ()):
            yield caller

    def unanswered(self, id: str) -> tuple[str, ...]:
        """Returns what of the group of ``id`` makes a call without a final output."""
        return tuple(
            [
                member
                for member in self.members(id)
                if not all(
                    call.answered for call in self._calls.get(member, {}).values()
                )
            ]
        )

    def is_orphan(self, id: str) -> bool:
        """Returns whether ``id`` answers nothing but calls that are not there."""
        return id in self._claims and id not in self._calls and not self._links[id]

    def is_outdated(self, id: str) -> bool:
        """Returns whether later outputs of its calls have taken the place of ``id``."""
        links = self._links.get(id)
        if not links or id in self._calls:
            return False
        return all(self._calls[caller][call].latest != id for caller, call in links)

    @property
    def outdated(self) -> tuple[str, ...]:
        """Ids of the outputs whose places later ones have taken."""
        return tuple([id_ for id_ in self._links if self.is_outdated(id_)])

    @property
    def n_open(self) -> int:
        """Number of calls without a final output."""
        return sum([len(callers) for callers in self._open.values()])

    @property
    def orphans(self) -> tuple[str, ...]:
        """Ids of the outputs whose calls are not there."""
        return tuple([id_ for id_ in self._claims if self.is_orphan(id_)])

    def add(
        self,
        id: str,
        calls: Sequence[str],
        answers: Sequence[str],
        progress: Sequence[str],
    ) -> tuple[str, ...]:
        """Notes a message.

        Args:
            id: Its id.
            calls: Ids of the calls that it makes.
            answers: Ids of the calls that it answers for good.
            progress: Ids of the calls that it answers for now.

        Returns:
            The ids of outputs that came before it and answer its calls; from now on they
            stand behind it.
        """
        if calls or answers or progress:
            self._place(id)
        claims = {**dict.fromkeys(progress, False), **dict.fromkeys(answers, True)}
        if claims:
            self._claims[id] = claims
            self._links[id] = {}
        for call in claims:
            callers = self._open.get(call)
            if callers:
                self._link(next(iter(callers)), call, id)
            elif call in self._callers:
                self._link(next(reversed(self._callers[call])), call, id)
            elif call not in self._gone:
                self._waiting.setdefault(call, {})[id] = None
        early: dict[str, None] = {}
        for call in dict.fromkeys(calls):
            self._calls.setdefault(id, {})[call] = _Call()
            self._callers.setdefault(call, {})[id] = None
            self._open.setdefault(call, {})[id] = None
            early.update(dict.fromkeys(self._paired(id, call)))
        for output in early:
            self._place(output)
        return tuple(early)

    def replace(self, old: str, new: str) -> bool:
        """Puts output ``new`` where ``old`` is, which is to be dropped next.

        Returns:
            Whether it could be done: ``old`` must be an output alone, and ``new`` one of
            the same calls.
        """
        links = self._links.get(old)
        if not links or old in self._calls or new in self._calls:
            return False
        if not all(call in self._claims.get(new, {}) for _, call in links):
            return False
        for caller, call in tuple(links):
            for other in tuple(self._links[new]):
                if other[1] == call and other[0] != caller:
                    self._unlink(*other, new)
            if (caller, call) not in self._links[new]:
                self._link(caller, call, new)
            self._no_longer_waits(new, call)
        return True

    def drop(self, id: str) -> None:
        """Forgets ``id``; its outputs, if they stay, are orphans."""
        for caller, call in tuple(self._links.get(id, ())):
            self._unlink(caller, call, id)
        for call in self._claims.pop(id, ()):
            self._no_longer_waits(id, call)
        for call, made in self._calls.get(id, {}).items():
            for output in tuple(made.outputs):
                self._unlink(id, call, output)
            for known in (self._callers, self._open):
                known[call].pop(id, None)
                if not known[call]:
                    del known[call]
            self._gone[call] = None
        while len(self._gone) > _GONE_CALLS:
            del self._gone[next(iter(self._gone))]
        self._change(id)
        self._calls.pop(id, None)
        self._links.pop(id, None)
        self._places.pop(id, None)

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        return {
            "calls": [
                [id_, [[call, list(made.outputs)] for call, made in calls.items()]]
                for id_, calls in self._calls.items()
            ],
            "claims": [[id_, list(one.items())] for id_, one in self._claims.items()],
            "waiting": [[call, list(ids)] for call, ids in self._waiting.items()],
            "gone": list(self._gone),
            "places": list(self._places.items()),
            "placed": self._n_placed,
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned; to be called on new groups."""
        self._places = dict(document["places"])
        self._n_placed = document["placed"]
        for id_, claims in document["claims"]:
            self._claims[id_] = dict(claims)
            self._links[id_] = {}
        for id_, calls in document["calls"]:
            self._calls[id_] = {call: _Call() for call, _ in calls}
            for call, outputs in calls:
                self._callers.setdefault(call, {})[id_] = None
                self._open.setdefault(call, {})[id_] = None
                for output in outputs:
                    self._link(id_, call, output)
        self._waiting = {call: dict.fromkeys(ids) for call, ids in document["waiting"]}
        self._gone = dict.fromkeys(document["gone"])

    def _place(self, id: str) -> None:
        """Puts ``id`` behind all others."""
        self._change(id)
        self._places[id] = self._n_placed
        self._n_placed += 1

    def _paired(self, id: str, call: str) -> list[str]:
        """Links outputs that wait for ``call`` of ``id``, up to the first final one."""
        paired: list[str] = []
        for output in tuple(self._waiting.get(call, ())):
            if output == id:
                continue
            self._no_longer_waits(output, call)
            self._link(id, call, output)
            paired.append(output)
            if self._claims[output][call]:
                break
        return paired

    def _no_longer_waits(self, output: str, call: str) -> None:
        waiting = self._waiting.get(call, {})
        waiting.pop(output, None)
        if not waiting:
            self._waiting.pop(call, None)

    def _link(self, caller: str, call: str, output: str) -> None:
        self._change(caller)
        self._change(output)
        self._links[output][caller, call] = None
        self._calls[caller][call].put(output, self._claims[output][call])
        self._settle(caller, call)

    def _unlink(self, caller: str, call: str, output: str) -> None:
        self._change(caller)
        self._change(output)
        del self._links[output][caller, call]
        self._calls[caller][call].drop(output)
        self._settle(caller, call)

    def _settle(self, caller: str, call: str) -> None:
        """Notes whether a call is answered."""
        callers = self._open.get(call, {})
        if self._calls[caller][call].answered:
            callers.pop(caller, None)
        elif caller not in callers:
            # In the order in which they were made, whatever was taken back meanwhile.
            callers = {
                one: None
                for one in self._callers[call]
                if not self._calls[one][call].answered
            }
        self._open[call] = callers

    def _change(self, id: str) -> None:
        for member in self._members.get(id, ()):
            self._members.pop(member, None)
