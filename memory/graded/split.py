"""Where LoongFlow cuts a conversation: what it compresses and what it keeps.

Only for comparison (``profile: upstream``). The current user question goes into the
compressed part, and so does a system prompt before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory.graded.messages import Message, Role, ToolCall


def upstream_split(messages: Sequence[Message]) -> int:
    """Returns how many of ``messages`` LoongFlow compresses; the rest is kept verbatim.

    From the end, the first message of these ends the compressed part: one of the user,
    one of a tool, one of the assistant that calls no tool. Without one, nothing is
    compressed.
    """
    for index in reversed(range(len(messages))):
        if _ends(messages[index]):
            return index + 1
    return 0


def _ends(message: Message) -> bool:
    if message.role is Role.ASSISTANT:
        return not any(isinstance(one, ToolCall) for one in message.elements)
    return message.role in (Role.USER, Role.TOOL)
