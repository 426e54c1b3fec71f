"""LoongFlow's temperature: a factor of the population's diversity.

LoongFlow computes ``0.8 clip(2 D base, minimum, maximum) + 0.2 base`` afresh at every
draw. Its documentation speaks of smoothing over steps and of bounds; neither holds, for
nothing is stored between draws and the blend leaves the bounds. Both of its choices and
both of the documented ones are parameters here, so that they can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memory.policies import Control, Mapping, Signal
from memory.records import flag, positive, within


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Temperature ``base * mapping(D)``, bounded and blended with the one before.

    The defaults suit scores scaled to ``[0, 1]``. LoongFlow's own are base 1, bounds 0.5
    and 2, blend 0.2, stateless, bounds first, and no bound of the diversity.

    Args:
        mapping: Factor of the base temperature for a diversity in ``[0, 1]``.
        base: Temperature at factor 1, and the state before the first update, positive,
            in units of scaled score.
        minimum: Lowest temperature, positive.
        maximum: Highest temperature, at least ``minimum``.
        blend: Share of the state that is kept, in ``[0, 1]``; 0 keeps nothing.
        stateful: Whether the state is the temperature before, so that the blend
            smooths; LoongFlow's state is ``base`` for ever, so that it is an offset.
        clamp_first: Whether the bounds are applied before the blend, as LoongFlow does,
            so that the result may lie outside them; by default they are applied last.
        maximum_diversity: Diversity above which the mapping sees no more, at least 1.
            ``text_shape`` reaches 1.3, where ``Inverted`` would be negative.

    Raises:
        TypeError: A number is not a real number, or ``mapping`` has no ``factor``.
        ValueError: A parameter is out of range.

    References:
        LoongFlow, ``boltzmann.py``, revision 3c1edc12.
    """

    mapping: Mapping
    base: float = 0.1
    minimum: float = 0.01
    maximum: float = 0.5
    blend: float = 0.2
    stateful: bool = True
    clamp_first: bool = False
    maximum_diversity: float = 1.0

    reads_diversity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(getattr(self.mapping, "factor", None)):
            raise TypeError(
                f"mapping must have a method factor(diversity), got {self.mapping!r}"
            )
        positive("base", self.base)
        positive("minimum", self.minimum)
        if positive("maximum", self.maximum) < self.minimum:
            raise ValueError(
                f"maximum must be at least minimum, got {self.maximum} < {self.minimum}"
            )
        within("blend", self.blend, 0.0, 1.0)
        flag("stateful", self.stateful)
        flag("clamp_first", self.clamp_first)
        within("maximum_diversity", self.maximum_diversity, 1.0, 1.3)

    @property
    def initial(self) -> float:
        """The state before the first update: ``base``."""
        return self.base

    def control(self, state: float, signal: Signal) -> Control:
        """Returns the temperature that follows ``state`` under ``signal``.

        At a clamp means that the bounds decided: the bounded quantity (the target as
        upstream, or the blended temperature) lay at a bound or beyond it.
        """
        diversity = min(signal.diversity, self.maximum_diversity)
        factor = self.mapping.factor(diversity)
        raw = self.base * factor
        if self.clamp_first:
            clamped, clamp = self._bounded(raw)
            temperature = (1.0 - self.blend) * clamped + self.blend * state
        else:
            blended = (1.0 - self.blend) * raw + self.blend * state
            clamped, clamp = self._bounded(blended)
            temperature = clamped
        return Control(temperature, diversity, factor, raw, clamped, clamp)

    def _bounded(self, value: float) -> tuple[float, int]:
        if value <= self.minimum:
            return self.minimum, -1
        if value >= self.maximum:
            return self.maximum, 1
        return value, 0
