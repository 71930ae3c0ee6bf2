"""Who plays a session on, who scores it, and by which language model: said before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from apportion.environments.environment import Environment
from apportion.llm_client.model_spec import ModelSpec


@dataclass(frozen=True)
class EpisodeScore:
    """What a judge says of one episode: by agent and dimension a score, None where it failed, with ``problem`` why."""

    scores: Mapping[str, Mapping[str, float | None]]
    problem: str | None = None


class Judge(Protocol):
    """Scores an episode as it stands, which need not be over; safe to use from several threads at once."""

    @property
    def called(self) -> str:
        """The ratings' annotator, as in a corpus."""

    def verdict(self, environment: Environment) -> EpisodeScore:
        """What the agents have reached.

        Raises InputError: No episode can be scored before a person changes something. Raises StoppedError: The budget
        of what is asked is used up.
        """


@dataclass(frozen=True)
class RuleScorer:
    """The environment's own outcome; asks nobody."""

    called: str = "rules"

    def verdict(self, environment: Environment) -> EpisodeScore:
        """The outcome."""
        return EpisodeScore(environment.outcome())


BY_RULES = RuleScorer()


SELF = "self"
"""In place of an agent's name: who played the seat when the session was made."""


@dataclass(frozen=True)
class RoleAssignment:
    """Who plays on and who scores; what is not said stays as it was when the session was made.

    ``target``, ``partner``: The name of the agent in the seat whose acts are credited, and of those in all others;
    `SELF` for who made the session. ``judge``: ``rules``, or a language model's by the name of its prompt, ``STYLE`` or
    ``STYLE@MODEL``. ``temperature``: Of agents that are language models; None is that of the corpus. ``chosen``: The
    model of names without one, and how every model is asked. ``plays``: Whether anybody plays on at all; a history that
    is scored as it stands needs the judge alone.
    """

    target: str = SELF
    partner: str = SELF
    judge: str = BY_RULES.called
    temperature: float | None = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    plays: bool = True

    @property
    def changes(self) -> bool:
        """Whether others play on or score than those who made the session."""
        others = self.plays and (self.target != SELF or self.partner != SELF or self.temperature is not None)
        return others or self.judge != BY_RULES.called

    def scoring(self) -> RoleAssignment:
        """The same where nobody plays on."""
        return replace(self, target=SELF, partner=SELF, temperature=None, plays=False)

    def named(self, made: str, *, target: bool) -> str:
        """Who plays on in a seat whose acts ``made`` did, the ``target``'s or another's.

        >>> cast = RoleAssignment(partner="conceding")
        >>> cast.named("base@m", target=False), cast.named("x", target=True)
        ('conceding', 'x')
        """
        name = self.target if target else self.partner
        return made if name == SELF else name
