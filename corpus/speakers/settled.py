"""Who spoke, as it was settled: a row a person, for people to look over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apportion.corpus.speakers.names import name_key
from apportion.foundation.tables.columns import columns
from apportion.foundation.truncate import listed, shortened

MOST = 20


@dataclass(frozen=True)
class Speaker:
    """One person: the labels that are theirs, in how many sessions, turns and words, and what knows the labels."""

    name: str
    labels: tuple[str, ...]
    turns: int
    words: int
    known_by: tuple[str, ...]
    sessions: int = 1


def merged(speakers: Iterable[Speaker]) -> tuple[Speaker, ...]:
    """A row a person over all sessions, in the order in which they first come."""
    people: dict[str, Speaker] = {}
    for one in speakers:
        key = name_key(one.name)
        other = people.get(key)
        people[key] = one if other is None else _both(other, one)
    return tuple(people.values())


def _both(a: Speaker, b: Speaker) -> Speaker:
    labels, known_by = (tuple(dict.fromkeys(pair)) for pair in ((*a.labels, *b.labels), (*a.known_by, *b.known_by)))
    return Speaker(a.name, labels, a.turns + b.turns, a.words + b.words, known_by, a.sessions + b.sessions)


def speaker_lines(speakers: Sequence[Speaker], where: str) -> list[str]:
    """The table as lines for a terminal; ``where`` says where those are that are too many."""
    rows = [("speaker", "sessions", "turns", "words", "labels", "known by")]
    for one in speakers[:MOST]:
        counts = (f"{one.sessions:,}", f"{one.turns:,}", f"{one.words:,}")
        rows.append((shortened(one.name), *counts, listed(list(map(shortened, one.labels))), ", ".join(one.known_by)))
    more = [f"({len(speakers) - MOST:,} more: {where})"] if len(speakers) > MOST else []
    return [*columns(rows), *more]
