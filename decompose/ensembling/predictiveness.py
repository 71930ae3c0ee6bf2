"""How much of the training scores each source foretells that it had not seen, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.ensembling.component import Component
from apportion.decompose.reactions.model import fit
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling, drawn_counts, percentile_interval

SAMPLING = Sampling(resamples=1000)
FEWEST = 8
"""Training sessions below which nothing that a source foretells is believed."""


@dataclass(frozen=True, eq=False)
class CrossValidatedR2:
    """R^2 of left-out training scores, and the same on resamples of the sessions.

    - ``explained`` (float): 1 less the squared errors over those of the mean of all other scores; 0 where nothing can
      be said.
    - ``draws`` (float64 [shape=(B,)]): The same on each resample; NaN where it has no session that the source knows.
    - ``sessions``: How many of the training sessions the source knows.
    - ``against`` (bool): Whether larger values go with lower scores.
    """

    explained: float
    draws: Floats
    sessions: int
    against: bool = False

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """What holds 95 % of the resamples."""
        return percentile_interval(self.draws, SAMPLING.confidence) if self.sessions > 1 else (None, None)

    @property
    def told(self) -> bool:
        """Whether the figure lies above zero by its interval, and by enough sessions."""
        low, _ = self.interval
        return self.sessions >= FEWEST and low is not None and low > 0

    @property
    def clear(self) -> bool:
        """Whether it is `told`, and by larger values going with higher scores."""
        return self.told and not self.against

    @property
    def kept(self) -> float:
        """The share of the figure that is believed, from 0 to 1: 1 - (standard error / R^2)^2, as James and Stein
        shrink what was measured once; 0 where it is not `clear`."""
        if not self.clear:
            return 0.0
        return max(0.0, 1.0 - (float(np.nanstd(self.draws)) / self.explained) ** 2)


def cross_validate(sources: Sequence[Component], training: Sequence[Episode]) -> list[CrossValidatedR2]:
    """What each of the sources tells of the scores of ``training``; all are resampled alike."""
    sessions = sorted({episode.session_id for episode in training})
    places = {session_id: row for row, session_id in enumerate(sessions)}
    counts = drawn_counts(max(1, len(sessions)), SAMPLING.resamples, SAMPLING.seed)
    return [_cross_validate(source, training, places, counts) for source in sources]


def left_out_scores(source: Component, training: Sequence[Episode]) -> tuple[Mapping[EpisodeKey, float], bool]:
    """Each training score as foretold without it, and whether larger values go with lower scores.

    Where the source does not say it itself, by a ridge with one column: the mean of what is known of the dialogue.
    """
    if source.left_out is not None:
        return source.left_out, False
    known = [episode for episode in training if source.knows(episode.key)]
    if not known:
        return {}, False
    means = np.array([np.nanmean(source.values[episode.key]) for episode in known])
    model = fit(means[:, None], np.array([episode.score for episode in known], dtype=np.float64))
    predicted = {episode.key: float(of) for episode, of in zip(known, model.left_out, strict=True)}
    return predicted, bool(model.weights[0] < 0)


def _cross_validate(
    source: Component, training: Sequence[Episode], places: Mapping[str, int], counts: Floats
) -> CrossValidatedR2:
    left_out, against = left_out_scores(source, training)
    known = [episode for episode in training if episode.key in left_out]
    scores = np.array([episode.score for episode in known], dtype=np.float64)
    rows = np.array([places[episode.session_id] for episode in known], dtype=np.int64)
    sessions = len(np.unique(rows))
    if sessions < 2 or np.ptp(scores) == 0:
        return CrossValidatedR2(0.0, np.full(len(counts), np.nan), sessions, against)
    others = (scores.sum() - scores) / (len(scores) - 1)
    missed = scores - [left_out[episode.key] for episode in known]
    errors = (np.square(missed), np.square(scores - others))
    sums = np.stack([np.bincount(rows, of, counts.shape[1]) for of in errors], axis=1)
    return CrossValidatedR2(float(_explained(sums.sum(axis=0))), _explained(counts @ sums), sessions, against)


def _explained(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        explained: Floats = 1.0 - sums[..., 0] / sums[..., 1]
    return np.where(np.isfinite(explained), explained, np.nan)
