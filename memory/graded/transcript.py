"""A conversation as lines of text, as compressors read it."""

from __future__ import annotations

from memory.graded.messages import Message, readable


def speaker(message: Message) -> str:
    """Returns who speaks: the role, and the sender where there is one."""
    if message.sender:
        return f"{message.role} ({message.sender})"
    return str(message.role)


def line(message: Message) -> str:
    """Returns ``message`` as ``speaker: text``, without its thinking."""
    return f"{speaker(message)}: {readable(message.elements)}"
