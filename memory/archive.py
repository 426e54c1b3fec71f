"""What a fold knows of records beyond the living: amendments, the dead, the forgotten.

Both memories share it. An amendment changes what is thought of a record and never the
record: its body stays as it was written, and the amendments are laid over it. A record
that is no longer alive is kept until the retention rule forgets it; what is forgotten is
written into a ledger with its reason, and its body is discarded by the next compaction.

Everything here is a function of the entries folded so far, so all workers agree on what
is forgotten, and when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from memory.policies import Dead, Retention
from memory.records import TOMBSTONES

#: How many of the last forgotten records the ledger names; it counts all of them.
LEDGER_NAMES = 10_000
#: Entries that a forgotten record's key stays used for, so that an append that is sent
#: again after a lost reply is still recognised.
GRACE_ENTRIES = 1_000


class Amendment(NamedTuple):
    """A later word on a record.

    Attributes:
        seq: Its place in the journal.
        kind: ``rescored``, ``repeated``, ``retracted`` or ``superseded``.
        key: Its own key in the journal.
        reason: Why, in the words of whoever amended.
        score: The new score, or that of one more evaluation; ``None`` for a tombstone.
        by: Id of the record that takes its place; empty but for ``superseded``.
    """

    seq: int
    kind: str
    key: str
    reason: str = ""
    score: float | None = None
    by: str = ""


class Forgotten(NamedTuple):
    """A line of the ledger.

    Attributes:
        id: What was forgotten.
        seq: After which entry.
        reason: The rule that said so.
        n_bytes: Size of its body.
    """

    id: str
    seq: int
    reason: str
    n_bytes: int


class Total(NamedTuple):
    """What one rule has forgotten so far: records and bytes of their bodies."""

    records: int
    n_bytes: int


class Discard(NamedTuple):
    """What the journal may let go of.

    Attributes:
        seq: After which entry it was forgotten.
        name: Id of a record, or the journal's key of an amendment.
        is_record: Which of the two it is.
    """

    seq: int
    name: str
    is_record: bool


class _Body(NamedTuple):
    """A body that is kept: its size, and when it was made in the caller's unit."""

    n_bytes: int
    time: float


