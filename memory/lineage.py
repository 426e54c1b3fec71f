"""Lineage: who descends from whom, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Lineage:
    """The graph of parents and children, in the order in which they were remembered.

    A parent that is not known itself, because it was forgotten, is still named.
    """

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, ...]] = {}
        self._children: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._parents)

    def __contains__(self, id: object) -> bool:
        return id in self._parents

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def add(self, id: str, parent_ids: Iterable[str]) -> None:
        """Adds a solution and its parents, the first one foremost; once is enough.

        Raises:
            ValueError: It would descend from itself.
        """
        if id in self._parents:
            return
        parents = tuple(parent_ids)
        # Who was not named as a parent before has no descendants yet.
        below = (id, *self.descendants(id)) if id in self._children else (id,)
        if any(parent in below for parent in parents):
            raise ValueError(
                f"parent_ids must name nobody who descends from {id!r}, got {parents!r}"
            )
        self._parents[id] = parents
        for parent in parents:
            self._children.setdefault(parent, []).append(id)

    def parents(self, id: str) -> tuple[str, ...]:
        """Returns the parents of ``id``, the first one foremost.

        Raises:
            KeyError: It is not known.
        """
        self._require(id)
        return self._parents.get(id, ())

    def children(self, id: str) -> tuple[str, ...]:
        """Returns the children of ``id``, the oldest first.

        Raises:
            KeyError: It is not known.
        """
        self._require(id)
        return tuple(self._children.get(id, ()))

    def ancestors(self, id: str, generations: int | None = None) -> tuple[str, ...]:
        """Returns all that ``id`` descends from, the nearest first, each once.

        Args:
            id: Whose ancestors.
            generations: How far back, at least zero; without end if ``None``.

        Raises:
            KeyError: It is not known.
            ValueError: ``generations`` is negative.
        """
        return self._reached(id, self._parents, generations)

    def descendants(self, id: str, generations: int | None = None) -> tuple[str, ...]:
        """Returns all that descend from ``id``, the nearest first, each once.

        Args:
            id: Whose descendants.
            generations: How far on, at least zero; without end if ``None``.

        Raises:
            KeyError: It is not known.
            ValueError: ``generations`` is negative.
        """
        return self._reached(id, self._children, generations)

    def siblings(self, id: str) -> tuple[str, ...]:
        """Returns those that share a parent with ``id``, the oldest first, each once.

        Raises:
            KeyError: It is not known.
        """
        found = [
            child
            for parent in self.parents(id)
            for child in self._children[parent]
            if child != id
        ]
        return tuple(dict.fromkeys(found))

    def edges(self) -> list[tuple[str, str]]:
        """Returns pairs of parent and child, as ``networkx.DiGraph(edges)`` takes them."""
        return [
            (parent, child)
            for child, parents in self._parents.items()
            for parent in parents
        ]

    def _reached(
        self,
        id: str,
        nexts: dict[str, tuple[str, ...]] | dict[str, list[str]],
        generations: int | None,
    ) -> tuple[str, ...]:
        self._require(id)
        if generations is not None and generations < 0:
            raise ValueError(f"generations must not be negative, got {generations}")
        seen = {id: None}
        front = [id]
        while front and (generations is None or generations > 0):
            found = [other for one in front for other in nexts.get(one, ())]
            front = [other for other in dict.fromkeys(found) if other not in seen]
            seen.update(dict.fromkeys(front))
            generations = None if generations is None else generations - 1
        return tuple(seen)[1:]

    def _require(self, id: str) -> None:
        if id not in self._parents and id not in self._children:
            raise KeyError(f"id must name a solution of the lineage, got {id!r}")
