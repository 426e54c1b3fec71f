"""Records: what the memory remembers, frozen and validated where they are born."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from numbers import Integral, Real
from typing import NamedTuple, NoReturn

Scalar = str | int | float | bool | None

#: Decisions, parts and places in a journal are words of 64 bits.
LARGEST_INDEX = 2**64 - 1


#: Longest integer in metadata.
_MOST_BITS = 4_096


class Metadata(dict[str, Scalar]):
    """A mapping that does not change, and so can be shared, copied and pickled."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("metadata cannot be changed: make another solution")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return frozenset(self.items()).__hash__()

    def __reduce__(self) -> tuple[type[Metadata], tuple[dict[str, Scalar]]]:
        return (Metadata, (dict(self),))


NO_METADATA: Mapping[str, Scalar] = Metadata()


class Status(StrEnum):
    """Standing of a record."""

    VALID = "valid"
    FAILED = "failed"
    RETRACTED = "retracted"
    SUPERSEDED = "superseded"


#: The standings that a later word gives; nothing begins with one.
TOMBSTONES = (Status.RETRACTED, Status.SUPERSEDED)

#: In place of an island: the population as a whole.
WHOLE = -1


class Draw(NamedTuple):
    """The draw that chose a parent: enough to repeat it.

    Attributes:
        stream: Name of the stream of decisions, one per worker or run.
        decision: Index of the decision in its stream, from zero.
        seq: Length of the journal at the moment of the draw.
        part: Index of the draw among those of its decision, from zero.
        island: Island that was drawn from, or ``WHOLE``.
        migrated: Whether the parent lives there as a copy, by migration.
    """

    stream: str
    decision: int
    seq: int
    part: int = 0
    island: int = 0
    migrated: bool = False


class Provenance(NamedTuple):
    """Where a solution comes from.

    Attributes:
        operator: Name of the variation operator or model that proposed it.
        evaluator: Name and version of what scored it.
        draw: The draw that chose its (first) parent, ``None`` for a root.
        inputs: Names of what else went into it: data, prompts, other records.
    """

    operator: str = ""
    evaluator: str = ""
    draw: Draw | None = None
    inputs: tuple[str, ...] = ()


NO_PROVENANCE = Provenance()


def real(name: str, value: object) -> float:
    """Returns ``value`` as a finite float.

    Raises:
        TypeError: ``value`` is not a real number; a bool and a string are not.
        ValueError: ``value`` is NaN or infinite, or too large for a float.
    """
    if type(value) is not float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a finite real number, got {value!r}")
        try:
            value = float(value)
        except OverflowError:
            raise ValueError(
                f"{name} must be a finite real number, got an integer beyond the "
                "range of a float"
            ) from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite real number, got {value!r}")
    return value


def count(
    name: str, value: object, minimum: int = 0, maximum: int | None = None
) -> int:
    """Returns ``value`` as an integer of at least ``minimum``, at most ``maximum``.

    Raises:
        TypeError: ``value`` is not an integer; a bool is not.
        ValueError: ``value`` is below ``minimum`` or above ``maximum``.
    """
    if type(value) is not int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        value = int(value)
    # Python refuses to print integers of some thousand digits.
    shown = str(value) if value.bit_length() < 1_000 else "one of hundreds of digits"
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown}")
    if value > (LARGEST_INDEX if maximum is None else maximum):
        raise ValueError(
            f"{name} must be at most {LARGEST_INDEX if maximum is None else maximum}, "
            f"got {shown}"
        )
    return value


def within(name: str, value: object, low: float, high: float) -> float:
    """Returns ``value`` as a float in ``[low, high]``.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` is not finite or lies outside the range.
    """
    number = real(name, value)
    if not low <= number <= high:
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}], got {number!r}")
    return number


def positive(name: str, value: object) -> float:
    """Returns ``value`` as a positive finite float.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` is not finite or not positive.
    """
    number = real(name, value)
    if not number > 0.0:
        raise ValueError(f"{name} must be positive and finite, got {number!r}")
    return number


