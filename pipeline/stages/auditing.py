"""What the audit asks: which sessions, under which perturbations."""

from __future__ import annotations

from collections.abc import Mapping

from corpus.session import Session
from decompose.audit.perturbations import CLEAN, PERTURBATIONS
from decompose.audit.sessions import audited
from decompose.methods import METHODS
from pipeline.config import Config


def chosen_sessions(config: Config, sessions: Mapping[str, Session]) -> tuple[str, ...]:
    """Ids of the sessions that the audit asks about."""
    settings = config.decompose.audit
    rated = [session for session in sessions.values() if _has_turns(session, config.rating)]
    return audited(rated, settings.sessions, settings.seed)


def asks(config: Config, perturbation: str, session: Session) -> bool:
    """Whether there is anything to ask about this session under this perturbation."""
    declared = PERTURBATIONS[perturbation]
    method = config.decompose.audited_method
    described = method is not None and METHODS[method].uses_descriptors and bool(session.media)
    return declared.applies(config.decompose, str(config.rating)) and (described or not declared.needs_descriptors)


def asked_sessions(config: Config, sessions: Mapping[str, Session]) -> dict[str, list[str]]:
    """The sessions of each perturbation that is asked about at all, the clean one first."""
    chosen = chosen_sessions(config, sessions)
    found = {name: [one for one in chosen if asks(config, name, sessions[one])] for name in PERTURBATIONS}
    return {name: asked for name, asked in found.items() if asked}


def notes(config: Config) -> tuple[str, ...]:
    """What a reader of the audit has to know of this run."""
    llm = config.decompose.llm
    replies = "recorded replies of " if llm.provider == "recorded" else ""
    found = [
        f"Method {config.decompose.audited_method}, prompt {llm.prompt}, {replies}model {llm.model}, "
        f"{config.decompose.audit.sessions} sessions, seed {config.decompose.audit.seed}.",
    ]
    found += [
        f"Not asked: {declared.title} (the prompt {llm.prompt} has no other wording)."
        for name, declared in PERTURBATIONS.items()
        if name != CLEAN and not declared.applies(config.decompose, str(config.rating))
    ]
    return tuple(found)


def _has_turns(session: Session, rating: str | None) -> bool:
    return any(episode.target_turns for episode in session.episodes(rating))
