"""One question to a chat model and its answer; a request's key is its identity in every cache and recording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from apportion.foundation.safe_text import whole_text


@dataclass(frozen=True)
class ChatMessage:
    """One message of a chat; its text stays out of ``repr`` so that no log holds a prompt by accident."""

    role: Literal["system", "user", "assistant"]
    content: str = field(repr=False)


@dataclass(frozen=True)
class ChatRequest:
    """Everything that decides what a model answers.

    >>> request = ChatRequest("qwen3", (ChatMessage("user", "Hello?"),), subject="a greeting")
    >>> request.key()[:8]
    '746774f1'

    ``schema`` is the JSON schema of the reply. ``reasoning_effort`` and ``extra_body`` are for models and servers that
    take them; a request without them has the key that it had before there were any. ``sample`` counts independent
    replies to the same question. ``subject`` says in errors and recordings what the request is about; it is no part of
    the request's identity. The server's address is none either: a model's name is taken to mean the same model
    everywhere. ``measures`` asks for no words but for the log-probability of each token of the messages, by one of the
    ways that servers have (`apportion.llm_client.transport.prompt_logprobs`), or for their vector
    (`apportion.llm_client.transport.embeddings`); a request without it has the key that it always had. ``attempt``
    numbers a later attempt whose words are an earlier one's, so that another reply answers it; 0 where they are not.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    temperature: float = 0.0
    max_tokens: int | None = None
    sample: int = 0
    subject: str = field(default="", compare=False)
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measures: Literal["chat", "user", "completions", "embeddings"] | None = None
    attempt: int = 0

    def document(self) -> dict[str, Any]:
        """The request as plain JSON values, in the order that its key is computed from."""
        document = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "schema": self.schema,
            "temperature": float(self.temperature),
            "max_tokens": self.max_tokens,
            "sample": self.sample,
        }
        if self.reasoning_effort is not None:
            document["reasoning_effort"] = self.reasoning_effort
        if self.extra_body:
            document["extra_body"] = self.extra_body
        if self.measures is not None:
            document["measures"] = self.measures
        if self.attempt:
            document["attempt"] = self.attempt
        return document

    def key(self) -> str:
        """sha256 (64 hexadecimal digits) of the request's JSON text.

        The keys of ``schema`` are not sorted: models write fields in the order of the schema, so another order is
        another request.
        """
        text = json.dumps(self.document(), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def json_line(values: Mapping[str, Any]) -> str:
    """One line of JSON that any file takes: half a surrogate pair becomes the escape that means the same."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


REASONING = "reasoning_content"
"""Why a reply is empty: what looks like the answer stands in the field of a server that holds the reasoning."""


@dataclass(frozen=True)
class ChatReply:
    """What a model answered.

    ``model`` is the name that the server gave back, ``finish_reason`` the server's word for why it stopped
    (``stop``, ``length``, ``content_filter``), ``refusal`` where the model declined, or `REASONING`. Token counts are
    None where they are not known; ``cached_tokens`` are those of ``prompt_tokens`` that the server had in its own
    cache. Half a surrogate pair in ``text``, which no file and no later request can hold, becomes U+FFFD.
    """

    text: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = "stop"
    cached_tokens: int | None = None

    def __post_init__(self) -> None:
        # A server may send anything; that it is no text at all is told where the reply is read.
        if isinstance(self.text, str):
            object.__setattr__(self, "text", whole_text(self.text))

    def to_json(self) -> str:
        """One line of JSON."""
        return json_line(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ChatReply:
        """The reply that ``to_json`` wrote."""
        return cls(**json.loads(text))
