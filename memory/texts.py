"""When two texts are the same one: normalisation, and a key of what is left."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b

_KEY_BYTES = 8


def normalised(text: str) -> str:
    """Returns ``text`` without what nobody sees.

    White space at the end of lines, blank lines around the text, the kind of line break
    and the composition of characters (Unicode NFC) do not make a text another one.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def text_key(text: str) -> str:
    """Returns 64 bits, as hexadecimal digits, that stand for the normalised text."""
    return blake2b(normalised(text).encode(), digest_size=_KEY_BYTES).hexdigest()
