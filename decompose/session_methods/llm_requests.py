"""What judging a session asks or plays first: listed, so that it can be counted, shown and handed in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from apportion.corpus.session import Episode, Session
from apportion.decompose.method import Method, RolloutMethod
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.episode_restorer import Rollable, TerminalState
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


@dataclass(frozen=True)
class History:
    """H(S) of ``target``, of its turns those ``kept``, played on once for each seed; none: scored as it stands."""

    target: str
    kept: frozenset[int]
    seeds: tuple[int, ...] = ()


@dataclass
class _Listing:
    """A `Playable` that plays nothing and remembers what it was asked for."""

    scores: dict[str, float | None]
    histories: list[History] = field(default_factory=list)

    def play_on(self, target: str, kept: Collection[int], seeds: Sequence[int]) -> list[TerminalState]:
        self.histories.append(History(target, frozenset(kept), tuple(seeds)))
        return [self._ending() for _ in seeds]

    def as_it_stands(self, target: str, kept: Collection[int]) -> TerminalState:
        self.histories.append(History(target, frozenset(kept)))
        return self._ending()

    def _ending(self) -> TerminalState:
        return TerminalState(self.scores, ranges=dict.fromkeys(self.scores, (0.0, 1.0)))


def histories_of(method: Method, episode: Episode, settings: DecomposeSettings) -> list[History]:
    """The histories whose plays ``method`` would ask for to judge an episode, in its order.

    A method that chooses them by what earlier ones were worth lists what it would ask where all are worth nothing.

    Raises UnitError: It cannot judge such an episode whatever its plays are worth: a budget that is too small.
    """
    scores: dict[str, float | None] = defaultdict(float, dict.fromkeys(settings.savoir.weights or (), 0.0))
    scores[episode.rating.name] = 0.0
    listing = _Listing(scores)
    judge: Any = method.resolve()
    judge(episode, None, settings, None, listing)
    return listing.histories
