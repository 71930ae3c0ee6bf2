"""LLM-GELI: a large language model reads the whole dialogue and judges each of the target's utterances.

Eq. 2 (with the rater's behaviour in words) and Eq. 3 (text alone), section 4.1 of LLM-GELI. The sum of Eq. 4, which
the paper only asks the model for, is made exact afterwards in ``decompose.projection``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from corpus.session import Episode, Session
from decompose.exchange import ask
from decompose.judgement import Judgement
from decompose.prompting.disguise import Shown, shown
from decompose.prompting.parts import parts_of, reconcile
from decompose.prompting.prompt import Part, Prompt, prompt_for
from decompose.prompting.reply import REPLY_SCHEMA, TurnAnswer
from decompose.settings import DecomposeSettings, LLMMethodSettings
from foundation.errors import UnitError
from llm_client.asker import Tools
from llm_client.request import ChatRequest


@dataclass(frozen=True)
class RequestMeta:
    """Which episode and which sample a request is about, and the turns it asks for (T numbers).

    ``part`` counts the parts of a dialogue that is too long for the model's context, of which there are ``parts``.
    """

    session_id: str
    rater: str
    target: str
    name: str
    sample: int
    turns: tuple[int, ...]
    part: int = 0
    parts: int = 1


def requests_for(
    session: Session, rating_name: str | None, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request that labelling ``session`` makes, sent or not: for previews, prices and recordings.

    ``descriptors`` is None for the method ``llm``. An episode whose target says nothing needs no request.

    Raises
    ------
    InputError
        The prompt cannot be used.
    UnitError
        The model's context is too short for any part of the session.
    """
    found = []
    for episode in session.episodes(rating_name):
        if not episode.target_turns:
            continue
        prompt = prompt_for(settings.llm.prompt, episode.rating.name)
        view = shown(episode, descriptors, settings.llm)
        parts = _parts(prompt, view, settings.llm)
        for sample in range(settings.llm.samples):
            for number, part in enumerate(parts):
                asked = episode.target_turns if part is None else part.asked
                meta = RequestMeta(*episode.key, sample=sample, turns=asked, part=number, parts=len(parts))
                found.append((_request(prompt, view, settings.llm, meta, part), meta))
    return found


def judge(episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, tools: Tools) -> list[Judgement]:
    """The model's judgement of each target turn (T), the mean over ``settings.llm.samples`` replies.

    Raises
    ------
    InputError
        No request can succeed: no key, no consent, an unknown prompt.
    UnitError
        No usable reply after ``settings.llm.attempts`` tries, or the server failed; what was replied is its evidence.
    """
    if not episode.target_turns:
        return []
    view = shown(episode, descriptors, settings.llm)
    try:
        judgements = _judgements(view, settings.llm, tools)
    except UnitError as error:
        raise UnitError(view.told(str(error)), error.evidence) from None
    return [replace(judgement, rationale=_told(view, judgement.rationale)) for judgement in judgements]


def _told(view: Shown, rationale: str | None) -> str | None:
    return rationale if rationale is None else view.told(rationale)


def _judgements(view: Shown, chosen: LLMMethodSettings, tools: Tools) -> list[Judgement]:
    episode = view.episode
    prompt = prompt_for(chosen.prompt, episode.rating.name)
    parts = _parts(prompt, view, chosen)
    samples = []
    for sample in range(chosen.samples):
        answers = []
        for number, part in enumerate(parts):
            turns = episode.target_turns if part is None else part.asked
            meta = RequestMeta(*episode.key, sample=sample, turns=turns, part=number, parts=len(parts))
            request = _request(prompt, view, chosen, meta, part)
            answers.append(ask(request, turns, prompt, chosen.attempts, tools))
        samples.append(answers[0] if len(answers) == 1 else _joined(answers, prompt))
    return [_combined(answers) for answers in zip(*samples, strict=True)]


def _parts(prompt: Prompt, view: Shown, settings: LLMMethodSettings) -> list[Part | None]:
    limits = (settings.context_tokens, settings.overlap_turns)
    return parts_of(prompt, view.episode, view.descriptors, view.question, *limits)


def _request(
    prompt: Prompt, view: Shown, settings: LLMMethodSettings, meta: RequestMeta, part: Part | None
) -> ChatRequest:
    rating = view.episode.rating
    of_parts = f", part {meta.part + 1} of {meta.parts}" if meta.parts > 1 else ""
    return ChatRequest(
        model=settings.model,
        messages=prompt.messages(view.episode, view.descriptors, view.question, part),
        schema=REPLY_SCHEMA,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        sample=meta.sample,
        # With the names that the model is shown: recordings keep the label beside its words.
        label=f"session {meta.session_id}, {rating.name} of {rating.target} by {rating.rater}, "
        f"sample {meta.sample}{of_parts}",
    )


def _joined(parts: Sequence[Sequence[TurnAnswer]], prompt: Prompt) -> list[TurnAnswer]:
    """One answer a turn from those of overlapping parts."""
    values = reconcile([{answer.turn: answer.value for answer in answers} for answers in parts])
    if prompt.units == "attribution":
        # Taking a part's level away must not make a contribution negative.
        values = {turn: value and min(max(value, 0.0), prompt.high or value) for turn, value in values.items()}
    evidence: dict[int, str | None] = {}
    for answer in (answer for answers in parts for answer in answers):
        evidence[answer.turn] = evidence.get(answer.turn) or answer.evidence
    return [TurnAnswer(turn, values[turn], evidence[turn]) for turn in sorted(values)]


def _combined(answers: Sequence[TurnAnswer]) -> Judgement:
    """The mean over samples; a null counts as zero beside numbers and stays null where every sample says so."""
    values = [answer.value or 0.0 for answer in answers]
    silent = all(answer.value is None for answer in answers)
    mean = None if silent else math.fsum(values) / len(values)
    sd = statistics.stdev(values) if len(values) > 1 else None
    samples = tuple(answer.value for answer in answers) if len(answers) > 1 else ()
    return Judgement(answers[0].turn, mean, answers[0].evidence, sd, samples)
