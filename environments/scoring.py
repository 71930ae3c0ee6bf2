"""Who scores an episode: the rules themselves, or a judge that somebody hands in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from apportion.environments.environment import Environment


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

        Raises
        ------
        InputError
            No episode can be scored before a person changes something.
        StoppedError
            The budget of what is asked is used up.
        """


@dataclass(frozen=True)
class RuleScorer:
    """The environment's own outcome; asks nobody."""

    called: str = "rules"

    def verdict(self, environment: Environment) -> EpisodeScore:
        """The outcome."""
        return EpisodeScore(environment.outcome())


BY_RULES = RuleScorer()
