"""The count of tokens by a vocabulary file that the user has.

Two kinds of files are read: ``tokenizer.json`` through the ``tokenizers`` library, and
``*.tiktoken`` through ``tiktoken``. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

from memory.graded.messages import Message
from memory.graded.tokens.parts import message_tokens
from memory.records import utf8

#: How ``o200k_base`` cuts a text before the pairs are merged.
O200K_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


@dataclass(frozen=True, slots=True)
class Exact:
    """Counts tokens with a vocabulary file.

    Args:
        path: The file: ``*.json`` for ``tokenizers``, ``*.tiktoken`` for ``tiktoken``.
        pattern: How a text is cut before pairs are merged, for ``tiktoken`` alone.

    Raises:
        FileNotFoundError: There is no such file.
        ImportError: The library that reads it is not installed.
        TypeError: A parameter is not a string.
        ValueError: The file's name ends otherwise, or it cannot be read.
    """

    path: str
    pattern: str = O200K_PATTERN
    #: Hash of the file's content, which is the same wherever the file lies.
    vocabulary: str = field(init=False, default="")

    def __post_init__(self) -> None:
        file = Path(utf8("path", self.path))
        utf8("pattern", self.pattern)
        if file.suffix not in _READERS:
            raise ValueError(
                f"path must end in {' or '.join(_READERS)}, got {self.path!r}"
            )
        digest = blake2b(file.read_bytes(), digest_size=16).hexdigest()
        object.__setattr__(self, "vocabulary", digest)
        _encoder(self.path, self.pattern, digest)

    def described(self) -> dict[str, str]:
        """Returns what decides the counts: not where the file lies, but what it holds."""
        return {"vocabulary": self.vocabulary, "pattern": self.pattern}

    def text(self, text: str) -> int:
        """Returns the tokens of ``text``; names of special tokens count as text."""
        return _encoder(self.path, self.pattern, self.vocabulary)(text)

    def count(self, message: Message) -> int:
        """Returns the tokens of ``message``: its texts exactly, its frame by the rule."""
        return message_tokens(message, self.text)


@lru_cache(maxsize=8)
def _encoder(path: str, pattern: str, _: str) -> Callable[[str], int]:
    """Returns the counter of a file; read again where its content has changed."""
    file = Path(path)
    return _READERS[file.suffix](file, pattern)


def _library(name: str) -> Any:  # noqa: ANN401
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"an exact count with this file needs the library {name!r}: pip install {name}"
        ) from None


def _tokenizers(file: Path, _: str) -> Callable[[str], int]:
    library = _library("tokenizers")
    try:
        tokenizer = library.Tokenizer.from_file(str(file))
    # The library raises bare exceptions of its own.
    except Exception as error:
        raise ValueError(f"path must name a vocabulary, got {file}: {error}") from error

    def encode(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return encode


def _tiktoken(file: Path, pattern: str) -> Callable[[str], int]:
    library = _library("tiktoken")
    load = _library("tiktoken.load")
    try:
        ranks = load.load_tiktoken_bpe(str(file))
        encoding = library.Encoding(
            name=file.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
    # The library raises bare exceptions of its own.
    except Exception as error:
        raise ValueError(f"path must name a vocabulary, got {file}: {error}") from error

    def encode(text: str) -> int:
        return len(encoding.encode(text, disallowed_special=()))

    return encode


_READERS = {".json": _tokenizers, ".tiktoken": _tiktoken}
