"""How many tokens a request has: counted where tiktoken is installed and knows the model, else estimated."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from typing import Any

from apportion.llm_client.request import ChatReply, ChatRequest

CHARACTERS_A_TOKEN = 4
"""Of English text, roughly; other languages have fewer characters a token."""
_TOKENS_A_MESSAGE, _TOKENS_A_REQUEST = 4, 3
_FRAME_TOKENS_AT_MOST = 64
_ASSUMED_REPLY_TOKENS = 500


def estimated_input_tokens(request: ChatRequest) -> int:
    """Tokens of the messages and the schema: by tiktoken, else one for every four characters."""
    texts = _texts(request)
    encoding = _encoding(request.model)
    if encoding is None:
        counted = sum(map(characters_tokens, texts))
    else:
        counted = sum(len(encoding.encode(text, disallowed_special=())) for text in texts)
    return counted + _TOKENS_A_MESSAGE * len(request.messages) + _TOKENS_A_REQUEST


def characters_tokens(text: str) -> int:
    """Tokens of ``text``, estimated at one for every four characters."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def estimated_tokens(request: ChatRequest) -> int:
    """Tokens of the request and of its reply, before it is known; what a limit of tokens a minute counts at first."""
    return estimated_input_tokens(request) + (request.max_tokens or _ASSUMED_REPLY_TOKENS)


def most_input_tokens(request: ChatRequest) -> int:
    """Tokens that the input cannot pass: a token is at least one byte of UTF-8."""
    frame = _FRAME_TOKENS_AT_MOST * (1 + len(request.messages))
    return sum(len(text.encode("utf-8", "replace")) for text in _texts(request)) + frame


def used_tokens(reply: ChatReply) -> int | None:
    """Tokens that the server counted, or None where it did not say."""
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    return reply.prompt_tokens + reply.completion_tokens


def way_of_counting(model: str) -> str:
    """In words, how ``estimated_input_tokens`` counts for ``model``."""
    if _encoding(model) is not None:
        return "counted with tiktoken"
    return f"estimated at {CHARACTERS_A_TOKEN} characters a token"


def _texts(request: ChatRequest) -> list[str]:
    texts = [message.content for message in request.messages]
    # What stands in the body beside the messages may end in the prompt, as a grammar or a template's words do.
    return [*texts, *(json.dumps(part) for part in (request.schema, request.extra_body or None) if part is not None)]


@cache
def _encoding(model: str) -> Any:
    if find_spec("tiktoken") is None:
        return None
    import tiktoken

    try:
        return tiktoken.encoding_for_model(model)
    except Exception:  # An unknown model, or no network for its vocabulary: the estimate serves.
        return None
