"""Looks after the stores of populations: what they hold, removing, saving, putting back.

URL is sqlite:///file, redis://server, rediss://server or unix:///socket.

  boltzmem store status sqlite:///population.db
  boltzmem store purge redis://localhost:6379/0 main
  boltzmem store checkpoint redis://localhost:6379/0 main main.checkpoint
  boltzmem store restore main.checkpoint sqlite:///population.db main
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import memory
from experiments.composition import ConfigurationError

ACTIONS = ("status", "settings", "purge", "checkpoint", "restore")
# Wide enough that nothing is cut where no person's terminal sets the width.
_WIDTH = 1_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this verb."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    status = actions.add_parser("status", help="list the populations of a store")
    _place(status)
    removing = actions.add_parser("purge", help="remove a population whole; asks first")
    _place(removing, "name of the population")
    removing.add_argument("--yes", action="store_true", help="do not ask")
    saving = actions.add_parser("checkpoint", help="save a population into a file")
    _place(saving, "name of the population")
    saving.add_argument(
        "file", type=Path, metavar="FILE", help="file to make or replace"
    )
    restoring = actions.add_parser("restore", help="put a checkpoint into a store")
    restoring.add_argument("file", type=Path, metavar="FILE", help="a checkpoint")
    _place(restoring, "name of a population that is empty, or not there yet")
    removing.add_argument(
        "--scope", metavar="SCOPE", help="only this scope of the population"
    )
    asking = actions.add_parser("settings", help="how a population was configured")
    _place(asking, "name of a population")
    status.set_defaults(act=_status)
    asking.set_defaults(act=_settings)
    removing.set_defaults(act=_purge)
    saving.set_defaults(act=_checkpoint)
    restoring.set_defaults(act=_restore)


def run(options: argparse.Namespace) -> int:
    """Runs the verb; returns 0, or 1 if a purge was not confirmed."""
    try:
        return int(options.act(options))
    except (LookupError, ModuleNotFoundError, ValueError) as error:
        raise ConfigurationError(str(error)) from None


def _place(parser: argparse.ArgumentParser, name: str = "") -> None:
    parser.add_argument("url", metavar="URL", help="address of the store")
    if name:
        parser.add_argument("name", metavar="NAME", help=name)


def _status(options: argparse.Namespace) -> int:
    sizes = memory.list_populations(options.url)
    if sizes:
        _show(sizes)
    else:
        print("no populations")
    return 0


def _purge(options: argparse.Namespace) -> int:
    _show([_found(options.url, options.name)])
    if not options.yes and not _confirmed():
        print("nothing was purged")
        return 1
    if options.scope is not None:
        with memory.open_journal(options.url, options.name) as journal:
            n_keys = memory.purge_scope(journal, options.scope)
        print(
            f"purged scope {_shown(repr(options.scope))} of {n_keys} records and notes"
        )
        return 0
    size = memory.purge(options.url, options.name)
    print(f"purged {_shown(size.name)} of {size.entries} entries")
    return 0


def _settings(options: argparse.Namespace) -> int:
    size = _found(options.url, options.name)
    with memory.open_journal(options.url, size.name) as journal:
        found = memory.configurations(journal.dump())
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0


def _checkpoint(options: argparse.Namespace) -> int:
    size = _found(options.url, options.name)
    with memory.open_journal(options.url, size.name) as journal:
        memory.save_checkpoint(journal, options.file)
    print(options.file)
    return 0


def _restore(options: argparse.Namespace) -> int:
    # A file that is refused makes no store.
    dump = memory.read_checkpoint(options.file)
    if options.url == "memory:":
        raise ValueError("url must name a store that outlives a process")
    with memory.open_journal(options.url, options.name) as journal:
        journal.restore(dump)
    _show([_found(options.url, options.name)])
    return 0


def _found(url: str, name: str) -> memory.PopulationSize:
    """Returns what the population ``name`` takes up.

    Raises:
        LookupError: There is none.
    """
    for size in memory.list_populations(url):
        if size.name == name:
            return size
    raise LookupError(f"the store holds no population called {_shown(name)}")


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "there is no terminal to ask whether to purge it: say --yes"
        )
    try:
        return input("Purge it for ever? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _show(sizes: list[memory.PopulationSize]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", overflow="fold")
    columns = ("entries", "rows", "bodies", "readers", "bytes")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for size in sizes:
        counts = (f"{getattr(size, column):,}" for column in columns)
        table.add_row(Text(_shown(size.name)), *counts)
    width = None if sys.stdout.isatty() else _WIDTH
    Console(width=width, highlight=False).print(table)


def _shown(name: str) -> str:
    """Returns ``name`` without what would move the cursor of a terminal."""
    return name if name.isprintable() else repr(name)
