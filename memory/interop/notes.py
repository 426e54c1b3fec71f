"""Notes: later words on records that decide nothing, in the journal of the records.

A fold of a scope of its own, so that whoever follows the records need not know of it. A
note sets fields of one record, or adds to a number; all workers read the same, and an
addition is never lost to another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory import codec
from memory.archive import Archive
from memory.codec import UnknownEvent
from memory.following import Following
from memory.randomness import KeyedRandom
from memory.records import utf8
from memory.retention.keep_all import KeepAll
from memory.stores.journal import Journal

_SET, _ADD = "noted/1", "added/1"


class Notebook:
    """The fold of the notes of one scope.

    Args:
        scope: Key of the notes within the journal.
    """

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self.seq = 0
        self.purged = False
        self.archive = Archive(KeepAll())
        self.fields: dict[str, dict[str, Any]] = {}
        self.added: dict[str, dict[str, int]] = {}

    def apply(self, seq: int, row: bytes) -> None:
        """See ``following.Fold``."""
        found = codec.fields(row, seq)
        if found[1] == self._scope:
            self._note(found)
        self.seq = seq

    def document(self) -> dict[str, Any]:
        """See ``following.Fold``."""
        return {"seq": self.seq, "fields": self.fields, "added": self.added}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Takes over what ``document`` returned."""
        self.seq = document["seq"]
        self.fields = dict(document["fields"])
        self.added = dict(document["added"])

    def _note(self, found: codec.Fields) -> None:
        if found[0] == _SET:
            _, _, id_, changes = found
            self.fields.setdefault(id_, {}).update(changes)
            for name in changes:
                self.added.get(id_, {}).pop(name, None)
        elif found[0] == _ADD:
            _, _, id_, amounts = found
            sums = self.added.setdefault(id_, {})
            for name, amount in amounts.items():
                sums[name] = sums.get(name, 0) + amount
        elif found[0] != "configured/1":
            raise UnknownEvent(f"notes are of kind {_SET} or {_ADD}, got {found[0]!r}")


class Notes:
    """The notes on records of a journal. Not locked: the owner locks.

    Args:
        journal: The journal of the records.
        scope: Key of the notes within it, another one than that of the records.
        random: Gives a note its name.
    """

    def __init__(self, journal: Journal, scope: str, random: KeyedRandom) -> None:
        self._random = random
        self._scope = utf8("scope", scope)
        self._following: Following[Notebook] = Following(
            journal, scope, {"notes": 1}, self._notebook
        )

    def sync(self) -> None:
        """Reads what others have noted."""
        self._following.sync()

    def of(self, id: str) -> dict[str, Any]:
        """Returns the fields that were set for ``id``, the last word of each."""
        return dict(self._following.fold.fields.get(id, {}))

    def added(self, id: str) -> dict[str, int]:
        """Returns what was added to numbers of ``id`` since they were set."""
        return dict(self._following.fold.added.get(id, {}))

    def set(self, id: str, changes: Mapping[str, Any]) -> None:
        """Sets fields of ``id``, plain data."""
        self._append([_SET, self._scope, id, dict(changes)])

    def add(self, id: str, amounts: Mapping[str, int]) -> None:
        """Adds to numbers of ``id``."""
        self._append([_ADD, self._scope, id, dict(amounts)])

    def _append(self, row: list[Any]) -> None:
        while True:
            # The place in the journal makes the name new, unless others went ahead.
            name = self._random.identifier(self._following.fold.seq)
            key = self._following.key("noted", name)
            written = codec.encoded(row)
            if self._following.put(key, written, written):
                return
            self._following.sync()

    def _notebook(self, document: dict[str, Any] | None) -> Notebook:
        notebook = Notebook(self._scope)
        if document is not None:
            notebook.restore(document)
        return notebook