class Archive:
    """Amendments, the dead that are kept, and the ledger of the forgotten.

    Args:
        retention: How long the dead are kept. Under a rule that keeps all, nobody keeps
            account of bodies: the journal itself is the account.
    """

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._accounts = not retention.keeps_all
        self._reason = type(retention).__name__
        self._amendments: dict[str, list[Amendment]] = {}
        self._living: dict[str, _Body] = {}
        self._dead: deque[tuple[str, int, _Body]] = deque()
        self._dead_ids: dict[str, None] = {}
        self._forgotten: deque[Forgotten] = deque(maxlen=LEDGER_NAMES)
        self._names: dict[str, Forgotten] = {}
        self._totals: dict[str, Total] = {}
        self._discards: deque[Discard] = deque()
        self._living_bytes = 0
        self._dead_bytes = 0
        self._time = 0.0
        #: Entry after which the last compaction was recorded.
        self.compacted = 0

    @property
    def accounts(self) -> bool:
        """Whether somebody keeps account of bodies, for a rule that forgets some."""
        return self._accounts

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the dead that are kept, in the order of death; none if all are kept."""
        return tuple([id_ for id_, _, _ in self._dead])

    @property
    def kept_bytes(self) -> int:
        """Bytes of all bodies that are not forgotten, alive or not."""
        return self._living_bytes + self._dead_bytes

    @property
    def ledger(self) -> dict[str, Total]:
        """Records and bytes forgotten so far, by the rule that said so."""
        return dict(self._totals)

    def may_have_held(self, id: str) -> bool:
        """Returns whether ``id`` may be that of a record that was forgotten.

        It is where the ledger names it, and may be where the ledger has grown too long to
        name them all.
        """
        total = sum(total.records for total in self._totals.values())
        return id in self._names or total > len(self._forgotten)

    def forgotten(self, id: str) -> Forgotten | None:
        """Returns the line of ``id`` if it is among the last ``LEDGER_NAMES``."""
        return self._names.get(id)

    def amendments(self, id: str) -> Sequence[Amendment]:
        """Returns what was said of ``id`` later on, the oldest first."""
        return tuple(self._amendments.get(id, ()))

    def tombstone(self, id: str) -> Amendment | None:
        """Returns the amendment that took ``id`` out of use, if there is one."""
        for amendment in self._amendments.get(id, ()):
            if amendment.score is None:
                return amendment
        return None

    def amend(self, id: str, amendment: Amendment) -> bool:
        """Notes an amendment; what it does to the living is the fold's own affair.

        Void, and gone with the next compaction, is one on what is forgotten or out of use
        already, or one that names a successor which is: somebody else was faster.

        Returns:
            Whether it counts.
        """
        gone = self._accounts and not self._keeps(id)
        if gone or self._out_of_use(id) or self._out_of_use(amendment.by):
            self._discards.append(Discard(amendment.seq, amendment.key, False))
            return False
        self._amendments.setdefault(id, []).append(amendment)
        return True

    def _out_of_use(self, id: str) -> bool:
        tombstone = self.tombstone(id)
        return tombstone is not None and tombstone.kind in TOMBSTONES

    def _keeps(self, id: str) -> bool:
        return id in self._living or id in self._dead_ids

    def born(self, id: str, n_bytes: int, time: float) -> None:
        """Notes a body of the living; one that is known already changes nothing."""
        if not self._accounts:
            self._living_bytes += n_bytes
        elif id not in self._living:
            if self._names.pop(id, None) is not None:
                # An id that is in use again: what it names now must stay.
                self._discards = deque(
                    one for one in self._discards if one[1:] != (id, True)
                )
            self._living[id] = _Body(n_bytes, time)
            self._living_bytes += n_bytes
            self._time = max(self._time, time)

    def died(self, id: str, seq: int) -> None:
        """Notes that ``id`` is alive no more, nor anywhere else."""
        body = self._living.pop(id, None)
        if body is not None:
            self._living_bytes -= body.n_bytes
            self._dead_bytes += body.n_bytes
            self._dead.append((id, seq, body))
            self._dead_ids[id] = None

    def settle(self, seq: int) -> list[str]:
        """Forgets what the rule forgets after entry ``seq``; returns the ids."""
        gone: list[str] = []
        while self._dead:
            id_, died, body = self._dead[0]
            dead = Dead(
                seq - died, self._time - body.time, self._dead_bytes, self._living_bytes
            )
            if not self._retention.forgets(dead):
                break
            self._dead.popleft()
            del self._dead_ids[id_]
            self._dead_bytes -= body.n_bytes
            self._forget(Forgotten(id_, seq, self._reason, body.n_bytes))
            gone.append(id_)
        return gone

    def discards(self, seq: int) -> list[Discard]:
        """Returns what was forgotten by entry ``seq`` and not yet discarded."""
        return [one for one in self._discards if one.seq <= seq]

    def compact(self, seq: int, upto: int, key: str) -> None:
        """Notes that entry ``seq`` says: all that was forgotten by ``upto`` is discarded.

        Args:
            seq: Place of the entry that says so.
            upto: Up to where the compaction went.
            key: Key of that entry, which goes with the next one.
        """
        while self._discards and self._discards[0].seq <= upto:
            self._discards.popleft()
        self._discards.append(Discard(seq, key, False))
        self.compacted = seq

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        return {
            "amendments": {
                id_: [list(one) for one in several]
                for id_, several in self._amendments.items()
            },
            "living": [[id_, *body] for id_, body in self._living.items()],
            "dead": [[id_, seq, *body] for id_, seq, body in self._dead],
            "forgotten": [list(line) for line in self._forgotten],
            "totals": {reason: list(total) for reason, total in self._totals.items()},
            "discards": [list(one) for one in self._discards],
            "time": self._time,
            "bytes": self.kept_bytes,
            "compacted": self.compacted,
        }

    def restore(self, document: dict[str, Any]) -> None:
        """Takes over what ``document`` returned."""
        self._amendments = {
            id_: [Amendment(*one) for one in several]
            for id_, several in document["amendments"].items()
        }
        self._living = {
            id_: _Body(n_bytes, time) for id_, n_bytes, time in document["living"]
        }
        self._dead = deque(
            (id_, seq, _Body(n_bytes, time))
            for id_, seq, n_bytes, time in document["dead"]
        )
        self._dead_ids = dict.fromkeys(self.kept)
        self._forgotten = deque(
            (Forgotten(*line) for line in document["forgotten"]), maxlen=LEDGER_NAMES
        )
        self._names = {line.id: line for line in self._forgotten}
        for id_ in [*self._living, *self.kept]:
            self._names.pop(id_, None)
        self._totals = {
            reason: Total(*total) for reason, total in document["totals"].items()
        }
        self._discards = deque(Discard(*one) for one in document["discards"])
        self._dead_bytes = sum(body.n_bytes for _, _, body in self._dead)
        self._living_bytes = document["bytes"] - self._dead_bytes
        self._time = document["time"]
        self.compacted = document["compacted"]

    def _forget(self, line: Forgotten) -> None:
        if len(self._forgotten) == LEDGER_NAMES:
            first = self._forgotten[0]
            if self._names.get(first.id) is first:
                del self._names[first.id]
        self._forgotten.append(line)
        self._names[line.id] = line
        before = self._totals.get(line.reason, Total(0, 0))
        self._totals[line.reason] = Total(
            before.records + 1, before.n_bytes + line.n_bytes
        )
        self._discards.append(Discard(line.seq, line.id, True))
        for amendment in self._amendments.pop(line.id, ()):
            self._discards.append(Discard(line.seq, amendment.key, False))
