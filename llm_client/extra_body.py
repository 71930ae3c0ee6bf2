"""What a server takes beyond the protocol, given by a person; it may not change what is said elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SAID_BY = {
    "model": "the setting model",
    "messages": "the prompt",
    "temperature": "the setting temperature",
    "max_tokens": "the setting max_tokens",
    "max_completion_tokens": "the setting max_tokens",
    "n": "the setting samples",
    "reasoning_effort": "the setting reasoning_effort",
    "response_format": "the form of the reply that the prompt asks for",
}
_NOT_READ = ("stream", "stream_options", "tools", "tool_choice", "functions", "function_call", "modalities", "audio")


def checked_extra_body(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with their keys in order, so that what means the same is the same request.

    Raises
    ------
    ValueError
        A key that is said elsewhere or asks for a reply that is not read, or a value that JSON does not have.
    """
    for name in values:
        if name in _SAID_BY:
            raise ValueError(f"{name} is said by {_SAID_BY[name]}; remove it from extra_body")
        if name in _NOT_READ:
            raise ValueError(f"{name} asks for a reply of another form than is read; remove it from extra_body")
    try:
        text = json.dumps(values, sort_keys=True, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"give values that JSON has: text, finite numbers, true, false, lists and tables ({error})"
        ) from None
    checked: dict[str, Any] = json.loads(text)
    return checked