def flag(name: str, value: object) -> bool:
    """Returns ``value``, a bool.

    Raises:
        TypeError: ``value`` is anything else.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, got {value!r}")
    return value


def utf8(name: str, value: object) -> str:
    """Returns ``value``, a string that can be encoded.

    Raises:
        TypeError: ``value`` is not a string.
        ValueError: ``value`` holds a lone surrogate.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} must be encodable as UTF-8, got a lone surrogate at "
                f"position {error.start}"
            ) from None
    return value


def shortened(text: str, length: int = 60) -> str:
    """Returns ``text``, or its beginning where it is longer than ``length``."""
    return text if len(text) <= length else f"{text[: length - 1]}\u2026"


def _set(instance: object, **values: object) -> None:
    """Sets normalised fields of a frozen instance during its construction."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What both memories share: an identity, a scope, a standing, a time and an origin.

    Args:
        id: Unique name, chosen by whoever proposes; a repeated id is the same record.
        scope: Key that keeps tenants and tasks apart within one store.
        status: Standing of the record.
        time: When it was made, in the caller's unit; zero in studies.
        provenance: Where it comes from.
        metadata: Flat facts of the user's own; never read by a policy.

    Raises:
        TypeError: A field has the wrong type; the message names it.
        ValueError: ``id`` is empty, a number is not finite, or a text is not UTF-8.
    """

    id: str
    scope: str = ""
    status: Status = Status.VALID
    time: float = 0.0
    provenance: Provenance = NO_PROVENANCE
    metadata: Mapping[str, Scalar] = field(default_factory=lambda: NO_METADATA)

    def __post_init__(self) -> None:
        if not utf8("id", self.id):
            raise ValueError("id must not be empty, got ''")
        if self.scope != "":
            utf8("scope", self.scope)
        if type(self.status) is not Status:
            _set(self, status=_status(self.status))
        if self.time != 0.0 or type(self.time) is not float:
            _set(self, time=real("time", self.time))
        if self.provenance is not NO_PROVENANCE:
            _set(self, provenance=_checked_provenance(self.provenance))
        if self.metadata is not NO_METADATA:
            _set(self, metadata=_frozen_metadata(self.metadata))


def checked_draw(draw: Draw, name: str = "draw") -> Draw:
    """Returns ``draw`` with plain numbers.

    Raises:
        TypeError: It is no ``Draw``, or a field has the wrong type.
        ValueError: A number is negative or has more than 64 bits.
    """
    if not isinstance(draw, Draw):
        raise TypeError(f"{name} must be a Draw, got {draw!r}")
    return Draw(
        utf8(f"{name}.stream", draw.stream),
        count(f"{name}.decision", draw.decision, 0, LARGEST_INDEX),
        count(f"{name}.seq", draw.seq, 0, LARGEST_INDEX),
        count(f"{name}.part", draw.part, 0, LARGEST_INDEX),
        count(f"{name}.island", draw.island, WHOLE, LARGEST_INDEX),
        flag(f"{name}.migrated", draw.migrated),
    )


def _status(status: object) -> Status:
    try:
        return Status(status)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(
            f"status must be one of {', '.join(map(str, Status))}, got {status!r}"
        ) from None


def _checked_provenance(provenance: object) -> Provenance:
    if not isinstance(provenance, Provenance):
        raise TypeError(f"provenance must be a Provenance, got {provenance!r}")
    utf8("provenance.operator", provenance.operator)
    utf8("provenance.evaluator", provenance.evaluator)
    if provenance.inputs != ():
        provenance = provenance._replace(inputs=_checked_inputs(provenance.inputs))
    if provenance.draw is None:
        return provenance
    draw = checked_draw(provenance.draw, "provenance.draw")
    return provenance._replace(draw=draw)


def _checked_inputs(inputs: object) -> tuple[str, ...]:
    if not isinstance(inputs, tuple | list):
        raise TypeError(f"provenance.inputs must be a tuple of strings, got {inputs!r}")
    return tuple(
        utf8(f"provenance.inputs[{index}]", name) for index, name in enumerate(inputs)
    )


