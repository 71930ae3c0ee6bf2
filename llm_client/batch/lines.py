"""One line of a batch's files: a request as it is handed in, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apportion.llm_client.request import ChatReply
from apportion.llm_client.transport.completion import error_words, read_completion

_NOT_REACHED = ("batch_expired", "batch_cancelled")


@dataclass(frozen=True)
class BatchLine:
    """The fate of the request ``key``: a reply, or a ``refusal`` in the server's words, or neither where the batch
    ended before it was reached. ``bad_request`` says that the server did not take the request as it stood."""

    key: str
    reply: ChatReply | None = None
    refusal: str | None = None
    bad_request: bool = False


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    """The line by which the request ``key`` is handed in, its HTTP body being ``body``."""
    document = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def read_line(document: Mapping[str, Any]) -> BatchLine:
    """Read a line of an output or error file; what cannot be read is a refusal, never a reply."""
    key = str(document.get("custom_id"))
    error, response = document.get("error"), document.get("response")
    if isinstance(error, dict) and error.get("code") in _NOT_REACHED:
        return BatchLine(key)
    if not isinstance(response, dict):
        return BatchLine(key, refusal=error_words(error))
    body, status = response.get("body"), response.get("status_code")
    if status != 200:
        cause = body.get("error", body) if isinstance(body, dict) else body
        return BatchLine(key, refusal=error_words(cause or error), bad_request=status in (400, 422))
    try:
        return BatchLine(key, read_completion(body))
    except ValueError as mistake:
        return BatchLine(key, refusal=str(mistake))
