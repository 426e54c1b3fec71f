"""How far a text is from texts that stay the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory.policies import Diversity
from memory.records import utf8


@dataclass(frozen=True, slots=True)
class ReferenceDistance:
    """Mean distance of the text from a configured list of references.

    LoongFlow measures against its first twenty solutions, whichever these are; references
    that are part of the configuration give each text one value, whenever it arrives.

    Args:
        diversity: Metric whose ``features`` and ``distance`` are used.
        references: The texts to measure from, at least one.

    Raises:
        TypeError: ``diversity`` lacks one of these methods, or ``references`` is no list
            of strings.
        ValueError: ``references`` is empty, or a text is not UTF-8.
    """

    diversity: Diversity
    references: Sequence[str]

    def __post_init__(self) -> None:
        for method in ("features", "distance"):
            if not callable(getattr(self.diversity, method, None)):
                raise TypeError(
                    f"diversity must be a metric with a method {method}, "
                    f"got {self.diversity!r}"
                )
        references = self.references
        if isinstance(references, str) or not isinstance(references, Sequence):
            raise TypeError(f"references must be a list of texts, got {references!r}")
        if not references:
            raise ValueError("references must not be empty, got no text")
        checked = tuple(
            utf8(f"references[{index}]", text) for index, text in enumerate(references)
        )
        object.__setattr__(self, "references", checked)

    def value(self, text: str, score: float) -> float:
        """Returns the mean distance of ``text``, in units of the metric."""
        metric = self.diversity
        features = metric.features(text)
        # An exact sum, so that the order of the references does not matter.
        total = math.fsum(
            metric.distance(features, metric.features(reference))
            for reference in self.references
        )
        return total / len(self.references)
