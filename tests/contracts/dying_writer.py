"""Appends to a SQLite journal and dies by SIGKILL before its n-th statement.

Run as ``dying_writer.py FOLDER``: for n = 1, 2, ... a child on a fresh file, named by n,
until one lives to the end. Every child writes what was acknowledged beside its file.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path

from memory.stores.sqlite import SqliteJournal

connect = sqlite3.connect


def live(path: Path, n_statements: int) -> None:
    left = n_statements

    def count(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(count)
        return connection

    sqlite3.connect = traced
    acknowledged = path.with_suffix(".acknowledged").open("w", buffering=1)
    with SqliteJournal(path) as journal:
        for k in range(1, 4):
            journal.append(f"k{k}", b"row %d" % k, b"body %d" % k)
            print(f"k{k}", file=acknowledged)
        journal.save_snapshot(2, b"two")
        journal.trim(1)
        journal.discard(["k1"])
        with SqliteJournal(path, "restored") as other:
            other.restore(journal.dump())


def main(folder: Path) -> None:
    for n in range(1, 1_000):
        child = os.fork()
        if child == 0:
            live(folder / f"{n}.db", n)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
