"""A server's chat completion, read with nothing taken for granted."""

from __future__ import annotations

from typing import Any

from llm_client.request import ChatReply

_MOST_TOKENS = 10**12
"""More is no count of tokens."""


def read_completion(document: Any) -> ChatReply:
    """The reply in the JSON document that a server gave back.

    Raises
    ------
    ValueError
        It is no chat completion; the text says what is wrong with it, and what the server said instead.
    """
    try:
        choice = document["choices"][0]
        message, refusal = choice["message"], choice["message"].get("refusal")
        reply = ChatReply(
            text=message.get("content") or refusal or "",
            model=document.get("model") or "",
            prompt_tokens=_count(document, "usage", "prompt_tokens"),
            completion_tokens=_count(document, "usage", "completion_tokens"),
            cached_tokens=_count(document, "usage", "prompt_tokens_details", "cached_tokens"),
            finish_reason="refusal" if refusal else choice.get("finish_reason") or "stop",
        )
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ValueError(f"it has no usable choice ({_said(document)})") from None
    for name in ("text", "model", "finish_reason"):
        if not isinstance(getattr(reply, name), str):
            raise ValueError(f"its {name} is no string")
    return reply


def _said(document: Any) -> str:
    error = document.get("error") if isinstance(document, dict) else None
    return repr(document if error is None else error)


def _count(document: Any, *path: str) -> int | None:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    usable = isinstance(document, int) and not isinstance(document, bool) and 0 <= document <= _MOST_TOKENS
    return document if usable else None
