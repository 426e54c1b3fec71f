"""The configuration of a population, and how it is described and compared."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memory.assignment.inherited import Inherited
from memory.diversity.text_shape import TextShape
from memory.grid import Axis, n_cells
from memory.policies import (
    Assignment,
    Diversity,
    Ranking,
    Retention,
    Scaling,
    Selection,
    Survival,
    Temperature,
    Topology,
    Weights,
)
from memory.ranking.mean import Mean
from memory.records import count, flag, within
from memory.retention.keep_all import KeepAll
from memory.scaling.rank import Rank
from memory.selection.boltzmann import Boltzmann
from memory.selection.cells import Cells
from memory.survival.cell_aware import CellAware
from memory.survival.worst import Worst
from memory.temperature.fixed import Fixed
from memory.topology.ring import Ring
from memory.weights.as_given import AsGiven

#: What the interval of migration counts: solutions remembered, generations along a
#: lineage, or how much the largest island has grown (LoongFlow's, which ends when full).
MIGRATION_UNITS = ("adds", "generations", "largest_island")

#: What a policy of each room must have: methods, and values of a type.
_METHODS: dict[str, tuple[str, ...]] = {
    "diversity": ("features", "tracker", "measure", "distance"),
    "scaling": ("scale",),
    "temperature": ("control",),
    "selection": ("probabilities", "draw"),
    "survival": ("victim",),
    "ranking": ("score",),
    "weights": ("adjusted",),
    "assignment": ("island",),
    "topology": ("targets",),
    "retention": ("forgets",),
}
_VALUES: dict[str, dict[str, type]] = {
    "diversity": {"sampled": bool},
    "temperature": {"stateful": bool, "reads_diversity": bool, "initial": float},
    "selection": {"closed_form": bool},
    "retention": {"keeps_all": bool},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides how a population lives and who becomes a parent.

    Args:
        capacity: Largest number of the living, on all islands together.
        elite_size: Largest number of solutions in the elite archives; zero for none.
        islands: Number of islands; capacity and elites are shared out among them.
        quota: Whether each island has its own share of the capacity. If not, all
            compete for one, and a weak island may starve, as in LoongFlow.
        migration_interval: After how many of ``migration_unit`` the best of each island
            are copied to others; zero for never.
        migration_unit: ``"adds"``, ``"generations"`` or ``"largest_island"``.
        migration_rate: Share of an island that migrates, at least one, in ``(0, 1]``.
        migration_relays: Whether copies of one pass count for the next islands, copies
            use up the share of an island and are no elites, as in LoongFlow. Without
            ``quota`` they then exceed the capacity until the next arrival.
        deduplicate: Whether a text that is alive already, but for white space at the end
            of lines and around it, is recorded and not let in.
        axes: Axes of the MAP-Elites grid; none for no grid.
        diversity: Metric of diversity.
        temperature: Controller of the temperature, one state per island.
        scaling: Scaling of the scores before selection.
        selection: Parent-selection policy.
        survival: Who leaves a full island.
        ranking: What several evaluations of one solution count as.
        weights: What becomes of the users' weights before selection.
        assignment: Island of a solution for which none was named.
        topology: Where migrants go.
        retention: How long the history keeps what is no longer alive.

    Raises:
        TypeError: A value has the wrong type, or a policy lacks a method of its contract.
        ValueError: A value is out of range; the message names it.
    """

    capacity: int = 100
    elite_size: int = 50
    islands: int = 1
    quota: bool = True
    migration_interval: int = 0
    migration_unit: str = "adds"
    migration_rate: float = 0.2
    migration_relays: bool = False
    deduplicate: bool = False
    axes: tuple[Axis, ...] = ()
    diversity: Diversity = field(default_factory=TextShape)
    temperature: Temperature = field(default_factory=Fixed)
    scaling: Scaling = field(default_factory=Rank)
    selection: Selection = field(default_factory=Boltzmann)
    survival: Survival = field(default_factory=Worst)
    ranking: Ranking = field(default_factory=Mean)
    weights: Weights = field(default_factory=AsGiven)
    assignment: Assignment = field(default_factory=Inherited)
    topology: Topology = field(default_factory=Ring)
    retention: Retention = field(default_factory=KeepAll)

    def __post_init__(self) -> None:
        self._check_values()
        self._check_policies()
        self._check_routes()

    def _check_values(self) -> None:
        values: dict[str, object] = {
            "capacity": count("capacity", self.capacity, minimum=1),
            "elite_size": count("elite_size", self.elite_size),
            "islands": count("islands", self.islands, minimum=1),
            "migration_interval": count("migration_interval", self.migration_interval),
            "migration_rate": within("migration_rate", self.migration_rate, 0.0, 1.0),
        }
        if self.quota and self.islands > self.capacity:
            raise ValueError(
                f"capacity must be at least islands = {self.islands}, one for each, got "
                f"{self.capacity}"
            )
        for name in ("quota", "migration_relays", "deduplicate"):
            flag(name, getattr(self, name))
        if self.migration_rate == 0.0:
            raise ValueError(
                "migration_rate must be positive, got 0.0: for no migration set "
                "migration_interval to 0"
            )
        if self.migration_unit not in MIGRATION_UNITS:
            raise ValueError(
                f"migration_unit must be one of {', '.join(MIGRATION_UNITS)}, got "
                f"{self.migration_unit!r}"
            )
        if isinstance(self.axes, Axis) or not isinstance(self.axes, tuple | list):
            raise TypeError(f"axes must be a tuple of Axis, got {self.axes!r}")
        for index, axis in enumerate(self.axes):
            if not isinstance(axis, Axis):
                raise TypeError(f"axes[{index}] must be an Axis, got {axis!r}")
        values["axes"] = tuple(self.axes)
        n_cells(self.axes)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_routes(self) -> None:
        for island in range(self.islands if self.islands > 1 else 0):
            targets = self.topology.targets(island, self.islands)
            for target in targets:
                plain = isinstance(target, int) and not isinstance(target, bool)
                if not plain or not 0 <= target < self.islands or target == island:
                    raise ValueError(
                        f"{type(self.topology).__name__} must send migrants of island "
                        f"{island} to other islands in [0, {self.islands}), got {target!r}"
                    )
            if len(dict.fromkeys(targets)) < len(targets):
                raise ValueError(
                    f"{type(self.topology).__name__} must name each target once, got "
                    f"{targets!r} for island {island}"
                )

    def _check_policies(self) -> None:
        # Found out at the first full island, it would be too late.
        for needy in (self.selection, self.survival):
            if isinstance(needy, Cells | CellAware) and not self.axes:
                raise ValueError(
                    f"axes must not be empty for {type(needy).__name__}, got none"
                )
        for room, methods in _METHODS.items():
            policy = getattr(self, room)
            for method in methods:
                if isinstance(policy, type) or not callable(
                    getattr(policy, method, None)
                ):
                    raise TypeError(
                        f"{room} must be a policy with a method {method}, "
                        f"got {policy!r}"
                    )
            for name, kind in _VALUES.get(room, {}).items():
                value = getattr(policy, name, None)
                if not isinstance(value, (kind, int) if kind is float else kind):
                    raise TypeError(
                        f"{room} must be a policy whose {name} is a {kind.__name__}, "
                        f"got {value!r} of {policy!r}"
                    )


