"""Which environment made a session: the registry of simulators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from apportion.corpus.session import Session
from apportion.environments.agents.language_model import WORDS, ActionFormat
from apportion.environments.agents.registry import AgentRegistry
from apportion.environments.episode_restorer import Rollable, Simulator, SupportsAgentReplacement
from apportion.environments.role_assignment import RoleAssignment
from apportion.environments.worlds import WORLDS
from apportion.foundation.errors import InputError
from apportion.foundation.registry import Registry
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings

SIMULATORS = Registry(
    what="simulator",
    group="apportion.simulators",
    must_be="an apportion.environments.episode_restorer.Simulator: an object with "
    "identity(session, corpus) and open(session, corpus, "
    "complete)",
    fits=lambda thing: isinstance(thing, Simulator) and not isinstance(thing, type),
    ours={world.name: world.simulator for world in WORLDS},
)


@cache
def format_of(kind: str) -> ActionFormat:
    """How a language model writes the acts of a world; a kind and words where nobody says more."""
    roster = getattr(SIMULATORS.find(kind), "roster", None) if kind in SIMULATORS.names() else None
    return roster.form if isinstance(roster, AgentRegistry) else WORDS


def maker_of(
    session: Session, corpus: Path, cast: RoleAssignment | None = None
) -> tuple[str, Simulator, Mapping[str, Any]] | None:
    """The name of the simulator that made ``session``, the simulator, and its identity; None where none did.

    ``session``: One of the corpus. ``corpus``: The corpus' folder. ``cast``: Who plays on and scores; None: who made
    the session, and its own judge. Raises InputError: Two of them say that they made it, a package's cannot be loaded,
    or it cannot be played on by ``cast``.
    """
    claims = []
    for name in SIMULATORS.names():
        simulator = SIMULATORS.find(name)
        identity = simulator.identity(session, corpus)
        if identity is not None:
            claims.append((name, simulator, identity))
    if len(claims) > 1:
        raise InputError(
            f"session {session.session_id}: {' and '.join(repr(name) for name, _, _ in claims)} both say that they "
            f"made it (source {session.source!r}). One of the packages must be corrected or removed."
        )
    if not claims or cast is None:
        return claims[0] if claims else None
    name, made_by, identity = claims[0]
    if isinstance(made_by, SupportsAgentReplacement):
        recast = made_by.recast(cast)
        return name, recast, recast.identity(session, corpus) or identity
    if cast.changes:
        raise InputError(
            f"session {session.session_id}: simulator {name!r} plays on with who made the session, and scores as it "
            "does. Name no other agents, temperature or judge for its sessions."
        )
    return claims[0]


def identity_of(session: Session, corpus: Path, cast: RoleAssignment | None = None) -> Mapping[str, Any] | None:
    """What decides how ``session`` plays on, with its simulator's name; None where no environment made it."""
    maker = maker_of(session, corpus, cast)
    return None if maker is None else {"simulator": maker[0], "identity": dict(maker[2])}


def asked_of(session: Session, corpus: Path, cast: RoleAssignment) -> tuple[LLMSettings, ...]:
    """The language models that playing ``session`` on may ask; none where no environment made it, or none is known."""
    maker = maker_of(session, corpus, cast)
    return (
        maker[1].asked(session, corpus) if maker is not None and isinstance(maker[1], SupportsAgentReplacement) else ()
    )


def open_session(
    session: Session, corpus: Path, complete: Complete, cast: RoleAssignment | None = None
) -> Rollable | None:
    """``session`` ready to be played on; None where no environment made it.

    Raises InputError: Two simulators claim the session, a package's cannot be loaded, or it cannot be played on by
    ``cast``. Raises UnitError: What the environment kept of the session cannot be read.
    """
    maker = maker_of(session, corpus, cast)
    return None if maker is None else maker[1].open(session, corpus, complete)
