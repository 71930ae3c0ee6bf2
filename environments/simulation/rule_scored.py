"""The simulator of games that rules score: a session finds its game, seed, acts and agents again in the log.

Agents play on as they were called, or others whom a run names: scripts and a package's by their names; language models
by ``STYLE@MODEL``, asked through ``complete`` with the temperature of the corpus where the run says no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from apportion.corpus.session import Session
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.corpus_export import RULES
from apportion.environments.environment import Environment
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.episode_replay import (
    Seats,
    check_cast,
    check_words,
    digest_of,
    logged_episode,
    made_by,
    temperature_of,
)
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import BY_RULES, Judge, RoleAssignment
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class GameSimulator:
    """A `apportion.environments.episode_restorer.SupportsAgentReplacement` of games that the rules score.

    ``kind``: The environment's. ``game``: The game that a log's opening says; raises InputError, KeyError, TypeError or
    ValueError where it says none. ``roster``: Who plays on.
    """

    kind: str
    game: Callable[[Mapping[str, Any]], Environment]
    roster: AgentRegistry
    version: int = 1
    """Of the rules by which a session plays on; another one makes finished work stale."""
    cast: RoleAssignment = field(default_factory=RoleAssignment)
    """Who plays on and scores."""

    def recast(self, cast: RoleAssignment) -> Self:
        """The same, whose sessions are played on and scored by ``cast``.

        Raises InputError: there is no such agent, or another judge than the rules is named.
        """
        if cast.judge != RULES:
            raise InputError(f"judge = {cast.judge!r}: a {self.kind} is scored by its rules; name the judge {RULES!r}")
        check_cast(self.roster, cast)
        return replace(self, cast=cast)

    def identity(self, session: Session, corpus: Path) -> Mapping[str, Any] | None:
        """Version, judge, agents, and a digest of what was done in which context; None for sessions of others."""
        if not made_by(session, self.kind):
            return None
        ours = {"environment": self.kind, "version": self.version, "judge": RULES}
        try:
            logged = logged_episode(session, corpus)
            played = digest_of(logged, *self._context(logged))
        except ApportionError:
            return {**ours, "episode": None}  # Told when it is opened.
        made = {**ours, "temperature": temperature_of(corpus), "episode": played}
        if not self.cast.changes and not self.asked(session, corpus):
            return made  # As sessions were known before others could play on.
        return {**made, "cast": {**self._seats(logged, corpus).identity(), **self._judge_identity()}}

    def asked(self, session: Session, corpus: Path) -> tuple[LLMSettings, ...]:
        """As `apportion.environments.episode_restorer.SupportsAgentReplacement.asked`."""
        try:
            seats = self._seats(logged_episode(session, corpus), corpus)
        except ApportionError:
            return ()
        models = [*self._judge_settings(), *(one.settings for one in seats.models().values())]
        return tuple({model.model: model for model in models}.values())

    def open(self, session: Session, corpus: Path, complete: Complete) -> RestoredEpisode:
        """The session, played on and scored by the cast.

        Raises UnitError: the log is not there, damaged, holds no such episode, or other words than the session.
        """
        return self._restored(session, corpus, complete, self._scorer(complete))

    def _restored(self, session: Session, corpus: Path, complete: Complete, judge: Judge) -> RestoredEpisode:
        try:
            logged = logged_episode(session, corpus)
            game = self._environment(logged)
            game.reset(logged.opening["seed"])
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise UnitError(f"session {session.session_id}: {error}") from None
        seats = self._seats(logged, corpus)
        agents, others = seats.again(complete), seats.others(complete)
        restored = RestoredEpisode(session.session_id, game, tuple(logged.steps), agents, judge, others)
        check_words(session, restored)
        return restored

    def _seats(self, logged: LoggedEpisode, corpus: Path) -> Seats:
        return Seats.of(logged, corpus, self.roster, self.cast)

    def _environment(self, logged: LoggedEpisode) -> Environment:
        return self.game(logged.opening["about"])

    def _context(self, logged: LoggedEpisode) -> tuple[Any, ...]:
        """What decides how an episode plays on besides its log."""
        return ()

    def _scorer(self, complete: Complete) -> Judge:
        return BY_RULES

    def _judge_identity(self) -> Mapping[str, Any]:
        return {}

    def _judge_settings(self) -> Sequence[LLMSettings]:
        return ()
