"""llm-rubric: a language model says which signals of a rubric occur at which turns; a turn is worth their strengths.

After SPUR (Lin et al., 2024), which sums what the items of a rubric say of a whole dialogue; here each occurrence is
found at a turn, and the model is not shown the score. Strengths come from the rubric, where a person sees and edits
them: weights learnt from scores would need all training sessions judged, and differ from draw to draw with few.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.method import TurnScore
from apportion.decompose.prompt_building.chunks import averaged, parts_of
from apportion.decompose.prompt_building.prompt import RUBRIC_PROMPT, Prompt, load_prompt
from apportion.decompose.prompt_building.pseudonymize import AnonymizedEpisode, anonymize
from apportion.decompose.prompt_building.rubric import Rubric, read_reply, read_rubric
from apportion.decompose.session_methods.llm import ask
from apportion.decompose.session_methods.llm_requests import RequestMeta
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished, short_json, strict_json
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "signals": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "turns": {"type": "array", "items": {"type": "integer"}}},
                "required": ["id", "turns"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["signals"],
    "additionalProperties": False,
}

TOKENS_A_TURN = 12
"""About what a turn takes of a reply: its number at each signal, and its part of the ids."""

Found = Mapping[int, Sequence[str]]
"""The ids of the signals that occur at each turn, in the order of the rubric."""


def written(request: ChatRequest, settings: DecomposeSettings, asker: LLMSession) -> Rubric:
    """The rubric that the model writes (`apportion.decompose.prompt_building.rubric.writing_request`).

    Raises InputError: No request can succeed. UnitError: No usable reply after ``settings.llm.max_reply_attempts``.
    """

    def read(reply: ChatReply) -> Rubric:
        check_finished(reply, "write fewer signals")
        return read_reply(reply.text)

    again = "Answer again with one JSON object of the given form and nothing else."
    return ask(request, read, again, settings.llm.max_reply_attempts, asker)


def requests_for(
    session: Session, rating_name: str | None, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request about ``session``; raises as `judge`, and UnitError where the context is too short."""
    rubric = _rubric(settings)
    return [
        listed
        for episode in session.episodes(rating_name)
        if episode.target_turns
        for listed in _first_requests(rubric, anonymize(episode, None, settings.llm), settings)
    ]


