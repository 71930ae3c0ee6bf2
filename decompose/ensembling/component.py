"""One opinion on every target turn, and how far two of them agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from apportion.corpus.session import Episode, EpisodeKey
from apportion.foundation.arrays import Floats, Null, filled
from apportion.reward_model.learning.dataset import row_places


@dataclass(frozen=True, eq=False)
class Component:
    """One opinion on every target turn of the episodes that it knows.

    ``values`` [shape=(T,)] are by target turn, in units of its own, larger is better; NaN where nothing is known.
    ``left_out`` predicts each training episode's score by a model that had not seen it; None where values are not
    learned from these scores: then a ridge on the dialogue's mean value does. ``reads_replies``: values come from the
    rater's replies or behaviour alone, which say nothing where a rating tells of quality. ``shown_score``: values were
    made with the score in sight. ``dialogues_judged``: how many dialogues' judgements of turns taught it; None where
    none did.

    >>> one = Component("llm", {("s1", "ann", "bob", "liking"): np.array([1.0, math.nan])})
    >>> one.knows(("s1", "ann", "bob", "liking")), one.knows(("s2", "ann", "bob", "liking"))
    (True, False)
    """

    name: str
    values: Mapping[EpisodeKey, Floats]
    left_out: Mapping[EpisodeKey, float] | None = None
    reads_replies: bool = False
    shown_score: bool = False
    dialogues_judged: int | None = None

    def knows(self, key: EpisodeKey) -> bool:
        """Whether it has a value for any turn of this episode."""
        return key in self.values and bool(np.isfinite(self.values[key]).any())


def turn_opinions(table: pa.Table, episodes: Sequence[Episode], null: Null | None = None) -> dict[EpisodeKey, Floats]:
    """``raw_reward`` of a table (schema REWARDS) by target turn [shape=(T,)], of the episodes that the table holds.

    A null is NaN; with ``null`` it counts as zero, or as the mean of its dialogue's (NaN where all are null).
    """
    places = row_places(table)
    values = [math.nan if value is None else float(value) for value in table.column("raw_reward").to_pylist()]
    held = {key for key, _ in places}
    found = {
        episode.key: np.array([values[places[episode.key, turn]] for turn in episode.target_turns])
        for episode in episodes
        if episode.key in held and episode.target_turns
    }
    if null is None:
        return found
    silent = {key for key, of in found.items() if null == "mean" and np.isnan(of).all()}
    return {key: of if key in silent else filled(of, np.zeros(len(of), np.int64), null) for key, of in found.items()}


ALIKE = 1e-9
"""Values of one dialogue whose spread is below this share of their size are alike: the rest is rounding."""
APART = 0.05
"""How far two sources are taken to differ at least, so that near copies share their weight instead of fighting."""


def standardised(values: Floats) -> Floats:
    """Distances from the mean of what is known, in its standard deviations; 0 where nothing differs or is known."""
    known = values[np.isfinite(values)]
    if not known.size or known.std() <= ALIKE * max(1.0, float(np.abs(known).max())):
        return np.zeros(len(values))
    distances: Floats = np.where(np.isfinite(values), (values - known.mean()) / known.std(), 0.0)
    return distances


def agreement(sources: Sequence[Component]) -> Floats:
    """C [shape=(K, K)]: the correlation of two sources' standardised values over the dialogues that both know.

    Neither scores nor labels are looked at. 0 where no dialogue is known to both; off the diagonal it is taken a little
    nearer to 0 than it is, and the whole to the nearest matrix that correlations can have.
    """
    found = np.eye(len(sources))
    shown = [{key: standardised(of) for key, of in source.values.items()} for source in sources]
    for i, one in enumerate(shown):
        for j, other in enumerate(shown[:i]):
            both = [key for key in one if key in other and one[key].any() and other[key].any()]
            if both:
                mine, theirs = (np.concatenate([of[key] for key in both]) for of in (one, other))
                found[i, j] = found[j, i] = (1 - APART) * (mine @ theirs) / np.sqrt((mine @ mine) * (theirs @ theirs))
    values, vectors = np.linalg.eigh(found)
    nearest: Floats = (vectors * np.maximum(values, APART)) @ vectors.T
    return nearest if values.min() < APART else found
