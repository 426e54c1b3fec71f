"""The evolutionary memory for callers that await.

The core never awaits: a call runs in a thread of its own, one after the other, so that a
slow store does not hold up the event loop. Every draw is the same as without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from memory.evolution import EvolutionaryMemory, Parent
from memory.records import Solution

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMemory:
    """The methods of an ``EvolutionaryMemory``, to be awaited.

    Args:
        memory: The memory; it may still be used directly, also from other threads.
    """

    def __init__(self, memory: EvolutionaryMemory) -> None:
        if not isinstance(memory, EvolutionaryMemory):
            raise TypeError(f"memory must be an EvolutionaryMemory, got {memory!r}")
        self.memory = memory
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes the journal, in which every acknowledged event is already."""
        await self.call(self.memory.close)

    async def call(
        self, method: Callable[P, T], /, *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Calls a method of the memory, and returns what it returns.

        Calls take turns in the order in which they were awaited. One that is cancelled
        while it runs goes on to its end, and the next one waits for that.
        """
        async with self._turn:
            running = asyncio.ensure_future(
                asyncio.to_thread(method, *arguments, **named)
            )
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await _ended(running)
                raise

    async def select(self, **options: object) -> Parent:
        """Draws a parent: see ``EvolutionaryMemory.select``."""
        return await self.call(self.memory.select, **options)  # type: ignore[arg-type]

    async def remember(self, text: str, score: float, **options: object) -> Solution:
        """Remembers a scored text: see ``EvolutionaryMemory.remember``."""
        return await self.call(self.memory.remember, text, score, **options)  # type: ignore[arg-type]

    async def remember_failure(
        self, text: str, reason: str, **options: object
    ) -> Solution:
        """Remembers a failure: see ``EvolutionaryMemory.remember_failure``."""
        return await self.call(self.memory.remember_failure, text, reason, **options)  # type: ignore[arg-type]

    async def sync(self) -> int:
        """Folds in what others wrote: see ``EvolutionaryMemory.sync``."""
        return await self.call(self.memory.sync)


async def _ended(running: asyncio.Future[T]) -> None:
    """Waits until ``running`` has ended, however often that is cancelled."""
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([running])
    # Whoever wanted to know of an error has gone; an unseen one would be reported.
    running.exception()