def description(value: object, name: str = "settings") -> Any:  # noqa: ANN401
    """Returns ``value`` as plain data: what it is made of, by import path and field.

    Policies are described by their class and fields, so that two configurations are equal
    exactly when their descriptions are.

    Args:
        value: A number, string, bool, ``None``, list, mapping, or a policy.
        name: What to call it in an error.

    Raises:
        TypeError: ``value`` holds something that is neither plain data nor a policy with
            fields.
        ValueError: ``value`` holds a number that is not finite.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        # ``Fixed(1)`` and ``Fixed(1.0)`` are one configuration.
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [description(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            str(key): description(item, f"{name}.{key}") for key, item in value.items()
        }
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif hasattr(value, "__dict__") and not callable(value):
        fields = dict(sorted(vars(value).items()))
    else:
        raise TypeError(
            f"{name} must be plain data or an object with fields, got {value!r}"
        )
    kind = type(value)
    return {
        "_target_": f"{kind.__module__}.{kind.__qualname__}",
        **{key: description(item, f"{name}.{key}") for key, item in fields.items()},
    }


def fingerprint(described: object) -> str:
    """Returns the 128-bit hexadecimal hash of a ``description``."""
    text = json.dumps(described, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def differences(mine: object, theirs: object, name: str = "") -> Iterator[str]:
    """Yields one line per place where two descriptions differ, named by its path."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            path = f"{name}.{key}" if name else key
            yield from differences(
                mine.get(key, "(absent)"), theirs.get(key, "(absent)"), path
            )
    elif mine != theirs or type(mine) is not type(theirs):
        yield f"{name}: {mine!r} here, {theirs!r} there"
