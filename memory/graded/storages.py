"""Storages under the names that LoongFlow gives them, for those who come from there.

A storage holds messages by id, in their order of arrival, and nothing else: no tiers, no
compression, no history. ``GradedMemory`` keeps a journal instead, which appends where
``FileStorage`` rewrites its file.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from memory.graded.codec import from_plain, plain
from memory.graded.lexical import Lexical
from memory.graded.messages import Message
from memory.records import count, utf8

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None  # type: ignore[assignment]

_FORMAT = "boltzmem messages"
_VERSION = 1


class StorageCorrupt(ValueError):
    """A file is no storage of ours, or damaged; it is left as it is, with a copy aside."""


class Storage(Protocol):
    """Messages by id, in their order of arrival."""

    async def add(self, message: Message | Sequence[Message]) -> None:
        """Adds a message or several; one whose id is there takes its place."""

    async def get(self, id: str) -> Message | None:
        """Returns the message of that id, or ``None``."""

    async def remove(self, id: str) -> bool:
        """Removes a message; returns whether it was there."""

    async def search(self, query: str, limit: int = 10) -> list[Message]:
        """Returns at most ``limit`` messages, positive, that hold words of ``query``."""

    async def get_all(self) -> list[Message]:
        """Returns all messages in their order of arrival."""

    async def get_size(self) -> int:
        """Returns the number of messages."""

    async def clear(self) -> None:
        """Removes all messages."""


class InMemoryStorage:
    """Messages in this process's memory."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}

    async def add(self, message: Message | Sequence[Message]) -> None:
        """See ``Storage``.

        Raises:
            TypeError: ``message`` is neither a message nor a sequence of them.
        """
        self._messages |= {one.id: one for one in _several(message)}

    async def get(self, id: str) -> Message | None:
        """See ``Storage``."""
        return self._messages.get(utf8("id", id))

    async def remove(self, id: str) -> bool:
        """See ``Storage``."""
        return self._messages.pop(utf8("id", id), None) is not None

    async def search(self, query: str, limit: int = 10) -> list[Message]:
        """See ``Storage``; by BM25, the best first."""
        return _found(self._messages, query, limit)

    async def get_all(self) -> list[Message]:
        """See ``Storage``."""
        return list(self._messages.values())

    async def get_size(self) -> int:
        """See ``Storage``."""
        return len(self._messages)

    async def clear(self) -> None:
        """See ``Storage``."""
        self._messages = {}


