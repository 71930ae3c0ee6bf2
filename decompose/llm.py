"""LLM-GELI: a large language model reads the whole dialogue and judges each of the target's utterances.

Eq. 2 (with the rater's behaviour in words) and Eq. 3 (text alone), section 4.1 of LLM-GELI. The sum of Eq. 4, which
the paper only asks the model for, is made exact afterwards in ``decompose.projection``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpus.errors import UnitError
from corpus.session import Episode, Session
from decompose.judgement import Judgement
from decompose.prompt import Prompt, load_prompt
from decompose.reply import REPLY_SCHEMA, ReplyMistakeError, TurnAnswer, parse_reply
from decompose.settings import DecomposeSettings, LLMMethodSettings
from decompose.tools import Tools
from llm_client.request import ChatReply, ChatRequest, Message

_SHOWN_OF_A_REPLY = 1000


@dataclass(frozen=True)
class RequestMeta:
    """Which episode and which sample a request is about, and the turns it asks for (T numbers)."""

    session_id: str
    rater: str
    target: str
    name: str
    sample: int
    turns: tuple[int, ...]


def requests_for(
    session: Session, rating_name: str | None, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request that labelling ``session`` makes, sent or not: for previews, prices and recordings.

    ``descriptors`` is None for the method ``llm``. An episode whose target says nothing needs no request.
    """
    found = []
    for episode in session.episodes(rating_name):
        if not episode.target_turns:
            continue
        for sample in range(settings.llm.samples):
            meta = RequestMeta(*episode.key, sample=sample, turns=episode.target_turns)
            found.append((_request(episode, descriptors, settings.llm, sample), meta))
    return found


def label(episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, tools: Tools) -> list[Judgement]:
    """The model's judgement of each target turn (T), the mean over ``settings.llm.samples`` replies.

    Raises
    ------
    InputError
        No request can succeed: no key, no consent, an unknown prompt.
    UnitError
        No usable reply after ``settings.llm.attempts`` tries, or the server failed; what was last replied is told.
    """
    if not episode.target_turns:
        return []
    samples = [
        _ask(_request(episode, descriptors, settings.llm, sample), episode.target_turns, settings.llm, tools)
        for sample in range(settings.llm.samples)
    ]
    return [_combined(answers) for answers in zip(*samples, strict=True)]


def _request(episode: Episode, descriptors: pa.Table | None, settings: LLMMethodSettings, sample: int) -> ChatRequest:
    prompt = load_prompt(settings.prompt)
    return ChatRequest(
        model=settings.model,
        messages=prompt.messages(episode, descriptors, settings.question),
        schema=REPLY_SCHEMA,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        sample=sample,
        label=f"session {episode.session_id}, {episode.rating.name} of {episode.rating.target} "
        f"by {episode.rating.rater}, sample {sample}",
    )


def _ask(request: ChatRequest, turns: Sequence[int], settings: LLMMethodSettings, tools: Tools) -> list[TurnAnswer]:
    prompt = load_prompt(settings.prompt)
    for attempt in range(1, settings.attempts + 1):
        reply = tools.complete(request)
        try:
            return _read(reply, turns, prompt)
        except ReplyMistakeError as mistake:
            if attempt == settings.attempts:
                raise UnitError(_given_up(request, reply, str(mistake), attempt)) from None
            request = _asked_again(request, reply, str(mistake), turns)
    raise AssertionError("attempts is at least 1")  # pragma: no cover


def _read(reply: ChatReply, turns: Sequence[int], prompt: Prompt) -> list[TurnAnswer]:
    if reply.finish_reason == "length":
        raise ReplyMistakeError("the reply was cut off at the limit of tokens; give shorter evidence, or null")
    if reply.finish_reason in ("refusal", "content_filter"):
        raise ReplyMistakeError(f"the request was declined ({reply.finish_reason})")
    return parse_reply(reply.text, turns, prompt.low, prompt.high)


def _asked_again(request: ChatRequest, reply: ChatReply, mistake: str, turns: Sequence[int]) -> ChatRequest:
    correction = (
        f"That reply cannot be used: {mistake}. Answer again with one JSON object of the given form and nothing else, "
        f"with every one of these turns once: {list(turns)}"
    )
    said = reply.text.strip() or "(empty)"
    messages = (*request.messages[:2], Message("assistant", said), Message("user", correction))
    return ChatRequest(
        request.model,
        messages,
        request.schema,
        request.temperature,
        request.max_tokens,
        request.sample,
        request.label,
    )


def _given_up(request: ChatRequest, reply: ChatReply, mistake: str, attempts: int) -> str:
    text = reply.text
    shown = text if len(text) <= _SHOWN_OF_A_REPLY else f"{text[:_SHOWN_OF_A_REPLY]}… ({len(text)} characters)"
    return (
        f"{request.label}: no usable reply of {reply.model} in {attempts} attempts. Last mistake: {mistake}. Ask more "
        f"often with decompose.llm.attempts, or use another model or prompt. Request {request.key()}; "
        f"its reply was: {shown!r}"
    )


def _combined(answers: Sequence[TurnAnswer]) -> Judgement:
    """The mean over samples; a null counts as zero beside numbers and stays null where every sample says so."""
    values = [answer.value or 0.0 for answer in answers]
    silent = all(answer.value is None for answer in answers)
    mean = None if silent else math.fsum(values) / len(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    return Judgement(answers[0].turn, mean, answers[0].evidence, sd)
