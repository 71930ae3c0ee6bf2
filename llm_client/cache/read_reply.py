"""A reply as it stands in a file that may be damaged."""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any

from apportion.llm_client.request import ChatReply

SQL_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file ends in: SQLite's own message may quote what is no text any more."""


def checksum(text: str) -> int:
    """What is kept beside a reply's ``text`` to tell whether it is still the same."""
    return zlib.crc32(text.encode())


def read_reply(text: Any, crc: Any = None) -> ChatReply | None:
    """The reply that ``ChatReply.to_json`` wrote; None where ``text`` is none or has not the checksum ``crc``."""
    try:
        # Bytes that are no UTF-8 have become half surrogate pairs, which cannot be encoded.
        if checksum(text) != crc and crc is not None:
            return None
        reply = ChatReply.from_json(text)
    except (AttributeError, ValueError, TypeError, RecursionError):
        return None
    words = (reply.text, reply.model, reply.finish_reason)
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens)
    if not all(isinstance(word, str) for word in words):
        return None
    return reply if all(count is None or type(count) is int for count in counts) else None
