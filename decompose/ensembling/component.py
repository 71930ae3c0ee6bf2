"""One opinion on every target turn, and the scale that all share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from apportion.corpus.files.tablefile import row_places
from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.reactions.model import LinearWorth, ReactionModel
from apportion.foundation.arrays import Floats, Null, filled


@dataclass(frozen=True, eq=False)
class Component:
    """One opinion on every target turn of the episodes that it knows.

    ``values`` [shape=(T,)] are by target turn, in units of its own, larger is better; NaN where nothing is known.
    ``learnt`` is the model of this corpus's scores that gave the values; None where they need no score of it.
    ``reads_replies``: values come from the rater's replies or behaviour alone, which say nothing where a rating tells
    of quality. ``shown_score``: values were made with the score in sight. ``trust``, from 0 to 1: how far values that
    need no score are believed beside others before any score is seen (`trust_in`). ``labels`` [shape=(T,)] are what
    people said of the turns that taught it, NaN for nothing; values of these episodes come from all other sessions'.
    ``worth`` is by what sessions other than those that taught it are judged, where this corpus taught it.
    ``lacking`` is why a source that was looked for has no value of any turn.

    >>> one = Component("llm", {("s1", "ann", "bob", "liking"): np.array([1.0, math.nan])})
    >>> one.knows(("s1", "ann", "bob", "liking")), one.knows(("s2", "ann", "bob", "liking"))
    (True, False)
    """

    name: str
    values: Mapping[EpisodeKey, Floats]
    learnt: ReactionModel | None = None
    reads_replies: bool = False
    shown_score: bool = False
    trust: float = 0.0
    labels: Mapping[EpisodeKey, Floats] = field(default_factory=dict)
    lacking: str | None = None
    worth: LinearWorth | None = None

    def knows(self, key: EpisodeKey) -> bool:
        """Whether it has a value for any turn of this episode."""
        return key in self.values and bool(np.isfinite(self.values[key]).any())


def turn_opinions(table: pa.Table, episodes: Sequence[Episode], null: Null | None = None) -> dict[EpisodeKey, Floats]:
    """``raw_reward`` of a table (schema REWARDS) by target turn [shape=(T,)], of the episodes that the table holds.

    A null is NaN; with ``null`` it counts as zero, or as the mean of its dialogue's (NaN where all are null).
    """
    places = row_places(table)
    values = [math.nan if value is None else float(value) for value in table.column("raw_reward").to_pylist()]
    found = {
        episode.key: np.array([values[places[episode.key][turn]] for turn in episode.target_turns])
        for episode in episodes
        if episode.key in places and episode.target_turns
    }
    if null is None:
        return found
    silent = {key for key, of in found.items() if null == "mean" and np.isnan(of).all()}
    return {key: of if key in silent else filled(of, np.zeros(len(of), np.int64), null) for key, of in found.items()}


ALIKE = 1e-9
"""Values of one dialogue whose spread is below this share of their size are alike: the rest is rounding."""


def trust_in(dialogues: int) -> float:
    """How far a source is believed that so many dialogues taught elsewhere: half of what one is that judges itself
    where there are a hundred, the scores below which a corpus is warned that they cannot tell whether a prior holds."""
    return dialogues / (dialogues + 100)


def standardised(values: Floats) -> Floats:
    """Distances from the mean of what is known, in its standard deviations; 0 where nothing differs or is known."""
    known = values[np.isfinite(values)]
    if not known.size or known.std() <= ALIKE * max(1.0, float(np.abs(known).max())):
        return np.zeros(len(values))
    distances: Floats = np.where(np.isfinite(values), (values - known.mean()) / known.std(), 0.0)
    return distances
