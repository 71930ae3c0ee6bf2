"""One exchange with a model: asked again with its mistake shown, until a reply can be used or the tries are up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from decompose.prompting.prompt import Prompt
from decompose.prompting.reply import ReplyMistakeError, TurnAnswer, parse_reply
from foundation.errors import UnitError
from llm_client.asker import Tools
from llm_client.request import ChatReply, ChatRequest, Message

_SHOWN_OF_A_REPLY = 1000


@dataclass(frozen=True)
class BadReply:
    """A reply that could not be used, whole, and why; ``request`` is the key of what was asked."""

    request: str
    model: str
    finish_reason: str
    mistake: str
    reply: str


def ask(request: ChatRequest, turns: Sequence[int], prompt: Prompt, attempts: int, tools: Tools) -> list[TurnAnswer]:
    """The answers to ``turns`` (T), in that order, after at most ``attempts`` tries.

    Raises
    ------
    InputError
        No request can succeed before a person changes something.
    UnitError
        No usable reply, or the server failed. ``evidence`` holds every bad reply in full, as a JSON list.
    """
    bad: list[BadReply] = []
    asked = request
    while True:
        try:
            reply = tools.complete(asked)
        except UnitError as error:
            error.evidence = _evidence(bad)
            raise
        try:
            return _read(reply, turns, prompt)
        except ReplyMistakeError as mistake:
            bad.append(BadReply(asked.key(), reply.model, reply.finish_reason, str(mistake), reply.text))
        if len(bad) == attempts:
            raise UnitError(_given_up(asked, bad), _evidence(bad))
        asked = _asked_again(request, bad[-1], turns)


def _read(reply: ChatReply, turns: Sequence[int], prompt: Prompt) -> list[TurnAnswer]:
    if reply.finish_reason == "length":
        raise ReplyMistakeError("the reply was cut off at the limit of tokens; give shorter evidence, or null")
    if reply.finish_reason in ("refusal", "content_filter"):
        raise ReplyMistakeError(f"the request was declined ({reply.finish_reason})")
    return parse_reply(reply.text, turns, prompt.low, prompt.high, whole=prompt.units == "attribution")


def _asked_again(request: ChatRequest, bad: BadReply, turns: Sequence[int]) -> ChatRequest:
    correction = (
        f"That reply cannot be used: {bad.mistake}. Answer again with one JSON object of the given form and nothing "
        f"else, with every one of these turns once: {list(turns)}"
    )
    said = bad.reply.strip() or "(empty)"
    return replace(request, messages=(*request.messages, Message("assistant", said), Message("user", correction)))


def _evidence(bad: Sequence[BadReply]) -> str | None:
    return json.dumps([asdict(reply) for reply in bad], ensure_ascii=False) if bad else None


def _given_up(request: ChatRequest, bad: Sequence[BadReply]) -> str:
    last = bad[-1]
    shown = last.reply
    if len(shown) > _SHOWN_OF_A_REPLY:
        shown = f"{shown[:_SHOWN_OF_A_REPLY]}… ({len(last.reply)} characters)"
    return (
        f"{request.label}: no usable reply of {last.model} in {len(bad)} attempts. Last mistake: {last.mistake}. Ask "
        "more often with decompose.llm.attempts, or use another model or prompt. All replies are kept whole in the "
        f"column `evidence` of quarantine.parquet. Request {last.request}; its reply was: {shown!r}"
    )
