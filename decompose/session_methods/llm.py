"""LLM-GELI: a large language model reads the whole dialogue and judges each of the target's utterances.

Eq. 2 (with the rater's behaviour in words) and Eq. 3 (text alone), section 4.1 of LLM-GELI. The sum of Eq. 4, which
the paper only asks the model for, is made exact afterwards in ``apportion.decompose.projection``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.method import TurnScore
from apportion.decompose.prompt_building.chunks import averaged, parts_of, reconcile
from apportion.decompose.prompt_building.prompt import Prompt, prompt_for
from apportion.decompose.prompt_building.pseudonymize import AnonymizedEpisode, anonymize
from apportion.decompose.reply_parsing import REPLY_SCHEMA, TurnAnswer, parse_reply
from apportion.decompose.session_methods.llm_requests import RequestMeta
from apportion.decompose.settings import DecomposeSettings, LLMMethodSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.prompts.strict_json import check_finished
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import InvalidReply, LLMSession, NoUsableReplyError, ask_until_usable

_Answer = TypeVar("_Answer")
_SHOWN_OF_A_REPLY = 1000
"""Characters of a bad reply that an error quotes."""


def requests_for(
    session: Session, rating_name: str | None, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request that judging ``session`` makes, sent or not: for previews, prices and recordings.

    ``descriptors`` is None for the method ``llm``. An episode whose target says nothing needs no request.

    Raises InputError: The prompt cannot be used. Raises UnitError: The model's context is too short for any part of the
    session.
    """
    listed: list[tuple[ChatRequest, RequestMeta]] = []
    for episode in session.episodes(rating_name):
        listed += episode_requests(episode, descriptors, settings)
    return listed


