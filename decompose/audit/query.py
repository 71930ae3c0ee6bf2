"""One session, asked about under one perturbation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def audit_cases(
    perturbation: str,
    method: SessionMethod,
    session: Session,
    rating_name: str | None,
    descriptors: pa.Table | None,
    settings: DecomposeSettings,
) -> list[tuple[PerturbedEpisode, PerturbedEpisode]]:
    """Each case that a perturbation asks about, with the clean one it was made from; none where it changes nothing."""
    cleans = cases_of(method, session, rating_name, descriptors, settings)
    cases = [(PERTURBATIONS[perturbation].apply(clean, settings.audit.seed), clean) for clean in cleans]
    return [(case, clean) for case, clean in cases if perturbation == CLEAN or case.requests() != clean.requests()]


def judge_cases(
    perturbation: str, cases: Sequence[tuple[PerturbedEpisode, PerturbedEpisode]], asker: LLMSession
) -> pa.Table:
    """Judge every target turn of a session's cases (`audit_cases`) once more, with the question changed in one way.

    Returns AUDIT schema, in the order of the ratings, then of the turns; ``value`` in the prompt's units, null where
    the model gave null.

    Raises InputError: Nothing can work before a setting is changed. UnitError: No usable reply.
    """
    rows = [row for case, clean in cases for row in _rows(perturbation, case, clean, asker)]
    return pa.Table.from_pylist(rows, schema=AUDIT.arrow)


def case_requests(cases: Iterable[tuple[PerturbedEpisode, PerturbedEpisode]]) -> list[tuple[ChatRequest, int]]:
    """Every first request that ``judge_cases`` makes, with the number of turns it asks for, sent or not."""
    return [(request, len(case.episode.target_turns)) for case, _ in cases for request in case.requests()]


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
