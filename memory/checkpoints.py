"""Checkpoints: a journal as one file, and back, into a store of any kind.

The file begins with a line of text that names the format, its version and the SHA-256 of
all that follows: lines of JSON, compressed by gzip (``tail -n +2 FILE | gunzip`` shows
them). First comes how many rows had been trimmed; then each row, a string; each body, a
pair with its key; each snapshot, with its reader and place. Bytes are written as the
characters of the same numbers, so what is ASCII can be read.

The same journal gives the same bytes (with one release of zlib): no clock, no name and no
random number goes in. A file is written beside the old one and put in its place when it is
whole and on the disk, so a death at any moment leaves the one or the other.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from memory.stores.dump import Dump, Snapshot, require_whole
from memory.stores.journal import Journal

VERSION = 1
_HEADER = "boltzmem checkpoint {} sha256 {}\n"
_FORM = re.compile(rb"boltzmem checkpoint ([1-9][0-9]*) sha256 ([0-9a-f]{64})\n")
# A first line of more bytes than this is none of ours.
_LONGEST_HEADER = 200
_BLOCK = 1 << 20
# The format of gzip, around the widest window.
_GZIP = 16 + zlib.MAX_WBITS


class CheckpointUnreadable(ValueError):
    """A file is damaged, incomplete, foreign, or of a later release."""


def save_checkpoint(journal: Journal, path: str | os.PathLike[str]) -> None:
    """Writes all that ``journal`` holds at this moment into the file at ``path``.

    Whatever fails, a file that was there stays as it was.

    Args:
        journal: The journal, which others may go on using.
        path: File to make or to replace, in a folder that exists.

    Raises:
        OSError: The file cannot be written.
        TypeError: ``path`` is no path.
    """
    target = Path(path)
    dump = journal.dump()
    # Its own name, so that two who save at once do not write into one file.
    beside = target.with_name(f".checkpoint-{os.urandom(8).hex()}.new")
    try:
        with beside.open("xb") as file:
            _write(file, dump)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            beside.unlink()
        raise
    _settle(target.parent)


def load_checkpoint(path: str | os.PathLike[str], journal: Journal) -> None:
    """Fills an empty ``journal`` with the checkpoint at ``path``, whole or not at all.

    Raises:
        CheckpointUnreadable: The file is damaged, incomplete, foreign, or of a later
            release.
        OSError: The file cannot be read.
        TypeError: ``path`` is no path.
        ValueError: The journal holds entries or has readers.
    """
    journal.restore(read_checkpoint(path))


def read_checkpoint(path: str | os.PathLike[str]) -> Dump:
    """Returns what the checkpoint at ``path`` holds.

    Raises:
        CheckpointUnreadable: The file is damaged, incomplete, foreign, or of a later
            release.
        OSError: The file cannot be read.
        TypeError: ``path`` is no path.
    """
    with Path(path).open("rb") as file:
        try:
            _verify(file)
            dump = _parsed(file)
            require_whole(dump)
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CheckpointUnreadable(f"{os.fspath(path)} {error}") from error
    return dump


def _write(file: BinaryIO, dump: Dump) -> None:
    # The hash is known at the end, and takes as much room as its stand-in.
    file.write(_HEADER.format(VERSION, "0" * 64).encode())
    digest = hashlib.sha256()
    for block in _compressed(_lines(dump)):
        digest.update(block)
        file.write(block)
    file.seek(0)
    file.write(_HEADER.format(VERSION, digest.hexdigest()).encode())


def _compressed(lines: Iterable[str]) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=_GZIP)
    for line in lines:
        yield compressor.compress(line.encode())
    yield compressor.flush()


def _lines(dump: Dump) -> Iterator[str]:
    records = chain(
        [{"trimmed": dump.trimmed}],
        (_text(row) for row in dump.rows),
        ([key, _text(body)] for key, body in dump.bodies),
        ([reader, seq, _text(blob)] for reader, seq, blob in dump.snapshots),
    )
    for record in records:
        yield json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _text(blob: bytes) -> str:
    return blob.decode("latin-1")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _verify(file: BinaryIO) -> None:
    """Reads the first line of ``file`` and checks that the rest is what was written.

    Raises:
        ValueError: It is not; the message goes on from the name of the file.
    """
    found = _FORM.fullmatch(file.readline(_LONGEST_HEADER))
    if found is None:
        raise ValueError("is no checkpoint of boltzmem, or its first line is damaged")
    version, expected = int(found[1]), found[2].decode()
    if version != VERSION:
        raise ValueError(
            f"is a checkpoint of version {version}, this release reads version {VERSION}"
        )
    start = file.tell()
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    if digest.hexdigest() != expected:
        raise ValueError(
            f"is damaged or incomplete: its SHA-256 is {digest.hexdigest()}, it was "
            f"written with {expected}"
        )
    file.seek(start)


def _parsed(file: BinaryIO) -> Dump:
    rows: list[bytes] = []
    bodies: list[tuple[str, bytes]] = []
    snapshots: list[Snapshot] = []
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        first = json.loads(lines.readline())
        for line in lines:
            match json.loads(line):
                case str(row):
                    rows.append(_bytes(row))
                case [str(key), str(body)]:
                    bodies.append((key, _bytes(body)))
                case [str(reader), int(seq), str(blob)]:
                    snapshots.append(Snapshot(reader, seq, _bytes(blob)))
                case _:
                    raise ValueError(f"holds what is none of ours: {line[:80]!r}")
    match first:
        case {"trimmed": int(trimmed)}:
            return Dump(trimmed, tuple(rows), tuple(bodies), tuple(snapshots))
    raise ValueError("does not say how many rows have been trimmed")


def _settle(folder: Path) -> None:
    """Waits until the disk knows the new name, which a power loss could undo."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
