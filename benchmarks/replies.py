"""The folds of a corpus, and what is read of its replies, kept in a file between benchmarks: reading takes minutes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather

from apportion.corpus.session import Session
from apportion.decompose.reactions.extract import read_session
from apportion.decompose.settings import ReactionSettings

FOLDS = 5


def folds_of(session_ids: list[str]) -> dict[str, int]:
    """A fold for every session, by a hash of its id."""
    ranked = sorted(session_ids, key=lambda session_id: hashlib.sha256(f"fold{session_id}".encode()).digest())
    return {session_id: place % FOLDS for place, session_id in enumerate(ranked)}


def read_replies(sessions: Iterable[Session], rating: str, kept: Path | None) -> pa.Table:
    """The reactions of all sessions, by the default settings: out of the file ``kept``, or into it the first time."""
    if kept is not None and kept.is_file():
        return feather.read_table(kept)
    table = pa.concat_tables([read_session(session, rating, ReactionSettings()) for session in sessions])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        feather.write_feather(table, str(kept))
    return table
