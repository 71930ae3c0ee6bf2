"""The negotiations' simulator: a session of `simulate negotiation` finds its context, seed, acts and agents again.

Agents play on as they were called: scripts and a package's by their names; language models and worded scripts by
``base@MODEL`` and ``fair~@MODEL``, asked through ``complete`` with the temperature of the corpus. The players of a
decomposition are what is said; in a history without some of it, both select anew (`Negotiation.unheard_acts_stay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.session import Session
from environments.agents.agent import Agent
from environments.logged_session import check_words, digest_of, logged_episode, made_by, temperature_of
from environments.negotiation.agents import ROSTER
from environments.negotiation.contexts import Context
from environments.negotiation.game import Negotiation
from environments.reopened import Absent, Reopened
from environments.to_corpus import RULES
from foundation.errors import ApportionError, InputError, UnitError
from llm_client.asker import Complete
from llm_client.chosen import ChosenModel


@dataclass(frozen=True)
class NegotiationSimulator:
    """A `environments.simulator.Simulator`."""

    version: int = 1
    """Of the rules by which a session plays on; another one makes finished work stale."""

    def identity(self, session: Session, corpus: Path) -> Mapping[str, Any] | None:
        """Version, judge, agents, and a digest of what was done in which context; None for sessions of others."""
        if not made_by(session, Negotiation.kind):
            return None
        ours = {"environment": Negotiation.kind, "version": self.version, "judge": RULES}
        try:
            played = digest_of(logged_episode(session, corpus))
        except ApportionError:
            return {**ours, "episode": None}  # Told when it is opened.
        return {**ours, "temperature": temperature_of(corpus), "episode": played}

    def open(self, session: Session, corpus: Path, complete: Complete) -> Reopened:
        """The session, played on by the agents that made it, scored by the rules.

        Raises
        ------
        UnitError
            The log is not there, damaged, holds no such episode, or other words than the session.
        """
        try:
            logged = logged_episode(session, corpus)
            game = game_of(logged.opening["about"])
            game.reset(logged.opening["seed"])
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise UnitError(f"session {session.session_id}: {error}") from None
        temperature = temperature_of(corpus)
        seats = {seat: _found(called, complete, temperature) for seat, called in logged.opening["agents"]}
        reopened = Reopened(session.session_id, game, tuple(logged.steps), seats)
        check_words(session, reopened)
        return reopened


SIMULATOR = NegotiationSimulator()


def game_of(about: Mapping[str, Any]) -> Negotiation:
    """The game that a log's opening says.

    Raises
    ------
    InputError
        A context that breaks a constraint.
    KeyError, TypeError, ValueError
        It says none.
    """
    counts, one, other = (tuple(int(n) for n in half) for half in about["context"])
    a, b, c = counts
    return Negotiation(Context((a, b, c), (one, other)), int(about["most_acts"]))


def _found(called: str, complete: Complete, temperature: float) -> Agent:
    """Who is called so; somebody who cannot play is told of when asked."""
    try:
        asked = ROSTER.asked_by(called, ChosenModel(), temperature=temperature)
        return ROSTER.scripted(called) if asked is None else ROSTER.asking(called, asked, complete)
    except InputError as error:
        return Absent(called, f"{error} Name another agent for this seat.")
