"""The vector of a text, asked of a server's embeddings as one text a request."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from apportion.llm_client.request import ChatReply
from apportion.llm_client.transport.completion import usage_of

EMBEDDINGS: Final = "embeddings"
"""What a request ``measures`` that asks for a vector."""


def embedding_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The body that asks for the vector of the messages, made of that of a usual request."""
    return {"model": options["model"], "input": "".join(one["content"] for one in options["messages"])}


def read_embedding(document: Any) -> ChatReply:
    """A server's vector as a reply whose text `vector_of` reads.

    Raises ``ValueError``: it is none; the text says what is wrong with it.
    """
    try:
        (one,) = document["data"]
        vector = _checked(one["embedding"])
        model = str(document.get("model") or "")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it holds no vector ({type(error).__name__}: {str(error)[:200]})") from None
    usage: dict[str, Any] = dict(usage_of(document))
    return ChatReply(json.dumps(vector, separators=(",", ":")), model, **usage)


def vector_of(reply: ChatReply) -> list[float]:
    """The vector in a reply to a request that ``measures`` embeddings.

    Raises ``ValueError``: it holds none: it was not made by such a request.
    """
    try:
        return _checked(json.loads(reply.text))
    except (TypeError, ValueError):
        raise ValueError(f"a reply without a vector: {reply.text[:80]!r}") from None


def _checked(values: Any) -> list[float]:
    if not isinstance(values, list) or not values:
        raise ValueError(f"{str(values)[:80]!r} is no list of numbers")
    vector = [float(value) for value in values]
    if not all(map(math.isfinite, vector)):
        raise ValueError("a number that is not finite")
    return vector
