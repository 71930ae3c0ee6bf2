"""A session's episode, found again in the log beside its tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpus.placing import RECORD
from corpus.session import Session
from environments.agents.language_model import TEMPERATURE
from environments.episode_log import LOG, LoggedEpisode, read_log
from environments.reopened import Reopened
from environments.to_corpus import heard_in
from foundation.errors import UnitError
from foundation.files import canonical_json

MADE_BEFORE = "made"
"""In the record of a corpus that was made from a simulated one, the record of that."""


def made_by(session: Session, kind: str) -> bool:
    """Whether an environment of a kind made a session, by its source (`environments.to_corpus.source_of`)."""
    return (session.source or "").startswith(f"simulated: {kind}, ")


def logged_episode(session: Session, corpus: Path) -> LoggedEpisode:
    """What the log in the folder ``corpus`` holds of a session.

    Raises
    ------
    UnitError
        The log is not there, or has no such episode.
    InputError
        It is damaged.
    """
    path = corpus / LOG
    try:
        status = path.stat()
    except OSError:
        raise UnitError(
            f"session {session.session_id}: {path} is not there, which holds what was played. Bring it beside the "
            "tables, or simulate the corpus again"
        ) from None
    episode = _read(path, status.st_mtime_ns, status.st_size).get(session.session_id)
    if episode is None:
        raise UnitError(f"session {session.session_id}: {path} holds no episode of this name")
    return episode


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, size: int) -> Mapping[str, LoggedEpisode]:
    return read_log(path)


def digest_of(logged: LoggedEpisode, *more: Any) -> str:
    """sha256 of what an episode is and what was done in it, and of ``more`` that decides how it plays on, as JSON."""
    acts = [[[move.agent, *move.act.record()] for move in moves] for moves in logged.steps]
    text = canonical_json([logged.opening, *more, acts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_words(session: Session, reopened: Reopened) -> None:
    """Hold a session's turns to its log.

    Raises
    ------
    UnitError
        The log has other words, so that what would be played on is not what would be credited.
    """
    heard = heard_in(reopened.begun, reopened.steps)
    for turn, (told, logged) in enumerate(zip(session.turns, heard, strict=False)):
        if (told.speaker, told.text) != (logged[0], logged[1].encode("utf-8", "replace").decode()):
            raise UnitError(
                f"session {session.session_id}, turn {turn}: the log has other words than the corpus, so that what "
                "would be played on is not what would be credited. Simulate the corpus again"
            )
    if len(heard) != len(session.turns):
        raise UnitError(f"session {session.session_id}: {len(session.turns)} turns, and {len(heard)} in the log")


def temperature_of(corpus: Path) -> float:
    """Of the language models that made a corpus, as its record says; where it says nothing, what is usual."""
    try:
        record = json.loads((corpus / RECORD).read_text(encoding="utf-8"))
        while MADE_BEFORE in record:
            record = record[MADE_BEFORE]
        return float(record.get("temperature", TEMPERATURE))
    except (OSError, ValueError, TypeError, AttributeError):
        return TEMPERATURE
