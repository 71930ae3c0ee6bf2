"""One session, asked about under one perturbation."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from apportion.corpus.schema import AUDIT, EPISODE_KEY
from apportion.corpus.session import Session
from apportion.decompose.audit.case import PerturbedEpisode, cases_of, shifted
from apportion.decompose.audit.perturbations import CLEAN, PERTURBATIONS
from apportion.decompose.method import SessionMethod
from apportion.decompose.session_methods.runner import judge_episode
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession


class _LaterSamples(LLMSession):
    """A borrowed asker whose requests are for later samples: the same question, asked anew."""

    def __init__(self, lent: LLMSession, samples: int) -> None:
        self._lent, self._samples = lent, samples

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to ``request`` at a later sample."""
        return self._lent.complete(shifted(request, self._samples))

    def close(self) -> None:
        """Nothing: whoever lent the client closes it."""


def judge_session(
    perturbation: str,
    method: SessionMethod,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
    asker: LLMSession,
) -> pa.Table:
    """Judge every target turn of ``session`` once more, with the question changed in one way.

    Returns
    -------
    pa.Table
        AUDIT schema, in the order of the ratings, then of the turns; ``value`` in the prompt's units, null where the
        model gave null. Empty where the perturbation changes nothing (descriptors of one phrase each, say).

    Raises
    ------
    InputError
        Nothing can work before a setting is changed.
    UnitError
        No usable reply; what was last replied is told.
    """
    rows = []
    for case, clean in audit_cases(perturbation, method, session, rating_name, descriptors, settings):
        rows += _rows(perturbation, case, clean, asker)
    return pa.Table.from_pylist(rows, schema=AUDIT.arrow)


def audit_requests(
    perturbation: str,
    method: SessionMethod,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
) -> list[tuple[ChatRequest, int]]:
    """Every first request that ``judge_session`` makes, with the number of turns it asks for, sent or not."""
    return [
        (request, len(case.episode.target_turns))
        for case, _ in audit_cases(perturbation, method, session, rating_name, descriptors, settings)
        for request in case.requests()
    ]


def audit_cases(
    perturbation: str,
    method: SessionMethod,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
) -> Iterator[tuple[PerturbedEpisode, PerturbedEpisode]]:
    """Each case that a perturbation asks about, with the clean one that it was made from."""
    for clean in cases_of(method, session, rating_name, descriptors, settings):
        case = PERTURBATIONS[perturbation].apply(clean, settings.audit.seed)
        if perturbation == CLEAN or case.requests() != clean.requests():
            yield case, clean


def _rows(
    perturbation: str, case: PerturbedEpisode, clean: PerturbedEpisode, asker: LLMSession
) -> list[dict[str, object]]:
    asked = _LaterSamples(asker, case.first_sample) if case.first_sample else asker
    judgements = judge_episode(case.method, case.episode, case.descriptors, case.settings, asked)
    names = dict(zip(EPISODE_KEY, clean.episode.key, strict=True))
    return [
        {
            **names,
            "perturbation": perturbation,
            "turn": judgement.turn,
            "value": judgement.value,
            "planted": judgement.turn == case.planted,
            "rationale": _revealed(case, judgement.rationale),
        }
        for judgement in judgements
    ]


def _revealed(case: PerturbedEpisode, rationale: str | None) -> str | None:
    return rationale if rationale is None or case.renamed is None else case.renamed.back(rationale)
