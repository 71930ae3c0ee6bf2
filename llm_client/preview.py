"""What would be sent to a language model, word for word, before anything is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion.llm_client.request import ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.attempt import CHAT, path_of, place_of
from apportion.llm_client.transport.consent import readers, who_reads
from apportion.llm_client.transport.server_quirks import ServerCapabilities


@dataclass(frozen=True)
class Preview:
    """The first requests of those that would be sent.

    ``in_all`` counts all first requests that would be sent. ``notes`` are lines of the caller's for a person, ``facts``
    the same for other programs. ``consent`` says how sending to another machine is agreed to, and ``asked_for`` what
    has asked for the preview.
    """

    settings: LLMSettings
    requests: tuple[ChatRequest, ...]
    in_all: int
    consent: str
    asked_for: str
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the HTTP requests; the key goes in a header and is in none of them."""
        dialect = ServerCapabilities(self.settings.host)
        return [dialect.options(request) for request in self.requests]

    def text(self) -> str:
        """The same for a person: every request with what it is about and its key, every message as it is."""
        parts = [self._head()]
        for number, body in enumerate(self.bodies(), start=1):
            options = {name: value for name, value in body.items() if name not in ("messages", "prompt")}
            said = body.get("messages") or [{"role": "prompt", "content": body["prompt"]}]
            messages = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in said)
            head = f"===== request {number} of {self.in_all:,} =====\n{named(self.requests[number - 1])}"
            parts.append(f"{head}\n{json.dumps(options, ensure_ascii=False)}\n\n{messages}")
        return "\n\n".join([*parts, f"nothing was sent ({self.asked_for})"])

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            "url": self._address,
            "host": self.settings.host,
            "leaves_this_machine": self._leaves,
            "consent": self._leaves and self.settings.allow_host == self.settings.consent_host,
            "proxy": self.settings.proxy,
            "read_by": list(readers(self.settings)) if self._leaves else [],
            "requests_in_all": self.in_all,
            "requests": [{"subject": request.subject, "key": request.key()} for request in self.requests],
            **self.facts,
            "bodies": self.bodies(),
        }

    @property
    def _address(self) -> str:
        path = next(map(path_of, self.bodies()), CHAT)
        return place_of(self.settings.url, path)

    @property
    def _leaves(self) -> bool:
        return self.settings.provider == "openai" and self.settings.consent_host is not None

    def _head(self) -> str:
        where = "stays on this machine"
        if self.settings.provider == "recorded":
            where = "nothing is sent: replies are recorded"
        elif self._leaves:
            where = f"LEAVES THIS MACHINE, with {self.consent} only"
        sees = (f"the text goes to {who_reads(self.settings)}",) if self._leaves and self.settings.proxy_host else ()
        lines = (
            f"{self.in_all:,} first requests to {self._address} ({where})",
            *sees,
            "a reply that cannot be used is sent back, with what is wrong with it, after the same messages",
            *self.notes,
        )
        return "\n".join(lines)


def named(request: ChatRequest) -> str:
    """What a request is about, in the words of errors and recordings, and the key that it has in both."""
    subject = f"{request.subject}, " if request.subject else ""
    return f"{subject}request {request.key()}"
