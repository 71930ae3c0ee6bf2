"""Sotopia-RL over several dimensions: each turn's attribution in each of them, times that dimension's score.

r_t = 1/D * sum over d of w_d * r_(t,d) (section 2.2 of SAVOIR, after Yu et al., 2025), where r_(t,d) = G_d * A_d(a_t),
G_d is from 0 to 10, and A_d the language model's attribution from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.method import TurnScore
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.session_methods import llm
from apportion.decompose.session_methods.llm_requests import RequestMeta
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import listed
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import LLMSession

ATTRIBUTION = "attribution"
HIGHEST = 10.0
"""Of a dimension's score, once it is brought from its range."""
QUESTIONS = {
    "GOAL": "how far {{ target }} reached their own goal",
    "REL": "what the conversation did to the relationships and the reputation of {{ target }}",
    "KNO": "how much new and important knowledge {{ target }} gained",
    "SEC": "how well {{ target }} kept their secrets",
    "SOC": "how well {{ target }} kept to moral rules and laws",
    "FIN": "what {{ target }} gained or lost financially and materially",
    "BEL": "how natural and true to character {{ target }} was",
}
"""What a dimension of SOTOPIA-EVAL tells; of any other, what the rating's name does."""


@dataclass(frozen=True)
class _Dimension:
    """One dimension of an episode: the episode seen through its rating, and what is asked about it."""

    episode: Episode
    weight: float
    settings: DecomposeSettings

    @property
    def share(self) -> float:
        """What an attribution of 1 is worth: w_d times the score from 0 to 10."""
        rating = self.episode.rating
        return self.weight * HIGHEST * (self.episode.score - rating.low) / (rating.high - rating.low)


def requests_for(
    session: Session, rating_name: str | None, descriptors: pa.Table | None, settings: DecomposeSettings
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request that judging ``session`` makes, dimension by dimension.

    Raises InputError: The prompt cannot be used. Raises UnitError: A dimension has no score, or the model's context is
    too short for any part of the session.
    """
    return [
        request
        for episode in session.episodes(rating_name)
        for dimension in _dimensions(episode, settings)
        for request in llm.episode_requests(dimension.episode, descriptors, dimension.settings)
    ]


def judge(
    episode: Episode, descriptors: pa.Table | None, settings: DecomposeSettings, asker: LLMSession
) -> list[TurnScore]:
    """The weighted mean of each target turn (T): from 0 to 10 where the weights are 1.

    Raises InputError: No request can succeed: no key, no consent, an unknown prompt. UnitError: A dimension has no
    score, or there was no usable reply.
    """
    dimensions = list(_dimensions(episode, settings))
    judged = [llm.judge(one.episode, descriptors, one.settings, asker) for one in dimensions]
    count = len(dimensions)
    means = []
    for of_turn in zip(*judged, strict=True):
        parts = [
            (one.share / (_highest(one.settings) * count), judgement)
            for one, judgement in zip(dimensions, of_turn, strict=True)
        ]
        value = math.fsum(share * (judgement.value or 0.0) for share, judgement in parts)
        spreads = [share * judgement.sd for share, judgement in parts if judgement.sd is not None]
        said = "; ".join(
            f"{one.episode.rating.name} {judgement.value or 0.0:g}"
            for one, judgement in zip(dimensions, of_turn, strict=True)
        )
        means.append(TurnScore(of_turn[0].turn, value, said, math.hypot(*spreads) if spreads else None))
    return means


def _dimensions(episode: Episode, settings: DecomposeSettings) -> Iterator[_Dimension]:
    ratings = {rating.name: rating for rating in (episode.rating, *episode.beside)}
    for name, weight in settings.sotopia_rl.weights.items():
        if name not in ratings:
            raise UnitError(
                f"session {episode.session_id}: nobody scored {name} of {episode.rating.target} beside "
                f"{episode.rating.name}; there are {listed(sorted(ratings), 10)}. Judge the corpus in it, or weigh "
                "others in decompose.sotopia_rl.weights."
            )
        yield _Dimension(replace(episode, rating=ratings[name]), weight, _asked_of(name, settings))


def _asked_of(name: str, settings: DecomposeSettings) -> DecomposeSettings:
    """The settings by which ``llm`` asks about one dimension."""
    own = load_prompt(settings.llm.prompt).units == ATTRIBUTION
    changes = {
        "prompt": settings.llm.prompt if own else ATTRIBUTION,
        "question": settings.llm.question or QUESTIONS.get(name),
    }
    return settings.model_copy(update={"llm": settings.llm.model_copy(update=changes)})


def _highest(settings: DecomposeSettings) -> float:
    highest = load_prompt(settings.llm.prompt).high
    assert highest is not None  # A prompt of attributions has one.
    return highest
