"""What a run lends to methods that play sessions on: the environment that made each session, where one did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apportion.corpus.session import Session
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.decompose.language_models import CALLED, cast_of
from apportion.decompose.method import Method, RolloutMethod
from apportion.decompose.methods import PLAYING
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.episode_restorer import Rollable
from apportion.environments.registry import asked_of, identity_of, maker_of, open_session
from apportion.environments.role_assignment import BY_RULES
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, errors_called
from apportion.foundation.truncate import listed
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import Complete
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Unit
from apportion.pipeline.stages.shared import method_of, recorded_digest

SCORED = (*RANGES, OVERALL)
"""What a language model scores as SOTOPIA-EVAL does."""


def played_session(
    method: Method, session: Session, root: Path, settings: DecomposeSettings, complete: Complete
) -> Rollable | None:
    """``session`` opened to be played on by ``method``; None where it does not, or no environment made the session.

    ``root`` is the corpus' folder. ``complete`` is lent where the method says that it asks, or the environment that its
    agents or judge do: what is asked decides the key, and is counted and consented to before.
    """
    if not isinstance(method, RolloutMethod):
        return None
    cast = cast_of(method, settings)
    with errors_called(CALLED):
        asking = method.asks or asked_of(session, root, cast)
        return open_session(session, root, complete if asking else _refusal(method), cast)


def simulator_settings(config: Config, unit: Unit, session: Session, root: Path) -> Mapping[str, Any]:
    """What of its environment decides a session's judgements, for the key; nothing for a method that plays nothing."""
    method = method_of(unit)
    if not isinstance(method, RolloutMethod):
        return {}
    cast = cast_of(method, config.decompose)
    with errors_called(CALLED):
        identity = identity_of(session, root, cast)
        if identity is None:
            return {}
        if method.asks or not asked_of(session, root, cast):
            return {"played": identity}
    return {"played": identity, "played_by": {"recorded": recorded_digest(config)}}


def check_simulators(before: BeforeRun) -> Iterator[str]:
    """Warn of sessions that no environment made; raise InputError where a method would have nothing to play on."""
    simulating = {m.name: m for unit in before.units if isinstance(m := method_of(unit), RolloutMethod)}
    if not simulating:
        return
    from apportion.decompose.session_methods.runner import nothing_to_play

    methods = [method for _, method in sorted(simulating.items())]
    for method in methods:
        _check_scored(method, before.config.decompose)
    judged = {str(unit.session_id) for unit in before.units if unit.method in simulating}
    sessions, root = before.sessions, before.root
    unmade = [name for name in sorted(judged) if maker_of(sessions[name], root) is None]
    for method in methods:
        if len(unmade) == len(judged):
            raise InputError(nothing_to_play(method, "every session of this run"))
        if unmade:
            yield nothing_to_play(method, f"{len(unmade):,} of {len(judged):,} sessions ({listed(unmade)})")


def _check_scored(method: RolloutMethod, settings: DecomposeSettings) -> None:
    """Raise InputError where a model would be asked, and paid, for scores that it cannot give."""
    judge = cast_of(method, settings).judge
    if not method.plays_on and judge != BY_RULES.called:
        raise InputError(
            f"{CALLED}.scorer = {judge!r}: {method.name!r} scores histories as they stand, among them the one without "
            "any act of who is credited, which no language model can judge. Leave the method out of "
            f"the methods, or judge by {BY_RULES.called!r}."
        )
    if method.reads(PLAYING) and judge != BY_RULES.called:
        for name in settings.savoir.weights or ():
            if name not in SCORED:
                hint = did_you_mean(name, SCORED, f"it scores {', '.join(SCORED)}")
                raise InputError(f"{CALLED}.weights: {name!r} is no dimension of the judge {judge!r}; {hint}")


def _refusal(method: Method) -> Complete:
    def refuse(request: ChatRequest) -> ChatReply:
        raise InputError(
            f"method {method.name!r}: its simulator asks a language model ({request.subject or 'unnamed request'}), "
            "which the method does not say (requests), so that nothing is lent. Its declaration must be corrected."
        )

    return refuse
