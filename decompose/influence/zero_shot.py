"""The method `zero-shot`: what a language model that nobody taught expects the user to say next.

    value(turn) = log sum over pleased replies v of P(v | all up to and with the turn)
                - log sum over displeased ones of the same

A reply is what the user's next turn begins with, in nats by the model's own chat template with the target as the
assistant. No score, no label and no reply that came is read, so that the last turn has a value, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.influence.follower import prompt_after
from apportion.decompose.influence.judge import Question, measured_here, measured_served, requests_of
from apportion.decompose.influence.scorer import LogprobResult
from apportion.decompose.method import TurnScore
from apportion.decompose.method_settings import ZeroShotSettings
from apportion.decompose.prompt_building.pseudonymize import anonymize
from apportion.decompose.session_methods.llm_requests import RequestMeta
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import LLMSession


def judge(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The log odds after each target turn (T), in nats, by a model on this machine; None of a turn without words.

    Raises InputError: No model is named, it cannot be loaded, or its template shows no user after the assistant.
    UnitError: A turn's context is longer than the model reads.
    """
    chosen = settings.zero_shot
    questions = questions_of(episode, chosen)
    return _judgements(episode, chosen, questions, measured_here("zero-shot", episode, chosen, questions))


def judge_served(
    episode: Episode, behaviour: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The same by ``decompose.llm.model`` at its server, which has to tell how probable a prompt's tokens are.

    Raises InputError: The server does not tell it, or cannot be asked at all. UnitError: A turn's context is longer
    than the model reads, or the server failed.
    """
    chosen = settings.zero_shot
    questions = questions_of(anonymize(episode, None, settings.llm).episode, chosen)
    measured = measured_served(settings.llm, episode, chosen, questions, asker.complete)
    return _judgements(episode, chosen, questions, measured)


def requests_for(
    session: Session, rating_name: str | None, behaviour: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every request that judging ``session`` by a server makes.

    Raises InputError: A tokenizer that cannot be loaded.
    """
    chosen = settings.zero_shot
    return requests_of(settings.llm, session, rating_name, chosen, lambda shown: questions_of(shown.episode, chosen))


def questions_of(episode: Episode, chosen: ZeroShotSettings) -> list[Question]:
    """What is measured after each target turn that has words."""
    replies = (*chosen.pleased, *chosen.displeased)
    return [
        Question(
            episode.turns[position].turn,
            (prompt_after(episode, position, chosen.context_turns),),
            replies,
            len(chosen.pleased),
            intended=True,
        )
        for position in episode.target_positions
        if episode.turns[position].text.strip()
    ]


def _judgements(
    episode: Episode, chosen: ZeroShotSettings, questions: Sequence[Question], measured: Sequence[LogprobResult]
) -> list[TurnScore]:
    many, found = len(chosen.pleased), {}
    for question, one in zip(questions, measured, strict=True):
        logs = one.sums[0]
        value = float(np.logaddexp.reduce(logs[:many]) - np.logaddexp.reduce(logs[many:]))
        likeliest = question.replies[int(logs[:many].argmax())], question.replies[many + int(logs[many:].argmax())]
        rationale = f"log odds {value:+.3f} nats of a pleased next turn of the user; likeliest {' / '.join(likeliest)}"
        found[question.turn] = TurnScore(question.turn, value, rationale)
    return [found.get(turn) or TurnScore(turn, None) for turn in episode.target_turns]
