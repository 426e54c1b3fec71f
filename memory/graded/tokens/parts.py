"""What a message adds to a request beyond its words, alike for every counter.

A chat format wraps each message in a start, its role and an end: OpenAI's published rule
for counting is 3 tokens a message and one for the role (OpenAI Cookbook, "How to count
tokens with tiktoken"). A picture of 1024 x 1024 pixels costs 765 tokens by the published
rule of the same interface (85 and 4 tiles of 170).
"""

from __future__ import annotations

from collections.abc import Callable

from memory.graded.messages import Media, Message, Text, Thinking, ToolCall, ToolOutput

#: Tokens of the frame around a message, its role included.
FRAME_TOKENS = 4
#: Tokens of the frame around a call or an output of a tool.
CALL_TOKENS = 4
#: Tokens of a medium, whatever its kind and size.
MEDIA_TOKENS = 765


def message_tokens(message: Message, text: Callable[[str], int]) -> int:
    """Returns the tokens of ``message``, its words counted by ``text``."""
    total = FRAME_TOKENS
    if message.sender:
        total += text(message.sender)
    for element in message.elements:
        match element:
            case Text(words) | Thinking(words):
                total += text(words)
            case ToolCall(call_id, target, arguments):
                total += CALL_TOKENS + text(call_id) + text(target) + text(arguments)
            case ToolOutput(call_id, target, parts):
                total += CALL_TOKENS + text(call_id) + text(target)
                for part in parts:
                    total += text(part.text) if isinstance(part, Text) else MEDIA_TOKENS
            case Media():
                total += MEDIA_TOKENS
    return total