def judge(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The signed strengths of the signals at each target turn (T), their sum the mean over ``settings.llm.samples``.

    Raises InputError: No rubric, or no request can succeed. UnitError: No usable reply after
    ``settings.llm.max_reply_attempts`` tries; what was replied is its evidence.
    """
    if not episode.target_turns:
        return []
    rubric, disguised = _rubric(settings), anonymize(episode, None, settings.llm)
    try:
        samples = _samples(rubric, disguised, settings, asker)
    except UnitError as error:
        raise UnitError(disguised.reveal(str(error)), error.evidence) from None
    return [_combined(turn, samples, rubric) for turn in episode.target_turns]


def _rubric(settings: DecomposeSettings) -> Rubric:
    path = settings.rubric.file
    if path is None:
        raise InputError(
            "decompose.rubric.file: llm-rubric judges by a rubric and there is none. `apportion run` has one written "
            "from scored training sessions; anywhere else name a file."
        )
    return _kept(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=8)
def _kept(path: Path, changed: int) -> Rubric:
    return read_rubric(path)


def _samples(
    rubric: Rubric, disguised: AnonymizedEpisode, settings: DecomposeSettings, asker: LLMSession
) -> list[tuple[dict[int, float], Found]]:
    """By sample the value of each turn, and its signals."""
    parts: dict[int, list[Found]] = {}
    for request, meta in _first_requests(rubric, disguised, settings):
        parts.setdefault(meta.sample, []).append(_ask(request, meta.turns, rubric, settings, asker))
    worth = rubric.strengths
    samples = []
    for found in parts.values():
        values = averaged([{t: math.fsum(worth[i] for i in ids) for t, ids in part.items()} for part in found], 0.0)
        known = {turn: ids for part in reversed(found) for turn, ids in part.items()}
        samples.append(({turn: value or 0.0 for turn, value in values.items()}, known))
    return samples


def _first_requests(
    rubric: Rubric, disguised: AnonymizedEpisode, settings: DecomposeSettings
) -> Iterator[tuple[ChatRequest, RequestMeta]]:
    """What is asked of one episode, sample by sample and part by part."""
    episode, llm = disguised.episode, settings.llm
    prompt: Prompt = replace(load_prompt(RUBRIC_PROMPT), signals=rubric.lines())
    parts = parts_of(prompt, episode, None, disguised.question, llm.context_tokens, llm.overlap_turns)
    rating = episode.rating
    for sample in range(llm.samples):
        for number, part in enumerate(parts):
            of_parts = f", part {number + 1} of {len(parts)}" if len(parts) > 1 else ""
            request = ChatRequest(
                **llm.asking,
                messages=part.messages,
                schema=_SCHEMA,
                sample=sample,
                subject=f"session {episode.session_id}, signals of {rating.name} of {rating.target} by {rating.rater}, "
                f"sample {sample}{of_parts}",
            )
            yield request, RequestMeta(*episode.key, sample, part.turns, number, len(parts))


def _ask(
    request: ChatRequest, turns: Sequence[int], rubric: Rubric, settings: DecomposeSettings, asker: LLMSession
) -> Found:
    def read(reply: ChatReply) -> Found:
        check_finished(reply, "give each signal once, with the numbers of its turns and nothing else")
        return read_signals(reply.text, turns, rubric)

    again = f"Answer again with one JSON object of the given form and nothing else; the turns are {list(turns)}"
    return ask(request, read, again, settings.llm.max_reply_attempts, asker)


def read_signals(text: str, turns: Sequence[int], rubric: Rubric) -> Found:
    """The signals of each of ``turns``, from a reply that lists the turns of each signal.

    Raises ReplyMistakeError: Not of the schema's form, a signal that is none or stands twice, a turn not asked for.
    """
    document = strict_json(text)
    given = document.get("signals") if isinstance(document, dict) else None
    if not isinstance(given, list):
        raise ReplyMistakeError('the reply is not an object of the form {"signals": [...]}')
    known = rubric.strengths
    by_id: dict[str, set[int]] = {}
    for entry in given:
        if not isinstance(entry, dict) or not isinstance(entry.get("turns"), list):
            raise ReplyMistakeError(
                f'every entry needs "id" and "turns", a list; this one does not: {short_json(entry)}'
            )
        name = entry.get("id")
        if not isinstance(name, str) or name not in known:
            raise ReplyMistakeError(f"no signal has the id {short_json(name)}; they are {', '.join(known)}")
        if name in by_id:
            raise ReplyMistakeError(f"the signal {name} stands twice; give it once, with all its turns")
        wrong = [one for one in entry["turns"] if isinstance(one, bool) or one not in turns]
        if wrong:
            raise ReplyMistakeError(f"signal {name}: {short_json(wrong)} are no turns that were asked for")
        by_id[name] = {int(one) for one in entry["turns"]}
    return {turn: [name for name in known if turn in by_id.get(name, ())] for turn in turns}


def _combined(turn: int, samples: Sequence[tuple[dict[int, float], Found]], rubric: Rubric) -> TurnScore:
    """The mean over samples; the words are those of the signals that the first sample found."""
    values = [values[turn] for values, _ in samples]
    signals = {signal.id: signal for signal in rubric.signals}
    paid = [signals[name] for name in samples[0][1][turn]]
    words = "\n".join(signal.told for signal in paid) or None
    several = len(values) > 1
    return TurnScore(
        turn,
        math.fsum(values) / len(values),
        words,
        statistics.stdev(values) if several else None,
        tuple(values) if several else (),
    )
