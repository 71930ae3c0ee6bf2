"""Small sessions that the tests of this folder share."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.schema import DESCRIPTORS, EPISODE_KEY, REWARDS, SPLITS, UTTERANCE_FEATURES
from apportion.corpus.session import Episode, Rating, Session, Turn


def session(session_id: str = "s1", score: float = 4.0, turns: tuple[tuple[str, str], ...] | None = None) -> Session:
    said = turns or (
        ("USER", "I want a table for two."),
        ("SYSTEM", "Which city?"),
        ("USER", "Rome, great!"),
        ("SYSTEM", "There is no such place."),
        ("USER", "That is terrible, I hate this."),
        ("SYSTEM", "Goodbye."),
    )
    rating = Rating("USER", "SYSTEM", "satisfaction", score, 1.0, 5.0)
    return Session(session_id, tuple(Turn(i, who, text) for i, (who, text) in enumerate(said)), (rating,))


def of_length(session_id: str, score: float, targets: int) -> Episode:
    """An episode with this many target turns, numbered 0, 2, 4, …"""
    turns = tuple((who, "word") for _ in range(targets) for who in ("SYSTEM", "USER"))
    return session(session_id, score, turns).episodes()[0]


def features(*rows: tuple[str, int, str, str, str, float | None]) -> pa.Table:
    """Rows of (session, turn, person, window, feature, mean)."""
    names = ("session_id", "turn", "person", "window", "feature", "mean")
    named = [{**dict(zip(names, row, strict=True)), "coverage": float(row[-1] is not None)} for row in rows]
    return pa.Table.from_pylist(named, schema=UTTERANCE_FEATURES.arrow)


def judgements(
    values: dict[Episode, list[float | None]], method: str = "sentiment", sd: float | None = None
) -> pa.Table:
    shared = {"method": method, "seed": 0, "sd": sd}
    rows = [
        {**dict(zip(EPISODE_KEY, e.key, strict=True)), **shared, "turn": t, "raw_reward": v}
        for e, given in values.items()
        for t, v in zip(e.target_turns, given, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def splits(**names: str) -> pa.Table:
    rows = [{"session_id": session_id, "split": split} for session_id, split in names.items()]
    return pa.Table.from_pylist(rows, schema=SPLITS.arrow)


def descriptors(*rows: tuple[int, str, str, str], session_id: str = "s1", detector: str | None = None) -> pa.Table:
    """Rows of (turn, person, window, text)."""
    named = [
        {"session_id": session_id, "turn": turn, "person": person, "window": window, "text": text, "detector": detector}
        for turn, person, window, text in rows
    ]
    return pa.Table.from_pylist(named, schema=DESCRIPTORS.arrow)
