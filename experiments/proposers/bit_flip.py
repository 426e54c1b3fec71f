"""Standard bit mutation that always changes something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import positive, within


@dataclass(frozen=True, slots=True)
class BitFlip:
    """Flips each of ``n`` bits with probability ``rate_per_text / n``, one at least.

    Where no bit would flip, one that is chosen uniformly does (the shift ``0 -> 1`` of
    Carvalho Pinto and Doerr 2018, "Towards a more practice-aware runtime analysis of
    evolutionary algorithms"), so a proposal is never its parent. At a rate of one this
    adds ``(1 - 1/n)^n``, about 0.37, to the expected number of flips.

    Args:
        rate_per_text: Expected number of flips before the rule above, positive; from
            ``n`` on every bit flips.
        failure_rate: Probability that a proposal fails, in ``[0, 1]``; the caller
            draws it.

    Raises:
        TypeError: A parameter is not a real number.
        ValueError: ``rate_per_text`` is not positive and finite, or ``failure_rate``
            lies outside ``[0, 1]``.
    """

    rate_per_text: float = 1.0
    failure_rate: float = 0.0

    n_parents: ClassVar[int] = 1

    def __post_init__(self) -> None:
        positive("rate_per_text", self.rate_per_text)
        within("failure_rate", self.failure_rate, 0.0, 1.0)

    def propose(self, parents: tuple[str, ...], rng: np.random.Generator) -> str:
        """Returns the only parent with at least one bit flipped.

        Args:
            parents: One string of zeros and ones, not empty.
            rng: Source of ``n`` numbers, and of one more where none of them flips.

        Raises:
            ValueError: ``parents`` is not one such string.
        """
        if len(parents) != 1 or not parents[0] or parents[0].strip("01"):
            raise ValueError(
                f"parents must be one string of zeros and ones, got {parents!r}"
            )
        bits = np.frombuffer(parents[0].encode("ascii"), dtype=np.uint8)
        n = bits.size
        flips = rng.random(n) < self.rate_per_text / n
        if not flips.any():
            flips[int(rng.random() * n)] = True
        # "0" and "1" differ in their lowest bit alone.
        return (bits ^ flips).tobytes().decode("ascii")