class FileStorage:
    """Messages in one JSON file, which every change writes anew, whole or not at all.

    Several instances on one path, of several processes too, see what the others wrote: a
    change is made to what the file holds at that moment, under a lock (where the system
    has such locks). A link is followed, and the file keeps its permissions. The file bears
    a checksum. One that does not read is refused, by
    every call, for as long as it lies there; a copy is put beside it.

    Args:
        path: The file; missing folders are made when it is first written.

    Raises:
        TypeError: ``path`` is neither a string nor a path.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if isinstance(path, str):
            utf8("path", path)
        self._path = Path(path)
        self._lock = threading.Lock()
        self._messages: dict[str, Message] = {}
        self._signature: tuple[int, ...] | None = None

    @property
    def path(self) -> Path:
        """The file itself, where the path is that of a link."""
        return Path(os.path.realpath(self._path))

    async def add(self, message: Message | Sequence[Message]) -> None:
        """See ``Storage``.

        Raises:
            StorageCorrupt: The file does not read.
            TypeError: ``message`` is neither a message nor a sequence of them.
        """
        several = _several(message)
        with self._exclusive():
            self._write(self._read() | {one.id: one for one in several})

    async def get(self, id: str) -> Message | None:
        """See ``Storage``; refuses a corrupt file."""
        return self._now().get(utf8("id", id))

    async def remove(self, id: str) -> bool:
        """See ``Storage``; refuses a corrupt file."""
        utf8("id", id)
        if not self.path.parent.is_dir():
            return False
        with self._exclusive():
            messages = dict(self._read())
            if messages.pop(id, None) is None:
                return False
            self._write(messages)
            return True

    async def search(self, query: str, limit: int = 10) -> list[Message]:
        """See ``Storage``; by BM25, the best first. Refuses a corrupt file."""
        return _found(self._now(), query, limit)

    async def get_all(self) -> list[Message]:
        """See ``Storage``; refuses a corrupt file."""
        return list(self._now().values())

    async def get_size(self) -> int:
        """See ``Storage``; refuses a corrupt file."""
        return len(self._now())

    async def clear(self) -> None:
        """See ``Storage``; refuses a corrupt file. The file stays, empty."""
        if not self.path.parent.is_dir():
            return
        with self._exclusive():
            if self._read():
                self._write({})

    def _now(self) -> dict[str, Message]:
        with self._lock:
            return self._read()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keeps other threads and processes from changing the file."""
        with self._lock:
            path = self.path
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(path.name + ".lock")
            with beside.open("ab") as lock:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    # Left behind by a writer that was killed.
                    _new(path).unlink(missing_ok=True)
                yield

    def _read(self) -> dict[str, Message]:
        """Returns what the file holds, read again only where it is another one."""
        try:
            with self.path.open("rb") as file:
                signature = _signature(file.fileno())
                if signature != self._signature:
                    self._messages = self._parsed(file.read())
                    self._signature = signature
        except FileNotFoundError:
            self._messages, self._signature = {}, None
        return self._messages

    def _parsed(self, content: bytes) -> dict[str, Message]:
        try:
            document = json.loads(content)
            if document["format"] != _FORMAT or document["version"] != _VERSION:
                raise ValueError("it is of another kind or version")
            if document["checksum"] != _checksum(document["messages"]):
                raise ValueError("its checksum does not match")
            messages = [from_plain(fields) for fields in document["messages"]]
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise StorageCorrupt(
                f"{self.path} must be a storage of messages, {error!r}; it is left as it "
                f"is, with a copy at {self._aside(content)}"
            ) from error
        return {message.id: message for message in messages}

    def _aside(self, content: bytes) -> Path:
        """Returns where a copy of ``content`` lies: one for each content, not each call."""
        digest = blake2b(content, digest_size=4).hexdigest()
        path = self.path
        copy = path.with_name(f"{path.name}.corrupt-{digest}")
        if not copy.exists():
            _replace(copy, content)
        return copy

    def _write(self, messages: dict[str, Message]) -> None:
        several = [plain(message) for message in messages.values()]
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "checksum": _checksum(several),
            "messages": several,
        }
        # Made whole before anything is touched: what cannot be written changes nothing.
        content = json.dumps(document, ensure_ascii=False, indent=1).encode()
        self._signature = _replace(self.path, content)
        self._messages = messages


def _several(message: object) -> list[Message]:
    several = [message] if isinstance(message, Message) else message
    if (
        isinstance(several, str)
        or not isinstance(several, Sequence)
        or not all(isinstance(one, Message) for one in several)
    ):
        raise TypeError(
            f"message must be a Message or a sequence of them, got {message!r}"
        )
    return list(several)


def _found(messages: dict[str, Message], query: str, limit: int) -> list[Message]:
    utf8("query", query)
    count("limit", limit, minimum=1)
    index = Lexical()
    for message in messages.values():
        index.put(message.id, message.text)
    names, scores = index.scores(query)
    order = sorted(range(len(names)), key=lambda place: (-scores[place], -place))
    return [messages[names[place]] for place in order if scores[place] > 0.0][:limit]


def _checksum(messages: list[dict[str, Any]]) -> str:
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _signature(descriptor: int) -> tuple[int, ...]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_mtime_ns, status.st_size


def _new(path: Path) -> Path:
    """Returns where the next content of ``path`` is written before it takes its place."""
    return path.with_name(f".{path.name}.new")


def _replace(path: Path, content: bytes) -> tuple[int, ...]:
    """Puts ``content`` at ``path``, whole or not at all; returns the file's signature."""
    new = _new(path)
    try:
        with new.open("wb") as file:
            with suppress(FileNotFoundError):
                new.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            signature = _signature(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return signature
