"""LoongFlow's checkpoint folders, written and read.

``<path>/checkpoints/checkpoint-<tag>/`` holds ``metadata.json``, ``best_solution.json``
and one file per solution in ``solutions/``. A folder is made beside its place and put
there when it is whole; one of the same tag is replaced with all that was in it. An id is
never a path: what could be one is written in another way, and reading trusts the id inside
a file and not its name. Nothing in a folder is executed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

from memory.checkpoints import CheckpointUnreadable
from memory.interop.loongflow_solution import Solution
from memory.records import utf8

#: Our own checkpoint of the journal, beside LoongFlow's files, which do not mind it.
JOURNAL = "boltzmem.checkpoint"

_LONGEST_NAME = 200
_LONGEST_TAG = 200
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")


class Folder(NamedTuple):
    """What a checkpoint says.

    Attributes:
        solutions: All solutions, alive or not, copies too.
        metadata: The population's own data, LoongFlow's keys.
        best: The best solution, if there is one.
    """

    solutions: Sequence[Solution]
    metadata: dict[str, Any]
    best: Solution | None = None

    @property
    def islands(self) -> list[list[str]]:
        """Ids of the living on each island."""
        islands: list[list[str]] = self.metadata.get("islands", [])
        return islands

    @property
    def feature_maps(self) -> list[dict[str, str]]:
        """For each island, who holds which cell, whichever backend wrote it."""
        maps = self.metadata.get("island_feature_map", [])
        if isinstance(maps, dict):
            n = max([len(self.islands), *[int(key) + 1 for key in maps]])
            return [dict(maps.get(str(island), {})) for island in range(n)]
        return [dict(one) for one in maps]


def place(path: str | os.PathLike[str], tag: str) -> Path:
    """Returns the folder of the checkpoint ``tag`` below ``path``.

    Raises:
        TypeError: ``tag`` is no string.
        ValueError: ``tag`` is empty, too long, or could lead elsewhere.
    """
    utf8("tag", tag)
    forbidden = ("/", "\\", "\0")
    if not tag or len(tag.encode()) > _LONGEST_TAG or any(c in tag for c in forbidden):
        raise ValueError(
            f"tag must be a name of 1 to {_LONGEST_TAG} bytes without slashes, got "
            f"{tag[:_LONGEST_TAG]!r}"
        )
    return Path(path) / "checkpoints" / f"checkpoint-{tag}"


def file_name(id: str) -> str:
    """Returns the name of the file of a solution, another one for every id.

    LoongFlow's own where the id is plain. What is not is written with percent signs, and
    what is too long for a file system by its hash.
    """
    if _PLAIN.fullmatch(id) and len(id) <= _LONGEST_NAME:
        return f"{id}.json"
    name = quote(id, safe="").replace(".", "%2E")
    if len(name) > _LONGEST_NAME:
        name = f"%hash-{blake2b(id.encode(), digest_size=16).hexdigest()}"
    return f"{name}.json"


def write(target: Path, folder: Folder, save_journal: Callable[[Path], None]) -> None:
    """Writes a checkpoint to ``target``, whole or not at all.

    Args:
        target: The folder, as ``place`` returns it.
        folder: What it says.
        save_journal: Writes our own checkpoint to a path.

    Raises:
        OSError: The folder cannot be written; then an older one stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.urandom(8).hex()}.new")
    try:
        (beside / "solutions").mkdir(parents=True)
        for solution in folder.solutions:
            name = file_name(solution.solution_id)
            _write(beside / "solutions" / name, solution.to_dict())
        _write(beside / "metadata.json", folder.metadata)
        if folder.best is not None:
            _write(beside / "best_solution.json", folder.best.to_dict())
        save_journal(beside / JOURNAL)
        _replace(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def read(path: str | os.PathLike[str]) -> Folder:
    """Returns what the checkpoint in the folder ``path`` says.

    Raises:
        CheckpointUnreadable: A file in it is damaged or is none of LoongFlow's; the
            message names it.
        FileNotFoundError: There is no such folder.
    """
    folder = found(path)
    file = folder / "metadata.json"
    metadata = _read(file)
    _check_metadata(metadata, file)
    files = sorted((folder / "solutions").glob("*.json"))
    best = folder / "best_solution.json"
    return Folder(
        [_solution(one) for one in files],
        metadata,
        _solution(best) if best.is_file() else None,
    )


def found(path: str | os.PathLike[str]) -> Path:
    """Returns the folder of a checkpoint; where a write was cut short, the older one.

    Raises:
        FileNotFoundError: There is none.
    """
    folder = Path(path)
    if not folder.is_dir():
        old = _old(folder)
        if old.is_dir():
            return old
        raise FileNotFoundError(f"checkpoint_path must be a folder, got {path}")
    return folder


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _replace(beside: Path, target: Path) -> None:
    """Puts ``beside`` in the place of ``target``; an older one is away for a moment."""
    old = _old(target)
    if target.is_dir():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    try:
        beside.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, data: object) -> None:
    with path.open("x", encoding="utf-8") as file:
        json.dump(data, file, indent=4, ensure_ascii=False, allow_nan=False)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise CheckpointUnreadable(f"{path} is missing") from None
    except ValueError as error:
        raise CheckpointUnreadable(f"{path} is damaged: {error}") from error
    if not isinstance(data, dict):
        raise CheckpointUnreadable(f"{path} must hold an object")
    return data


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number")


def _solution(path: Path) -> Solution:
    data = _read(path)
    if not isinstance(data.get("solution_id"), str) or not data["solution_id"]:
        raise CheckpointUnreadable(f"{path} must name a solution_id")
    if data.get("metadata") is None:
        data["metadata"] = {}
    return Solution.from_dict(data)


def _check_metadata(metadata: dict[str, Any], path: Path) -> None:
    islands = metadata.get("islands", [])
    if not isinstance(islands, list) or not all(
        isinstance(ids, list) and all(isinstance(id_, str) for id_ in ids)
        for ids in islands
    ):
        raise CheckpointUnreadable(f"{path} must hold islands, a list of lists of ids")
    for name in ("last_iteration", "current_island"):
        value = metadata.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise CheckpointUnreadable(f"{path} must hold {name}, not negative")
    maps = metadata.get("island_feature_map", [])
    if isinstance(maps, dict):
        maps = list(maps.values()) if all(key.isdigit() for key in maps) else [None]
    if not isinstance(maps, list) or not all(isinstance(one, dict) for one in maps):
        raise CheckpointUnreadable(
            f"{path} must hold island_feature_map, a list or a map of maps"
        )
