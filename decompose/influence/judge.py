"""The method `influence`: each utterance is credited with how far it moved the reply that came, among others.

    moved(u) = R(u) - mean over what might stand in its place, u', of R(u'),
    R(u)     = log P(v | before, u) - mean over other replies v' of log P(v' | before, u)        (Eq. 5)

v is the reply that came, v' are replies that came elsewhere in the session, u' is silence or what the speaker said
elsewhere. Without R's second part, making any reply likely would count; without the mean over u', a reply that was
likely whatever was said. The value is moved(u) times how far the score lies above the middle of its scale (-1 to 1),
or, where the speaker's intents are known, Eq. 5 of those replies less the same of u'.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.influence.chat_text import ChatText, load_tokenizer
from apportion.decompose.influence.follower import SILENCE, Reply, prompt_of, reply_to
from apportion.decompose.influence.preflight import Intent, named_model, read_intents
from apportion.decompose.influence.scorer import LogprobResult, Prompt, TooLongError, shift_of
from apportion.decompose.influence.served_scorer import ServedMeasurer, ServerPromptFormat
from apportion.decompose.method import TurnScore
from apportion.decompose.method_settings import InfluenceSettings, MeasurerSettings
from apportion.decompose.prompt_building.pseudonymize import AnonymizedEpisode, PseudonymMap, anonymize
from apportion.decompose.session_methods.llm_requests import RequestMeta
from apportion.decompose.settings import DecomposeSettings, LLMMethodSettings
from apportion.foundation.errors import UnitError
from apportion.foundation.model_hub.names import model_digest
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete, LLMSession
from apportion.llm_client.settings import LLMSettings

AT_ONCE = 16
"""Utterances that are measured together on this machine: what they share is held in memory meanwhile."""


@dataclass(frozen=True)
class Question:
    """What is measured of one utterance: after it and after each of what might stand in its place (the ``prompts``,
    N of them), each of M ``replies``, of which the first ``desired`` ones are those that it is credited for."""

    turn: int
    prompts: tuple[Prompt, ...]
    replies: tuple[str, ...]
    desired: int
    intended: bool


def judge(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The influence of each target turn (T), in nats, by a model on this machine; None where no reply follows.

    Raises InputError: No model is named, or it cannot be loaded; a file of intents that cannot be read. UnitError: A
    turn's context is longer than the model reads.
    """
    chosen = settings.influence
    questions = questions_of(episode, chosen)
    return _judgements(episode, chosen, questions, measured_here("influence", episode, chosen, questions))


