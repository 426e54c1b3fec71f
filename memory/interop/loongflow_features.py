"""Coordinates of solutions in LoongFlow's grid, by the living or by order of arrival."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memory.diversity.text_shape import TextShape
from memory.interop.loongflow_grid import (
    REFERENCES,
    RunningBins,
    RunningGrid,
    coordinates_of,
    key_of,
)
from memory.interop.loongflow_options import Options
from memory.policies import Features as Shape
from memory.records import Solution as Record
from memory.texts import text_key


class Row(NamedTuple):
    """One of the living on one island.

    Attributes:
        record: What lives there.
        island: The island.
        copy: Whether it came there by migration.
        order: Its place among all records.
    """

    record: Record
    island: int
    copy: bool
    order: int

    @property
    def score(self) -> float:
        """Its score."""
        # Only the scored are alive.
        return math.nan if self.record.score is None else self.record.score

    @property
    def name(self) -> str:
        """Its id, as LoongFlow names a copy."""
        return copy_name(self.record.id, self.island) if self.copy else self.record.id


def copy_name(id: str, island: int) -> str:
    """Returns LoongFlow's id of the copy of ``id`` on ``island``."""
    return f"{id}_migrated_{island}"


class Features:
    """The grid of one memory, as it is shown and written: it decides nothing.

    Args:
        options: The options.
        islands: Number of islands.
    """

    def __init__(self, options: Options, islands: int) -> None:
        self._options = options
        self._islands = islands
        self._grid = RunningGrid(
            options.dimensions,
            options.bins,
            options.feature_scaling_method,
            islands=islands,
            elite_size=options.elite_archive_size,
        )
        self._arrived: dict[str, dict[str, int]] = {}
        self._there: dict[str, None] = {}
        self._unlikeness = _Unlikeness()
        self._known: tuple[int, dict[str, dict[str, int]]] = (-1, {})

    def arrive(self, records: Iterable[tuple[Record, int]]) -> None:
        """Notes scored records and their islands, in their order of arrival."""
        if self._options.running:
            for record, island in records:
                if record.score is not None:
                    self._arrived[record.id] = self._grid.add(
                        record.id, record.text, record.score, island
                    )
                    self._there[record.id] = None

    def settle(self, rows: Sequence[Row]) -> None:
        """Notes who is alive, after those who arrived."""
        if not self._options.running:
            return
        living = {row.name: row for row in rows}
        for name in [name for name in self._there if name not in living]:
            self._grid.remove(name)
            self._arrived.pop(name, None)
            del self._there[name]
        for name, row in living.items():
            if name not in self._there:
                self._grid.copy(name, row.record.text, row.score)
                self._there[name] = None

    def text(self, id: str, rows: Sequence[Row], seq: int) -> str | None:
        """Returns the coordinates of one of the living, as LoongFlow writes them.

        Args:
            id: Its id.
            rows: All of the living.
            seq: Length of the journal, for which they are computed once.
        """
        found = self._coordinates(rows, seq).get(id)
        return None if found is None else json.dumps(found)

    def cells(self, rows: Sequence[Row], seq: int) -> list[dict[str, str]]:
        """Returns for each island who holds which cell: the best, the oldest on ties."""
        if self._options.running:
            return self._grid.feature_maps
        coordinates = self._coordinates(rows, seq)
        maps: list[dict[str, str]] = [{} for _ in range(self._islands)]
        for row in sorted(rows, key=lambda row: (-row.score, row.order)):
            if not row.copy:
                key = key_of(coordinates[row.record.id], self._options.dimensions)
                maps[row.island].setdefault(key, row.record.id)
        return maps

    def statistics(
        self, rows: Sequence[Row], kept: int
    ) -> dict[str, dict[str, float | list[float] | None]]:
        """Returns bounds and values of each dimension, at most ``kept`` of them."""
        bins: Mapping[str, RunningBins] = self._grid.bins
        if not self._options.running:
            records = [row.record for row in rows if not row.copy]
            values = {
                "complexity": [float(len(record.text)) for record in records],
                "score": [row.score for row in rows if not row.copy],
                "diversity": [],
            }
            return {
                name: {
                    "min": min(values[name], default=None),
                    "max": max(values[name], default=None),
                    "values": list(values[name][-kept:]),
                }
                for name in self._options.dimensions
                if values[name]
            }
        return {
            name: {"min": one.minimum, "max": one.maximum, "values": one.values[-kept:]}
            for name, one in bins.items()
            if one.values
        }

    def _coordinates(self, rows: Sequence[Row], seq: int) -> dict[str, dict[str, int]]:
        if self._options.running:
            return self._arrived
        if self._known[0] != seq:
            texts = {row.record.id: (row.record.text, row.score) for row in rows}
            options = self._options
            self._unlikeness.settle([text for text, _ in texts.values()])
            self._known = (
                seq,
                coordinates_of(
                    texts,
                    options.dimensions,
                    options.bins,
                    options.feature_scaling_method,
                    self._unlikeness,
                ),
            )
        return self._known[1]


class _Unlikeness:
    """Mean distance from a sample of the living that does not depend on their order.

    The sample is that of the smallest hashes, which seldom changes when one text comes or
    goes, so that most distances are computed once.
    """

    def __init__(self) -> None:
        self._metric = TextShape()
        self._keys: dict[str, tuple[str, str]] = {}
        self._chosen: list[str] = []
        self._features: list[Shape] = []
        self._values: dict[str, float] = {}

    def settle(self, texts: Sequence[str]) -> None:
        """Takes ``texts`` for the living."""
        self._keys = {
            text: self._keys.get(text) or (text_key(text), text) for text in texts
        }
        chosen = sorted(self._keys, key=self._keys.__getitem__)[:REFERENCES]
        if chosen != self._chosen:
            self._chosen, self._values = chosen, {}
            self._features = [self._metric.features(text) for text in chosen]
        self._values = {t: v for t, v in self._values.items() if t in self._keys}

    def __call__(self, text: str) -> float:
        if text not in self._values:
            mine = self._metric.features(text)
            distances = [self._metric.distance(mine, one) for one in self._features]
            self._values[text] = math.fsum(distances) / len(distances)
        return self._values[text]
