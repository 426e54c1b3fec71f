"""A process that talks and compresses until it is killed; run by a test.

Prints the id of each message once it has been acknowledged.
"""

from __future__ import annotations

import asyncio
import sys

from memory import open_journal
from memory.graded.memory import GradedMemory
from memory.graded.messages import assistant, user
from memory.graded.settings import GradedSettings

SETTINGS = GradedSettings(threshold_tokens=300)


def main(url: str, name: str, stream: str) -> None:
    with GradedMemory(
        SETTINGS, open_journal(url, name), stream=stream, compact_interval=20
    ) as memory:
        print(memory.add(user("TASK")).id, flush=True)
        for number in range(1_000_000):
            print(memory.add(assistant(f"step {number} of it")).id, flush=True)
            asyncio.run(memory.compress_overdue())


if __name__ == "__main__":
    main(*sys.argv[1:])
