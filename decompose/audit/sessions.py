"""Which sessions of a corpus the audit asks about."""

from __future__ import annotations

from collections.abc import Iterable

from corpus.session import Session
from decompose.audit.draw import number


def audited(sessions: Iterable[Session], count: int, seed: int) -> tuple[str, ...]:
    """Ids of ``count`` sessions (all, where there are fewer), sorted; a larger count adds to those of a smaller one.

    Recorded sessions go first, up to half of ``count``, since only they have descriptors to shuffle; the seed decides
    which.
    """
    drawn = sorted(sessions, key=lambda session: (number(seed, "session", session.session_id), session.session_id))
    recorded = [session.session_id for session in drawn if session.media]
    silent = [session.session_id for session in drawn if not session.media]
    half = min(len(recorded), max(count // 2, count - len(silent)))
    return tuple(sorted([*recorded[:half], *silent[: count - half]]))
