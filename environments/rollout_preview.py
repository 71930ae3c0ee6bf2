"""How far a session's plays are kept, and what the next reply would be asked: a look that asks nobody.

How to use it::

    restored = simulator.open(session, folder, kept_alone(find))       # find: the kept reply to a request, or None
    restored.ahead("Ann Lee", {0, 4}, seed=3)                          # an `PlannedRollouts`
    restored.prompts("Ann Lee")                                        # what each act of the session itself would ask
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from apportion.environments.environment import Environment, Observation
from apportion.llm_client.cost.tokens import estimated_input_tokens
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete


class NotCachedError(Exception):
    """Nobody has answered ``request`` yet; never reaches a person."""

    def __init__(self, request: ChatRequest) -> None:
        super().__init__(request.subject)
        self.request = request


def kept_alone(find: Callable[[ChatRequest], ChatReply | None]) -> Complete:
    """Answers with what is kept; raises `NotCachedError` for the rest."""

    def complete(request: ChatRequest) -> ChatReply:
        reply = find(request)
        if reply is None:
            raise NotCachedError(request)
        return reply

    return complete


@dataclass(frozen=True)
class PlannedRollouts:
    """How far one play of a history goes by what is kept.

    ``begun`` counts the steps of the history, ``reached`` those with what is kept of the play. ``request`` is what
    would be asked next, None where nothing is; ``over`` says that nobody acts any more, so that the judge asks it.
    ``most`` is how many steps there may be in all, where the rules say.
    """

    begun: int
    reached: int
    over: bool
    request: ChatRequest | None = None
    most: int | None = None


@dataclass(frozen=True)
class Prompt:
    """A request as it may come, the output tokens to expect, and how often its like is asked for one act."""

    request: ChatRequest
    output_tokens: int
    times: int = 1

    @cached_property
    def input_tokens(self) -> int:
        """Of the request, as an estimate."""
        return estimated_input_tokens(self.request)


@runtime_checkable
class PredictedRequests(Protocol):
    """A session whose plays can be looked at before they are asked for."""

    def ahead(self, target: str, kept: Collection[int], seed: int | None) -> PlannedRollouts:
        """How far a play of H(S) goes; ``seed`` None: scored as it stands. Raises UnitError as playing on would."""
        ...

    def prompts(self, target: str) -> Sequence[Sequence[Prompt]]:
        """By step of the session what its acts would ask, were they played by those who play on for ``target``."""
        ...

    def judged(self) -> Sequence[Prompt]:
        """What the judge would ask of the session as it is."""
        ...


def prompts_of(agent: Any, environment: Environment, name: str) -> list[Prompt]:
    """What ``agent`` would be asked for the next act of ``name``; nothing of a script."""
    if not isinstance(agent, AsksForActs):
        return []
    return [Prompt(agent.request(Observation(environment, name)), agent.tokens_an_act, agent.requests_an_act)]


@runtime_checkable
class AsksForActs(Protocol):
    """An agent that asks a language model for its acts."""

    @property
    def requests_an_act(self) -> int:
        """How often, where every reply can be used."""

    @property
    def tokens_an_act(self) -> int:
        """About what one reply takes."""

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first."""


@runtime_checkable
class AsksForVerdicts(Protocol):
    """A judge that asks a language model."""

    def prompts(self, environment: Environment) -> Sequence[Prompt]:
        """What it would ask of an episode as it stands."""
