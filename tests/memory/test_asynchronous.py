"""The memory for callers that await: the same draws, in turn, whatever is cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from memory import AsyncMemory, EvolutionaryMemory, InMemoryJournal
from memory.stores.sqlite import SqliteJournal


class Gate(InMemoryJournal):
    """A journal that waits before each append until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go, self.fails = threading.Event(), threading.Event(), False
        self.go.set()

    def append_and_read(self, *arguments: Any, **named: Any) -> Any:
        self.begun.set()
        assert self.go.wait(20)
        if self.fails:
            raise OSError("the disk is full")
        return super().append_and_read(*arguments, **named)


def test_draws_are_the_same_as_without() -> None:
    async def awaited() -> list[str]:
        memory = AsyncMemory(EvolutionaryMemory(seed=3))
        drawn = []
        for k in range(30):
            parent = await memory.select() if k else None
            await memory.remember(f"{k}", k / 30, parent=parent)
            await memory.remember_failure(f"broken {k}", "no")
            drawn.append(parent.id if parent else "")
        return drawn

    plain = EvolutionaryMemory(seed=3)
    drawn = []
    for k in range(30):
        parent = plain.select() if k else None
        plain.remember(f"{k}", k / 30, parent=parent)
        plain.remember_failure(f"broken {k}", "no")
        drawn.append(parent.id if parent else "")
    assert asyncio.run(awaited()) == drawn


def test_calls_take_turns_in_their_order() -> None:
    async def together() -> list[str]:
        memory = AsyncMemory(EvolutionaryMemory())
        await asyncio.gather(
            *[memory.remember(f"{k}", k, id=f"{k}") for k in range(40)]
        )
        return [one.id for one in memory.memory.history()]

    assert asyncio.run(together()) == [f"{k}" for k in range(40)]


def test_the_loop_goes_on_while_a_store_is_slow() -> None:
    async def main() -> int:
        journal = Gate()
        memory = AsyncMemory(EvolutionaryMemory(journal=journal))
        journal.go.clear()
        adding = asyncio.create_task(memory.remember("a", 0.5))
        turns = 0
        while not journal.begun.is_set() or turns < 50:
            await asyncio.sleep(0)
            turns += 1
        assert not adding.done()
        journal.go.set()
        assert (await adding).score == 0.5
        return turns

    assert asyncio.run(main()) >= 50


@pytest.mark.parametrize("times", [1, 3])
def test_a_call_that_is_cancelled_goes_on_to_its_end_before_the_next(
    times: int,
) -> None:
    async def main() -> list[str]:
        journal = Gate()
        memory = AsyncMemory(EvolutionaryMemory(journal=journal))
        journal.go.clear()
        journal.begun.clear()
        first = asyncio.create_task(memory.remember("a", 0.5, id="a"))
        while not journal.begun.is_set():
            await asyncio.sleep(0.001)
        # One that needs nothing of the memory, and so waits for its turn alone.
        second = asyncio.create_task(memory.call(lambda: "done"))
        for _ in range(times):
            first.cancel()
            await asyncio.sleep(0.01)
        assert not second.done()
        journal.go.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == "done"
        return list(memory.memory.ids)

    assert asyncio.run(main()) == ["a"]


def test_the_error_of_a_cancelled_call_is_nobodys_and_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.append(context)
        )
        journal = Gate()
        memory = AsyncMemory(EvolutionaryMemory(journal=journal))
        journal.go.clear()
        journal.begun.clear()
        journal.fails = True
        adding = asyncio.create_task(memory.remember("a", 0.5))
        while not journal.begun.is_set():
            await asyncio.sleep(0.001)
        adding.cancel()
        await asyncio.sleep(0.001)
        journal.go.set()
        with pytest.raises(asyncio.CancelledError):
            await adding

    asyncio.run(main())
    import gc

    gc.collect()
    assert reported == []


def test_an_error_reaches_the_caller_and_the_next_call_has_its_turn() -> None:
    async def main() -> int:
        memory = AsyncMemory(EvolutionaryMemory())
        with pytest.raises(ValueError, match="score must be a finite real number"):
            await memory.remember("a", float("nan"))
        await memory.remember("a", 0.5)
        return len(memory.memory)

    assert asyncio.run(main()) == 1


def test_every_method_can_be_awaited_by_call(tmp_path: Any) -> None:
    async def main() -> tuple[float | None, int]:
        journal = SqliteJournal(tmp_path / "a.db")
        async with AsyncMemory(EvolutionaryMemory(journal=journal)) as memory:
            await memory.remember("a", 0.5, id="a")
            await memory.call(memory.memory.rescore, "a", 0.7, "the unit was wrong")
            assert await memory.sync() == 0
            best = await memory.call(memory.memory.best)
            assert best is not None
            return best.score, memory.memory.seq

    assert asyncio.run(main()) == (0.7, 3)


def test_only_a_memory_can_be_awaited() -> None:
    with pytest.raises(TypeError, match="memory must be an EvolutionaryMemory, got 3"):
        AsyncMemory(3)  # type: ignore[arg-type]