def _frozen_metadata(metadata: object) -> Mapping[str, Scalar]:
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, got {metadata!r}")
    kept: dict[str, Scalar] = {}
    for key, value in metadata.items():
        name = f"metadata[{utf8('a key of metadata', key)!r}]"
        if value is None or isinstance(value, bool):
            kept[key] = value
        elif isinstance(value, str):
            kept[key] = utf8(name, value)
        elif isinstance(value, Integral):
            # Python refuses to print integers of some thousand digits.
            if int(value).bit_length() > _MOST_BITS:
                raise ValueError(
                    f"{name} must be an integer of at most {_MOST_BITS} bits, got one of "
                    f"{int(value).bit_length()}"
                )
            kept[key] = int(value)
        elif isinstance(value, Real):
            kept[key] = real(name, value)
        else:
            raise TypeError(
                f"{name} must be a string, a finite number, a bool or None, "
                f"got {value!r}"
            )
    return Metadata(kept)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Solution(Record):
    """A scored text: one attempt at a task.

    Zero and negative scores are scores like any other. A solution without a score has
    failed and says so in its status; it is remembered and never selected.

    Args:
        text: The solution itself.
        score: Quality, higher is better, finite; ``None`` if and only if it failed.
        parent_ids: Ids of the solutions it was made from, the first one foremost.
        generation: Length of the longest lineage behind it; zero for a root.
        instance_scores: Scores on the instances of the task, where it has several.
        weight: Multiplier of the probability of selection; zero means never.
        island: Island it is put on; ``None`` leaves that to the rule of assignment.

    Raises:
        TypeError: A field has the wrong type; ``True`` and ``"0.9"`` are no scores.
        ValueError: A number is not finite or out of range, the score contradicts the
            status, or the solution names itself or one parent twice.
    """

    text: str
    score: float | None
    parent_ids: tuple[str, ...] = ()
    generation: int = 0
    instance_scores: tuple[float, ...] = ()
    weight: float = 1.0
    island: int | None = None

    def __repr__(self) -> str:
        # A text of pages would bury what an error or a prompt has to say.
        shown = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if item.name != "text" and getattr(self, item.name) != item.default
        }
        if not self.metadata:
            del shown["metadata"]
        named = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"Solution({named}, text={shortened(self.text)!r})"

    def __post_init__(self) -> None:
        # ``super()`` does not find its class in a dataclass with slots.
        Record.__post_init__(self)
        utf8("text", self.text)
        if self.status is Status.FAILED:
            if self.score is not None:
                raise ValueError(
                    f"score must be None where status is failed, got {self.score!r}"
                )
        elif type(self.score) is not float or not math.isfinite(self.score):
            _set(self, score=real("score", self.score))
        if type(self.weight) is not float or not 0.0 <= self.weight < math.inf:
            weight = real("weight", self.weight)
            if weight < 0.0:
                raise ValueError(f"weight must not be negative, got {weight!r}")
            _set(self, weight=weight)
        if type(self.generation) is not int or not 0 <= self.generation < 2**63:
            _set(self, generation=count("generation", self.generation))
        if self.island is not None:
            _set(self, island=count("island", self.island, 0, LARGEST_INDEX))
        if self.parent_ids != ():
            self._check_parents()
        if not isinstance(self.instance_scores, tuple) or self.instance_scores:
            self._check_instance_scores()

    def _check_parents(self) -> None:
        parents = self.parent_ids
        if isinstance(parents, str) or not isinstance(parents, tuple | list):
            raise TypeError(f"parent_ids must be a tuple of ids, got {parents!r}")
        for parent in parents:
            if not utf8("parent_ids", parent):
                raise ValueError("parent_ids must not hold an empty id, got ''")
            if parent == self.id:
                raise ValueError(
                    f"parent_ids must not name the solution itself, got {parent!r}"
                )
        if len(parents) > 1 and len(dict.fromkeys(parents)) != len(parents):
            raise ValueError(f"parent_ids must differ from each other, got {parents!r}")
        _set(self, parent_ids=tuple(parents))

    def _check_instance_scores(self) -> None:
        scores = self.instance_scores
        if isinstance(scores, str) or not hasattr(scores, "__iter__"):
            raise TypeError(
                f"instance_scores must be a tuple of numbers, got {scores!r}"
            )
        _set(
            self,
            instance_scores=tuple(
                real(f"instance_scores[{index}]", score)
                for index, score in enumerate(scores)
            ),
        )
