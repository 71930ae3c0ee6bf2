"""On how many sessions a method rests that could say nothing of others, where there was nothing to judge by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from apportion.corpus.session import Episode, EpisodeKey

Unjudged = Mapping[str, Collection[EpisodeKey]]
"""Method to the episodes that gave it nothing to judge by (no face, no reply)."""


@dataclass(frozen=True)
class SupportCount:
    """The sessions of which a method, or the local part of its objective, had something to judge by.

    ``training`` of ``training_sessions``, ``test`` of ``test_sessions``; rated sessions in which the target speaks.
    """

    method: str
    part: Literal["all", "local"]
    training: int
    training_sessions: int
    test: int
    test_sessions: int

    def text(self) -> str:
        """A note for below the tables."""
        training = f"{self.training:,} of {self.training_sessions:,} training sessions"
        if self.part == "local":
            return f"{self.method}: its local part rests on {training}; in the others it learns from the score alone."
        return (
            f"{self.method}: rests on {training}, and as a decomposition on {self.test:,} of {self.test_sessions:,} "
            "test sessions; the others hold nothing that it could judge by, so that they have no rewards."
        )


def rests_on(
    unjudged: Unjudged, unjudged_locally: Unjudged, training: Sequence[Episode], test: Sequence[Episode]
) -> tuple[SupportCount, ...]:
    """One a method that lacks some episode, sorted by name."""
    found = [_rests(name, "all", keys, training, test) for name, keys in unjudged.items() if keys]
    found += [_rests(name, "local", keys, training, test) for name, keys in unjudged_locally.items() if keys]
    return tuple(sorted(found, key=lambda rests: rests.method))


def _rests(
    name: str,
    part: Literal["all", "local"],
    unjudged: Collection[EpisodeKey],
    training: Sequence[Episode],
    test: Sequence[Episode],
) -> SupportCount:
    lacking = frozenset(unjudged)
    counts = []
    for episodes in (training, test):
        speaking = [episode for episode in episodes if episode.target_turns]
        counts.append(len({episode.session_id for episode in speaking if episode.key not in lacking}))
        counts.append(len({episode.session_id for episode in speaking}))
    return SupportCount(name, part, *counts)
