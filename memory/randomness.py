"""Keyed randomness: every decision owns its random numbers.

A decision is named by a key, a purpose and an index. Its numbers come from a
counter-based generator (Philox, Salmon et al. 2011) whose key is a hash of the names and
whose counter is the index, so that any single decision can be repeated without repeating
those before it, and one purpose that draws more does not shift another.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

# The counter of Philox is four words of 64 bits, the lowest first. The generator advances
# the lowest, so a decision may draw 2^64 blocks before it meets its neighbour.
PURPOSES = (
    "instance",
    "initial",
    "selection",
    "diversity",
    "mutation",
    "failure",
    "noise",
    "ties",
    "id",
)
_PURPOSE_INDEX = {name: index for index, name in enumerate(PURPOSES)}


def key_of(*names: str | int) -> int:
    """Returns the 128-bit key of a sequence of names.

    Names are length-prefixed and typed before they are hashed (blake2b), so that
    ``("ab", "c")`` and ``("a", "bc")``, or ``1`` and ``"1"``, are different keys.

    Raises:
        TypeError: A name is neither a string nor an integer.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise TypeError(
                f"the names of a key must be strings or integers, got {name!r}"
            )
        kind = b"s" if isinstance(name, str) else b"i"
        body = str(name).encode()
        digest.update(kind + len(body).to_bytes(8, "little") + body)
    return int.from_bytes(digest.digest(), "little")


class KeyedRandom:
    """Random numbers addressed by purpose and decision.

    Args:
        names: The names that make the key, such as study, task, instance and seed.

    Raises:
        TypeError: A name is neither a string nor an integer.
    """

    __slots__ = ("_generators", "_states", "key")

    def __init__(self, *names: str | int) -> None:
        self.key = key_of(*names)
        self._generators: dict[str, np.random.Generator] = {}
        self._states: dict[str, dict[str, Any]] = {}

    def generator(
        self, purpose: str, decision: int, substream: int = 0
    ) -> np.random.Generator:
        """Returns the generator of one decision, at its first number.

        The object is reused (setting its state takes an eighth of the time of making
        one): it is valid until the next call with the same ``purpose``.

        Args:
            purpose: One of ``PURPOSES``.
            decision: Index of the decision, in ``[0, 2^64)``.
            substream: Index of a part of the decision, in ``[0, 2^64)``.

        Raises:
            ValueError: ``purpose`` is unknown.
        """
        state = self._states.get(purpose)
        if state is None:
            state = self._new(purpose)
        counter = state["state"]["counter"]
        counter[1] = substream
        counter[2] = decision
        generator = self._generators[purpose]
        generator.bit_generator.state = state
        return generator

    def identifier(self, decision: int) -> str:
        """Returns the 128-bit hexadecimal id that belongs to ``decision``."""
        high, low = self.generator("id", decision).bit_generator.random_raw(2)
        return f"{high:016x}{low:016x}"

    def _new(self, purpose: str) -> dict[str, Any]:
        if purpose not in _PURPOSE_INDEX:
            raise ValueError(
                f"purpose must be one of {', '.join(PURPOSES)}, got {purpose!r}"
            )
        bits = np.random.Philox(key=self.key)
        state: dict[str, Any] = dict(bits.state)
        # Philox counts up before it computes, so the first block of a decision is one
        # above its counter; the lowest word starts at zero for all.
        state["state"] = {
            "counter": np.array([0, 0, 0, _PURPOSE_INDEX[purpose]], dtype=np.uint64),
            "key": state["state"]["key"],
        }
        state["buffer_pos"] = 4
        state["has_uint32"] = 0
        state["uinteger"] = 0
        self._states[purpose] = state
        self._generators[purpose] = np.random.Generator(bits)
        return state
