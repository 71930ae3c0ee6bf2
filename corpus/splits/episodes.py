"""The rated sessions of a corpus, and which of them are learned from: what nearly every step on a corpus is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import sessions_in


@dataclass(frozen=True, eq=False)
class SplitEpisodes:
    """All episodes of one rating in the order of their sessions, and the table of the splits (schema SPLITS).

    >>> from apportion.corpus.schema import SPLITS
    >>> from apportion.corpus.session import Rating, Turn
    >>> liking = Rating("ann", "bob", "liking", 3.0, 1.0, 5.0)
    >>> both = [Episode(name, (Turn(0, "bob", "Hello."),), liking) for name in ("s1", "s2")]
    >>> episodes = SplitEpisodes(both, pa.table([["s1", "s2"], ["train", "test"]], schema=SPLITS.arrow))
    >>> [episode.session_id for episode in episodes.of("train")]
    ['s1']
    """

    all: Sequence[Episode]
    splits: pa.Table

    def sessions(self, split: str) -> frozenset[str]:
        """The ids of the sessions in ``split``, rated or not."""
        return sessions_in(self.splits, split)

    def of(self, split: str) -> list[Episode]:
        """The episodes of the sessions in ``split``; none where there is no such split."""
        sessions = self.sessions(split)
        return [episode for episode in self.all if episode.session_id in sessions]
