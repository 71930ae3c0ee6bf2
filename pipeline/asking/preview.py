"""What would be sent to a language model, word for word, before anything is."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foundation.errors import InputError, UnitError
from llm_client.errors import SetupError
from llm_client.live.dialect import Dialect
from llm_client.request import ChatRequest
from llm_client.settings import LLMSettings
from pipeline.asking.pricing import asking_units, kept_replies, unit_requests

if TYPE_CHECKING:
    from pipeline.engine.engine import Engine


@dataclass(frozen=True)
class Preview:
    """The first requests of those that would be sent.

    ``in_all`` counts all first requests that would be sent, ``lacking`` the sessions whose descriptors are not made
    yet, so that their question will hold more than is shown; ``consent_setting`` is what can stand for --send-to.
    """

    settings: LLMSettings
    requests: tuple[ChatRequest, ...]
    in_all: int
    lacking: int
    consent_setting: str | None = "decompose.llm.send_to"

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the HTTP requests; the key goes in a header and is in none of them."""
        dialect = Dialect(self.settings.host)
        return [dialect.options(request) for request in self.requests]

    def text(self) -> str:
        """The same for a person: every message as it is, with nothing left out."""
        parts = [self._head()]
        for number, body in enumerate(self.bodies(), start=1):
            options = {name: value for name, value in body.items() if name != "messages"}
            messages = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in body["messages"])
            head = f"===== request {number} of {self.in_all:,} =====\n{json.dumps(options, ensure_ascii=False)}"
            parts.append(f"{head}\n\n{messages}")
        return "\n\n".join([*parts, "nothing was sent (--preview)"])

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            "url": f"{self.settings.url.rstrip('/')}/chat/completions",
            "host": self.settings.host,
            "leaves_this_machine": self._leaves,
            "consent": self._leaves and self.settings.send_to == self.settings.host,
            "requests_in_all": self.in_all,
            "sessions_without_descriptors": self.lacking,
            "bodies": self.bodies(),
        }

    @property
    def _leaves(self) -> bool:
        return self.settings.provider == "openai" and not self.settings.is_loopback

    def _head(self) -> str:
        where = "stays on this machine"
        if self.settings.provider == "recorded":
            where = "nothing is sent: replies are recorded"
        elif self._leaves:
            other = f" or {self.consent_setting}" if self.consent_setting else ""
            where = f"LEAVES THIS MACHINE, with --send-to {self.settings.host}{other} only"
        lines = [
            f"{self.in_all:,} first requests to {self.settings.url.rstrip('/')}/chat/completions ({where})",
            "a reply that cannot be used is sent back, with what is wrong with it, after the same messages",
        ]
        if self.lacking:
            lines.append(
                f"{self.lacking:,} sessions lack descriptors: words on the rater's behaviour would be sent as well. "
                "Run `apportion describe` first to see them"
            )
        return "\n".join(lines)


def preview(engine: Engine, stages: Collection[str], count: int) -> Preview:
    """The first ``count`` requests that ``stages`` would send: those without a reply that is kept already.

    Raises
    ------
    InputError
        A file of replies cannot be read, or no method asks a language model.
    """
    config = engine.config
    asking = asking_units(engine, stages)
    if not asking:
        raise InputError(
            f"--preview: nothing is asked of a language model by decompose.methods = "
            f"{', '.join(config.decompose.methods)}. Add llm or llm-multimodal."
        )
    lacking: set[str | None] = set()
    left: dict[str, ChatRequest] = {}
    for stage, unit in asking:
        if engine.artifact(stage, unit) is not None:
            continue
        try:
            requests, lacks = unit_requests(engine, stage, unit)
        except UnitError:
            continue
        lacking |= {unit.session_id} if lacks else set()
        left.update((request.key(), request) for request, _ in requests)
    try:
        with kept_replies(config) as kept:
            waiting: Sequence[ChatRequest] = [request for request in left.values() if kept(request) is None]
    except SetupError as error:
        raise InputError(f"decompose.llm: {error}") from None
    return Preview(config.decompose.llm, tuple(waiting[:count]), len(waiting), len(lacking))
