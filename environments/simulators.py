"""Which environment made a session: the registry of simulators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus.session import Session
from environments.simulator import Playable, Simulator
from foundation.errors import InputError
from foundation.registry import Registry
from llm_client.asker import Complete

SIMULATORS = Registry(
    what="simulator",
    group="apportion.simulators",
    must_be="an environments.simulator.Simulator: an object with identity(session, corpus) and open(session, corpus, "
    "complete)",
    fits=lambda thing: isinstance(thing, Simulator) and not isinstance(thing, type),
    ours={"sotopia": "environments.sotopia.simulator:SIMULATOR"},
)


def maker_of(session: Session, corpus: Path) -> tuple[str, Simulator, Mapping[str, Any]] | None:
    """The name of the simulator that made ``session``, the simulator, and its identity; None where none did.

    Raises
    ------
    InputError
        Two of them say that they made it, or a package's cannot be loaded.
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
    return claims[0] if claims else None


def identity_of(session: Session, corpus: Path) -> Mapping[str, Any] | None:
    """What decides how ``session`` plays on, with its simulator's name; None where no environment made it."""
    maker = maker_of(session, corpus)
    return None if maker is None else {"simulator": maker[0], "identity": dict(maker[2])}


def open_session(session: Session, corpus: Path, complete: Complete) -> Playable | None:
    """``session`` ready to be played on; None where no environment made it.

    Raises
    ------
    InputError
        Two simulators claim the session, or a package's cannot be loaded.
    UnitError
        What the environment kept of the session cannot be read.
    """
    maker = maker_of(session, corpus)
    return None if maker is None else maker[1].open(session, corpus, complete)