def episode_requests(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request about one episode; raises as `requests_for`."""
    if not episode.target_turns:
        return []
    disguised = anonymize(episode, descriptors, settings.llm)
    return list(_first_requests(_prompt(episode, settings), disguised, settings.llm))


def judge(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The model's judgement of each target turn (T), the mean over ``settings.llm.samples`` replies.

    Raises InputError: No request can succeed: no key, no consent, an unknown prompt. UnitError: No usable reply after
    ``settings.llm.max_reply_attempts`` tries, or the server failed; what was replied is its evidence.
    """
    if not episode.target_turns:
        return []
    disguised = anonymize(episode, descriptors, settings.llm)
    try:
        judgements = _judgements(_prompt(episode, settings), disguised, settings.llm, asker)
    except UnitError as error:
        raise UnitError(disguised.reveal(str(error)), error.evidence) from None
    return [replace(judgement, rationale=_revealed(disguised, judgement.rationale)) for judgement in judgements]


def _prompt(episode: Episode, settings: DecomposeSettings) -> Prompt:
    return prompt_for(settings.llm.prompt, episode.rating.name, has_rater=episode.has_rater)


def _revealed(disguised: AnonymizedEpisode, rationale: str | None) -> str | None:
    return rationale if rationale is None else disguised.reveal(rationale)


def _judgements(
    prompt: Prompt, disguised: AnonymizedEpisode, settings: LLMMethodSettings, asker: LLMSession
) -> list[TurnScore]:
    by_sample: dict[int, list[list[TurnAnswer]]] = {}
    for request, meta in _first_requests(prompt, disguised, settings):
        answers = _ask(request, meta.turns, prompt, settings.max_reply_attempts, asker)
        by_sample.setdefault(meta.sample, []).append(answers)
    samples = [parts[0] if len(parts) == 1 else _joined(parts, prompt) for parts in by_sample.values()]
    empty = [_of_nothing(answers, prompt) for answers in samples]
    return [_combined(answers, empty) for answers in zip(*samples, strict=True)]


def _first_requests(
    prompt: Prompt, disguised: AnonymizedEpisode, settings: LLMMethodSettings
) -> Iterator[tuple[ChatRequest, RequestMeta]]:
    """What is asked of one episode, sample by sample and part by part."""
    episode = disguised.episode
    limits = (settings.context_tokens, settings.overlap_turns)
    parts = parts_of(prompt, episode, disguised.descriptors, disguised.question, *limits)
    for sample in range(settings.samples):
        for number, part in enumerate(parts):
            meta = RequestMeta(*episode.key, sample=sample, turns=part.turns, part=number, parts=len(parts))
            yield _request(part.messages, episode, settings, meta), meta


def _request(
    messages: tuple[ChatMessage, ...], episode: Episode, settings: LLMMethodSettings, meta: RequestMeta
) -> ChatRequest:
    rating = episode.rating
    of_parts = f", part {meta.part + 1} of {meta.parts}" if meta.parts > 1 else ""
    return ChatRequest(
        **settings.asking,
        messages=messages,
        schema=REPLY_SCHEMA,
        sample=meta.sample,
        # With the names that the model is shown: recordings keep the subject beside its words.
        subject=f"session {meta.session_id}, {rating.name} of {rating.target} by {rating.rater}, "
        f"sample {meta.sample}{of_parts}",
    )


def _ask(
    request: ChatRequest, turns: Sequence[int], prompt: Prompt, attempts: int, asker: LLMSession
) -> list[TurnAnswer]:
    """The answers to ``turns`` (T), in that order."""

    def read(reply: ChatReply) -> list[TurnAnswer]:
        check_finished(reply, "give shorter evidence, or null")
        whole, null_allowed = prompt.units == "attribution", prompt.null != "never"
        return parse_reply(reply.text, turns, prompt.low, prompt.high, whole, null_allowed)

    again = (
        "Answer again with one JSON object of the given form and nothing else, with every one of these turns once: "
        f"{list(turns)}"
    )
    return ask(request, read, again, attempts, asker)


def ask(
    request: ChatRequest, read: Callable[[ChatReply], _Answer], again: str, attempts: int, asker: LLMSession
) -> _Answer:
    """What ``read`` makes of a reply, the model shown its mistake with ``again`` up to ``attempts`` times.

    Raises UnitError: No reply could be used; what was replied is its evidence.
    """
    try:
        return ask_until_usable(asker.complete, request, read, attempts, again)
    except NoUsableReplyError as error:
        raise UnitError(f"{error} {_advice(error.replies[-1])}", error.evidence) from None


def _advice(last: InvalidReply) -> str:
    shown = last.reply
    if len(shown) > _SHOWN_OF_A_REPLY:
        shown = f"{shown[:_SHOWN_OF_A_REPLY]}… ({len(last.reply)} characters)"
    return (
        "Ask more often with decompose.llm.max_reply_attempts, or use another model or prompt. All replies are kept in "
        f"the column `evidence` of quarantine.parquet. Request {last.request}; its reply was: {shown!r}"
    )


def _joined(parts: Sequence[Sequence[TurnAnswer]], prompt: Prompt) -> list[TurnAnswer]:
    """One answer a turn from those of overlapping parts."""
    values = _on_one_scale([{answer.turn: answer.value for answer in answers} for answers in parts], prompt)
    if prompt.units == "attribution":
        # Taking a part's level away must not make a contribution negative.
        values = {turn: value and min(max(value, 0.0), prompt.high or value) for turn, value in values.items()}
    evidence: dict[int, str | None] = {}
    for answer in (answer for answers in parts for answer in answers):
        evidence[answer.turn] = evidence.get(answer.turn) or answer.evidence
    return [TurnAnswer(turn, values[turn], evidence[turn]) for turn in sorted(values)]


def _on_one_scale(parts: Sequence[Mapping[int, float | None]], prompt: Prompt) -> dict[int, float | None]:
    if prompt.units == "score":
        return averaged(parts, 0.0 if prompt.null == "zero" else None)
    if prompt.null != "zero":
        return reconcile(parts)
    # A null that means zero is zero on its own part's scale, and is brought to the common one with the numbers.
    said = {turn for part in parts for turn, value in part.items() if value is not None}
    levelled = reconcile([{turn: value or 0.0 for turn, value in part.items()} for part in parts])
    return {turn: value if turn in said or value else None for turn, value in levelled.items()}


def _of_nothing(answers: Sequence[TurnAnswer], prompt: Prompt) -> float | None:
    """What a null counts as beside other samples' numbers: zero, or the mean of its own sample, None without any."""
    numbers = [answer.value for answer in answers if answer.value is not None]
    if prompt.null == "zero":
        return 0.0
    return math.fsum(numbers) / len(numbers) if numbers else None


def _combined(answers: Sequence[TurnAnswer], empty: Sequence[float | None]) -> TurnScore:
    """The mean over samples, ``empty`` in place of a null; null stays null where every sample says so."""
    filled = [other if answer.value is None else answer.value for answer, other in zip(answers, empty, strict=True)]
    values = [value for value in filled if value is not None]
    silent = all(answer.value is None for answer in answers)
    mean = None if silent else math.fsum(values) / len(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    samples = tuple(answer.value for answer in answers) if len(answers) > 1 else ()
    return TurnScore(answers[0].turn, mean, answers[0].evidence, sd, samples)
