"""The abstract base of LoongFlow's evolutionary memories."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from memory.interop.loongflow_grid import MEASURED_KEPT, REFERENCES
from memory.interop.loongflow_solution import Solution


class EvolveMemory(ABC):
    """What an agent of LoongFlow asks of its memory."""

    diversity_reference_size = REFERENCES
    diversity_cache_size = MEASURED_KEPT
    feature_scaling_method = "minmax"

    def __init__(self) -> None:
        #: Name of the population; eight hexadecimal digits unless one was given.
        self.memory_id = os.urandom(4).hex()

    @abstractmethod
    async def add_solution(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        """Remembers a solution and returns its id."""

    @abstractmethod
    def get_solutions(self, *args: Any, **kwargs: Any) -> list[Solution]:  # noqa: ANN401
        """Returns solutions by their ids."""

    @abstractmethod
    def list_solutions(self, *args: Any, **kwargs: Any) -> list[Solution]:  # noqa: ANN401
        """Returns all solutions by their time."""

    @abstractmethod
    def get_best_solutions(self, *args: Any, **kwargs: Any) -> list[Solution]:  # noqa: ANN401
        """Returns the best of the living."""

    @abstractmethod
    def sample(self, *args: Any, **kwargs: Any) -> Solution | None:  # noqa: ANN401
        """Draws a parent."""

    @abstractmethod
    async def save_checkpoint(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Writes a checkpoint."""

    @abstractmethod
    def load_checkpoint(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Reads a checkpoint."""

    @abstractmethod
    def memory_status(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        """Returns figures of the population."""

    @abstractmethod
    async def update_solution(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        """Changes what is known of a solution and returns its id."""
