"""The engine of one process: for debugging, and for studies of a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.cells import Cell, Row, computed
from experiments.study import Study


class Serial:
    """Computes blocks one after the other in this process.

    Args:
        study: The study whose cells will be computed.
    """

    def __init__(self, study: Study) -> None:
        self.capacity = 1
        self._study = study
        self._blocks: list[Sequence[Cell]] = []

    def submit(self, block: Sequence[Cell]) -> None:
        """See ``Engine``."""
        self._blocks.append(block)

    def as_completed(self) -> Iterator[list[Row]]:
        """See ``Engine``."""
        while self._blocks:
            block = self._blocks.pop(0)
            yield [computed(self._study, cell) for cell in block]

    def cancel(self) -> None:
        """See ``Engine``."""
        self._blocks.clear()

    def close(self) -> None:
        """See ``Engine``."""
        self.cancel()
