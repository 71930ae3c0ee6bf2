"""How a server wants its options, learnt from what it refuses."""

from __future__ import annotations

import json
import logging
from typing import Any

from apportion.llm_client.request import ChatRequest
from apportion.llm_client.transport.embeddings import EMBEDDINGS, embedding_options
from apportion.llm_client.transport.prompt_logprobs import measuring_options

_log = logging.getLogger(__name__)
_NEXT_FORMAT = {"json_schema": "json_object", "json_object": "none", "none": "none"}


class ServerCapabilities:
    """Says a request in a server's words; each of its refusals is learnt from, so that it happens once.

    ``learnt`` is what ``to_json`` of an earlier one gave.
    """

    def __init__(self, host: str, learnt: str | None = None) -> None:
        self._host = host
        self._format, self._tokens, self._temperature = "json_schema", "max_tokens", True
        if learnt is not None:
            self._format, self._tokens, self._temperature = json.loads(learnt)

    def to_json(self) -> str:
        """What was learnt so far."""
        return json.dumps([self._format, self._tokens, self._temperature])

    def options(self, request: ChatRequest) -> dict[str, Any]:
        """The body of ``request`` as the server takes it."""
        options: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if self._temperature:
            options["temperature"] = request.temperature
        if request.max_tokens is not None:
            options[self._tokens] = request.max_tokens
        if request.schema is not None and self._format == "json_schema":
            schema = {"name": "reply", "schema": dict(request.schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and self._format == "json_object":
            options["response_format"] = {"type": "json_object"}
        # Asked for by a person, so a server that refuses them is told and not given way to.
        if request.reasoning_effort is not None:
            options["reasoning_effort"] = request.reasoning_effort
        if request.measures == EMBEDDINGS:
            options = embedding_options(options)
        elif request.measures is not None:
            options = measuring_options(options, request.measures)
        return {**options, **request.extra_body}

    def give_way(self, tried: dict[str, Any], refusal: str) -> bool:
        """Change what the server's words name as refused; False where they name nothing that can be changed."""
        words = refusal.lower()
        if "response_format" in tried and any(name in words for name in ("response_format", "schema", "grammar")):
            if tried["response_format"]["type"] == self._format:
                self._format = _NEXT_FORMAT[self._format]
                _log.warning("%s does not take this response_format; going on with %s", self._host, self._format)
            return True
        if "max_tokens" in tried and "max_completion_tokens" in words:
            self._tokens = "max_completion_tokens"
            return True
        if "temperature" in tried and "temperature" in words:
            if self._temperature:
                self._temperature = False
                _log.warning("%s does not take this temperature; going on with the model's own", self._host)
            return True
        return False
