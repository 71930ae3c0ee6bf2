"""A reply as it stands in a file that may be damaged."""

from __future__ import annotations

from typing import Any

from llm_client.request import ChatReply


def read_reply(text: Any) -> ChatReply | None:
    """The reply that ``ChatReply.to_json`` wrote, or None where ``text`` is none."""
    try:
        text.encode()  # Bytes that are no UTF-8 have become half surrogate pairs, which no reply is written with.
        reply = ChatReply.from_json(text)
    except (AttributeError, ValueError, TypeError, RecursionError):
        return None
    words = (reply.text, reply.model, reply.finish_reason)
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens)
    if not all(isinstance(word, str) for word in words):
        return None
    return reply if all(count is None or type(count) is int for count in counts) else None
