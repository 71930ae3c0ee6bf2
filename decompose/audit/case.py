"""One episode as the model is to be asked about it: as it is, or with something changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.method import SessionMethod
from apportion.decompose.prompt_building.pseudonymize import PseudonymMap
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.request import ChatRequest


@dataclass(frozen=True)
class PerturbedEpisode:
    """A session with one rating, the method that asks, the descriptors and settings that its question is made from.

    ``first_sample`` is the index of the first reply asked for: another one asks the same question anew. ``planted`` is
    the turn that an instruction was put in for, ``renamed`` how people were renamed, for the way back.
    """

    method: SessionMethod
    session: Session
    descriptors: pa.Table | None
    settings: DecomposeSettings
    first_sample: int = 0
    planted: int | None = None
    renamed: PseudonymMap | None = None

    @property
    def episode(self) -> Episode:
        """The one episode."""
        (episode,) = self.session.episodes()
        return episode

    def requests(self) -> list[ChatRequest]:
        """Every first request that judging the case makes."""
        listed = session_requests(self.method, self.session, None, self.descriptors, self.settings)
        return [shifted(request, self.first_sample) for request, _ in listed]


def unchanged(case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
    """The question as the method asks it."""
    return case


def asked_again(case: PerturbedEpisode, seed: int) -> PerturbedEpisode:
    """The same question, for other samples of the model's replies: how far it agrees with itself."""
    return replace(case, first_sample=case.settings.llm.samples)


def shifted(request: ChatRequest, samples: int) -> ChatRequest:
    """``request`` for a reply that comes ``samples`` later."""
    return replace(request, sample=request.sample + samples) if samples else request


def cases_of(
    method: SessionMethod,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
) -> list[PerturbedEpisode]:
    """One unchanged case for each episode whose target says something."""
    return [
        PerturbedEpisode(method, replace(session, ratings=(episode.rating,)), descriptors, settings)
        for episode in session.episodes(rating_name)
        if episode.target_turns
    ]
