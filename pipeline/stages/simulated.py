"""What a run lends to methods that play sessions on: the environment that made each session, where one did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corpus.session import Session
from decompose.methods import Method
from environments.simulator import Playable
from environments.simulators import identity_of, maker_of, open_session
from foundation.errors import InputError
from foundation.listing import listed
from llm_client.asker import Asker, Complete
from llm_client.request import ChatReply, ChatRequest
from pipeline.config import Config
from pipeline.engine.stage import BeforeRun, Unit
from pipeline.stages.shared import method_of


def played_session(method: Method, session: Session, root: Path, asker: Asker) -> Playable | None:
    """``session`` opened to be played on by ``method``; None where it does not, or no environment made the session.

    ``root`` is the corpus' folder. Only a method that says that it asks is lent the language model: what is asked
    decides its key, and is counted and consented to before.
    """
    if not method.simulates:
        return None
    return open_session(session, root, asker.complete if method.asks else _refusal(method))


def simulator_settings(config: Config, unit: Unit, session: Session, root: Path) -> Mapping[str, Any]:
    """What of its environment decides a session's judgements, for the key; nothing for a method that plays nothing."""
    identity = identity_of(session, root) if method_of(unit).simulates else None
    return {} if identity is None else {"played": identity}


def check_simulators(before: BeforeRun) -> Iterator[str]:
    """Warn of sessions that no environment made; raise InputError where a method would have nothing to play on."""
    simulating = sorted({method_of(unit).name for unit in before.units if method_of(unit).simulates})
    if not simulating:
        return
    from decompose.judging.sessions import nothing_to_play

    judged = {str(unit.session_id) for unit in before.units if method_of(unit).simulates}
    unmade = [name for name in sorted(judged) if maker_of(before.sessions[name], before.root) is None]
    for name in simulating:
        method = next(method_of(unit) for unit in before.units if unit.method == name)
        if len(unmade) == len(judged):
            raise InputError(nothing_to_play(method, "every session of this run"))
        if unmade:
            yield nothing_to_play(method, f"{len(unmade):,} of {len(judged):,} sessions ({listed(unmade)})")


def _refusal(method: Method) -> Complete:
    def refuse(request: ChatRequest) -> ChatReply:
        raise InputError(
            f"method {method.name!r}: its simulator asks a language model ({request.subject or 'unnamed request'}), "
            "which the method does not say (requests), so that nothing is lent. Its declaration must be corrected."
        )

    return refuse
