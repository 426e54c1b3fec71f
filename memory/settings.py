"""The configuration of a population, and how it is described and compared."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memory.diversity.text_shape import TextShape
from memory.policies import Diversity, Scaling, Selection, Survival, Temperature
from memory.records import count
from memory.scaling.rank import Rank
from memory.selection.boltzmann import Boltzmann
from memory.survival.worst import Worst
from memory.temperature.fixed import Fixed

#: What a policy of each room must have: methods, and values of a type.
_METHODS: dict[str, tuple[str, ...]] = {
    "diversity": ("features", "tracker", "measure"),
    "scaling": ("scale",),
    "temperature": ("control",),
    "selection": ("probabilities", "draw"),
    "survival": ("victim",),
}
_VALUES: dict[str, dict[str, type]] = {
    "diversity": {"sampled": bool},
    "temperature": {"stateful": bool, "reads_diversity": bool, "initial": float},
    "selection": {"closed_form": bool},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides how a population lives and who becomes a parent.

    Args:
        capacity: Largest number of the living.
        elite_size: Largest number of solutions in the elite archive; zero for none.
        diversity: Metric of diversity.
        temperature: Controller of the temperature.
        scaling: Scaling of the scores before selection.
        selection: Parent-selection policy.
        survival: Who leaves a full population.

    Raises:
        TypeError: A size is not an integer, or a policy lacks a method of its contract.
        ValueError: ``capacity`` is below 1 or ``elite_size`` below 0.
    """

    capacity: int = 100
    elite_size: int = 50
    diversity: Diversity = field(default_factory=TextShape)
    temperature: Temperature = field(default_factory=Fixed)
    scaling: Scaling = field(default_factory=Rank)
    selection: Selection = field(default_factory=Boltzmann)
    survival: Survival = field(default_factory=Worst)

    def __post_init__(self) -> None:
        sizes = {
            "capacity": count("capacity", self.capacity, minimum=1),
            "elite_size": count("elite_size", self.elite_size),
        }
        for name, size in sizes.items():
            object.__setattr__(self, name, size)
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
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        # ``Fixed(1)`` and ``Fixed(1.0)`` are one configuration.
        return int(value)
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
