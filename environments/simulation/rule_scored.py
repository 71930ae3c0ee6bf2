"""The simulator of games that rules score: a session finds its game, seed, acts and agents again in the log.

Agents play on as they were called, or others whom a run names: scripts and a package's by their names; language models
by ``STYLE@MODEL``, asked through ``complete`` with the temperature of the corpus where the run says no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apportion.corpus.session import Session
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.corpus_export import RULES
from apportion.environments.environment import Environment
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
from apportion.environments.role_assignment import RoleAssignment
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings


@dataclass(frozen=True)
class GameSimulator:
    """A `apportion.environments.episode_restorer.SupportsAgentReplacement` of games that the rules score.

    Parameters
    ----------
    kind : str
        The environment's.
    game : callable
        The game that a log's opening says; raises InputError, KeyError, TypeError or ValueError where it says none.
    roster : Roster
        Who plays on.
    """

    kind: str
    game: Callable[[Mapping[str, Any]], Environment]
    roster: AgentRegistry
    version: int = 1
    """Of the rules by which a session plays on; another one makes finished work stale."""
    cast: RoleAssignment = field(default_factory=RoleAssignment)
    """Who plays on; the rules score."""

    def recast(self, cast: RoleAssignment) -> GameSimulator:
        """The same, whose sessions are played on by ``cast``.

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
        except ApportionError:
            return {**ours, "episode": None}  # Told when it is opened.
        made = {**ours, "temperature": temperature_of(corpus), "episode": digest_of(logged)}
        if not self.cast.changes and not self.asked(session, corpus):
            return made
        return {**made, "cast": Seats.of(logged, corpus, self.roster, self.cast).identity()}

    def asked(self, session: Session, corpus: Path) -> tuple[LLMSettings, ...]:
        """As `apportion.environments.episode_restorer.SupportsAgentReplacement.asked`."""
        try:
            seats = Seats.of(logged_episode(session, corpus), corpus, self.roster, self.cast)
        except ApportionError:
            return ()
        return tuple({one.settings.model: one.settings for one in seats.models().values()}.values())

    def open(self, session: Session, corpus: Path, complete: Complete) -> RestoredEpisode:
        """The session, played on by the cast, scored by the rules.

        Raises UnitError: the log is not there, damaged, holds no such episode, or other words than the session.
        """
        try:
            logged = logged_episode(session, corpus)
            game = self.game(logged.opening["about"])
            game.reset(logged.opening["seed"])
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise UnitError(f"session {session.session_id}: {error}") from None
        seats = Seats.of(logged, corpus, self.roster, self.cast)
        others = seats.others(complete)
        reopened = RestoredEpisode(session.session_id, game, tuple(logged.steps), seats.again(complete), others=others)
        check_words(session, reopened)
        return reopened
