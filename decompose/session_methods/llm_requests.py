"""What judging a session asks a language model first: listed, so that it can be counted, shown and handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from apportion.corpus.session import Session
from apportion.decompose.method import Method, RolloutMethod
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.episode_restorer import Rollable
from apportion.llm_client.request import ChatRequest


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


class Requests(Protocol):
    """What a method's ``requests`` names."""

    def __call__(
        self, session: Session, rating_name: str | None, behaviour: pa.Table | None, settings: DecomposeSettings
    ) -> list[tuple[ChatRequest, RequestMeta]]:
        """Every first request that judging ``session`` makes, sent or not; what follows a bad reply is not foreseen.

        ``behaviour`` is what `apportion.decompose.session_methods.runner.JudgeSession` gets, None also where it is not
        measured yet. A `RolloutMethod` gets a fifth argument, the session opened to be played on, and may ask
        nothing yet.
        """


def session_requests(
    method: Method,
    session: Session,
    rating_name: str | None,
    behaviour: pa.Table | None,
    settings: DecomposeSettings,
    played: Rollable | None = None,
) -> list[tuple[ChatRequest, RequestMeta]]:
    """Every first request that judging ``session`` by ``method`` makes; none where it asks no language model.

    ``played`` is for a `RolloutMethod`: the session, None where no environment made it.

    Raises InputError: Nothing can be asked before a setting is changed. UnitError: Nothing can be asked about this
    session.
    """
    requests, rolls_out = method.resolve_requests(), isinstance(method, RolloutMethod)
    if requests is None or (rolls_out and played is None):
        return []
    listed: list[tuple[ChatRequest, RequestMeta]] = requests(
        session, rating_name, behaviour, settings, *([played] if rolls_out else [])
    )
    return listed