def judge_served(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The same by ``decompose.llm.model`` at its server, which has to tell how probable a prompt's tokens are.

    Raises InputError: The server does not tell it, or cannot be asked at all; a file of intents that cannot be read.
    UnitError: A turn's context is longer than the model reads, or the server failed.
    """
    chosen, shown = settings.influence, anonymize(episode, None, settings.llm)
    questions = questions_of(shown.episode, chosen, shown.renaming)
    return _judgements(
        episode, chosen, questions, measured_served(settings.llm, episode, chosen, questions, asker.complete)
    )


def measured_here(
    method: str, episode: Episode, chosen: MeasurerSettings, questions: Sequence[Question]
) -> Sequence[LogprobResult]:
    """What the model on this machine that ``method`` is given measures.

    Raises InputError: None is named, or it cannot be loaded. UnitError: A turn's context is longer than it reads.
    """
    digest = model_digest(named_model(chosen, method))
    try:
        return _measured_here(chosen, digest, tuple(questions))
    except TooLongError as error:
        raise _too_long(episode, questions[error.asked], error) from None


def measured_served(
    llm: LLMSettings, episode: Episode, chosen: MeasurerSettings, questions: Sequence[Question], complete: Complete
) -> Sequence[LogprobResult]:
    """What ``llm.model`` measures at its server.

    Raises InputError: The server does not tell probabilities, or cannot be asked at all. UnitError: A turn's context is
    longer than the model reads, or the server failed.
    """
    measured: list[LogprobResult] = []
    for one in questions:
        try:
            measurer = ServedMeasurer(complete, _wording(llm, chosen, episode, one.turn))
            measured.append(measurer.measure(one.prompts, one.replies))
        except TooLongError as error:
            raise _too_long(episode, one, error) from None
    return measured


@lru_cache(maxsize=8)
def _measured_here(chosen: MeasurerSettings, digest: str, questions: tuple[Question, ...]) -> tuple[LogprobResult, ...]:
    """What a model on this machine measures; the ratings of a session ask the same, one after the other."""
    from apportion.decompose.influence.local_scorer import opened

    measurer = opened(chosen)
    measured: list[LogprobResult] = []
    for first in range(0, len(questions), AT_ONCE):
        some = questions[first : first + AT_ONCE]
        try:
            measured += measurer.measure_all([(one.prompts, one.replies) for one in some])
        except TooLongError as error:
            error.asked += first
            raise
    return tuple(measured)


def requests_for(
    session: Session, rating_name: str | None, behaviour: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every request that judging ``session`` by a server makes: a few words first, whose probabilities it has to give.

    Raises InputError: A file of intents that cannot be read, or a tokenizer that cannot be loaded.
    """
    chosen = settings.influence

    def asked(shown: AnonymizedEpisode) -> list[Question]:
        return questions_of(shown.episode, chosen, shown.renaming)

    return requests_of(settings.llm, session, rating_name, chosen, asked)


def requests_of(
    llm: LLMMethodSettings,
    session: Session,
    rating_name: str | None,
    chosen: MeasurerSettings,
    questions: Callable[[AnonymizedEpisode], Sequence[Question]],
) -> list[tuple[ChatRequest, RequestMeta]]:
    """The requests that `measured_served` makes for ``questions`` about each of the session's episodes.

    Raises InputError: A tokenizer that cannot be loaded.
    """
    listed: list[tuple[ChatRequest, RequestMeta]] = []
    for episode in session.episodes(rating_name):
        for one in questions(anonymize(episode, None, llm)):
            wording = _wording(llm, chosen, episode, one.turn)
            meta = RequestMeta(*episode.key, sample=0, turns=(one.turn,))
            asked = [wording.probe(), *(r for row in wording.requests(one.prompts, one.replies) for r in row)]
            listed += [(request, meta) for request in asked]
    return listed


def _wording(llm: LLMSettings, chosen: MeasurerSettings, episode: Episode, turn: int) -> ServerPromptFormat:
    text = None
    if chosen.endpoint == "completions" and chosen.tokenizer is not None:
        text = _text_of(chosen.tokenizer)
    return ServerPromptFormat(llm, chosen.endpoint, text, f"session {episode.session_id}, turn {turn}")


@lru_cache(maxsize=2)
def _text_of(tokenizer: str) -> ChatText:
    return ChatText(tokenizer, load_tokenizer(tokenizer))


def questions_of(episode: Episode, chosen: InfluenceSettings, renaming: PseudonymMap | None = None) -> list[Question]:
    """What is measured of each target turn that was replied to; ``renaming`` is for what the corpus does not hold."""
    intents = {} if chosen.intents is None else read_intents(chosen.intents)
    if renaming is not None:
        intents = {key: intent.told(renaming.text) for key, intent in intents.items() if key[0] == episode.session_id}
    found = (reply_to(episode, position) for position in episode.target_positions if _said(episode, position))
    replies = [reply for reply in found if reply is not None]
    return [
        _question(episode, reply, replies, chosen, intents.get((episode.session_id, _turn(episode, reply))))
        for reply in replies
    ]


def _question(
    episode: Episode, reply: Reply, all_: Sequence[Reply], chosen: InfluenceSettings, intent: Intent | None
) -> Question:
    draw = random.Random(f"{chosen.seed}/{episode.session_id}/{_turn(episode, reply)}")
    others = _drawn(draw, [one.text for one in all_], reply.text, chosen.negatives)
    said = _said(episode, reply.position)
    instead = [SILENCE]
    if chosen.baseline == "others":
        instead = (
            _drawn(draw, [_said(episode, i) for i in episode.target_positions], said, chosen.candidates) or instead
        )
    prompts = tuple(prompt_of(episode, reply, words, chosen.context_turns) for words in (said, *instead))
    if intent is not None:
        texts = (*intent.desired, *intent.undesired)
        return Question(_turn(episode, reply), prompts, texts, len(intent.desired), intended=True)
    return Question(_turn(episode, reply), prompts, (reply.text, *others), 1, intended=False)


def _drawn(draw: random.Random, texts: Sequence[str], but: str, most: int) -> list[str]:
    """At most ``most`` distinct texts other than ``but``, with any words at all."""
    distinct = [text for text in dict.fromkeys(texts) if text.strip() and text != but]
    return draw.sample(distinct, min(most, len(distinct)))


def _judgements(
    episode: Episode, chosen: InfluenceSettings, questions: Sequence[Question], measured: Sequence[LogprobResult]
) -> list[TurnScore]:
    weight = weight_of(episode) if chosen.signed else 1.0
    found = {}
    for question, one in zip(questions, measured, strict=True):
        far = moved(question, one, per_token=chosen.tokens == "mean")
        value = far if question.intended else weight * far
        found[question.turn] = TurnScore(question.turn, value, _told(question, one, far, chosen, weight))
    return [found.get(turn) or TurnScore(turn, None) for turn in episode.target_turns]


def moved(question: Question, measured: LogprobResult, *, per_token: bool) -> float:
    """How far the utterance moves the follower, beyond what stands in its place (nats)."""
    if question.intended:
        rewards = shift_of(measured, question.desired, per_token=per_token)  # Eq. 5
    else:
        logs = measured.means if per_token else measured.sums
        rewards = logs[:, 0] - (logs[:, 1:].mean(axis=1) if logs.shape[1] > 1 else 0.0)
    return float(rewards[0] - np.mean(rewards[1:]))


def weight_of(episode: Episode) -> float:
    """How far the score lies above the middle of its scale, from -1 to 1; the good end is above."""
    rating = episode.rating
    return (2 * episode.score - rating.low - rating.high) / (rating.high - rating.low)


def _told(question: Question, measured: LogprobResult, far: float, chosen: InfluenceSettings, weight: float) -> str:
    unit = "nats a token" if chosen.tokens == "mean" else "nats"
    beside = f"against {'silence' if chosen.baseline == 'silence' else f'{len(question.prompts) - 1} other utterances'}"
    if question.intended:
        counts = f"{question.desired} desired and {len(question.replies) - question.desired} undesired replies"
        return f"moved the next speaker by {far:+.3f} {unit} towards what was intended ({counts}), {beside}"
    tokens = int(measured.tokens[0, 0])
    counts = f"{tokens} tokens, beside {len(question.replies) - 1} other replies"
    signed = "" if not chosen.signed else f"; the score counts {weight:+.2f}"
    return f"moved the reply that came by {far:+.3f} {unit} ({counts}), {beside}{signed}"


def _too_long(episode: Episode, question: Question, error: TooLongError) -> UnitError:
    section = "influence" if question.prompts[0].speaker == "assistant" else "zero_shot"
    return UnitError(
        f"session {episode.session_id}, turn {question.turn}: {error}. Show the follower fewer turns "
        f"(decompose.{section}.context_turns), or name a model that reads more."
    )


def _turn(episode: Episode, reply: Reply) -> int:
    return episode.turns[reply.position].turn


def _said(episode: Episode, position: int) -> str:
    return episode.turns[position].text.strip()
