"""How much of the training scores each source foretells that it had not seen, and how surely."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.ensembling.component import Component, standardised
from apportion.decompose.reactions.model import fit
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling, drawn_sums, percentile_interval

SAMPLING = Sampling(resamples=1000)


@dataclass(frozen=True, eq=False)
class CrossValidatedR2:
    """R^2 of left-out training scores, and the same on resamples of the sessions.

    - ``explained`` (float): 1 less the squared errors over those of the mean of all other scores; 0 where nothing can
      be said.
    - ``draws`` (float64 [shape=(B,)]): The same on each resample; NaN where it has no session that the source knows.
    - ``sessions``: How many of the training sessions the source knows.
    """

    explained: float
    draws: Floats
    sessions: int

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """What holds 95 % of the resamples."""
        return percentile_interval(self.draws, SAMPLING.confidence) if self.sessions > 1 else (None, None)


def cross_validate(sources: Sequence[Component], training: Sequence[Episode]) -> list[CrossValidatedR2]:
    """What each of the sources tells of the scores of ``training``; all are resampled alike."""
    sessions = sorted({episode.session_id for episode in training})
    places = {session_id: row for row, session_id in enumerate(sessions)}
    return [_cross_validate(source, training, places) for source in sources]


def left_out_scores(source: Component, training: Sequence[Episode]) -> Mapping[EpisodeKey, float]:
    """Each training score as foretold without it.

    By the model that learnt from the scores, or by a ridge with one column: the mean of what is known of the dialogue.
    """
    if source.learnt is not None:
        return source.learnt.left_out
    known, means = mean_values(source, training)
    if not known:
        return {}
    model = fit(means[:, None], np.array([episode.score for episode in known], dtype=np.float64))
    return {episode.key: float(of) for episode, of in zip(known, model.left_out, strict=True)}


def chance_against(source: Component, training: Sequence[Episode]) -> float:
    """How likely it is that larger values go with lower scores, by the correlation of dialogues' means with scores and
    Fisher's transformation of it (1921), whose variance is 1 / (n - 3); 0.5 where nothing can be said."""
    known, means = mean_values(source, training)
    scores = np.array([episode.score for episode in known], dtype=np.float64)
    if len(known) < 4 or np.ptp(scores) == 0 or not standardised(means).any():
        return 0.5
    sessions = len({episode.session_id for episode in known})
    correlation = float(np.clip(np.corrcoef(means, scores)[0, 1], -0.999999, 0.999999))
    return 0.5 * math.erfc(math.atanh(correlation) * math.sqrt(max(0, sessions - 3) / 2))


def mean_values(source: Component, training: Sequence[Episode]) -> tuple[list[Episode], Floats]:
    """The episodes that the source knows, and the mean of what it says of each."""
    known = [episode for episode in training if source.knows(episode.key)]
    return known, np.array([np.nanmean(source.values[episode.key]) for episode in known])


def _cross_validate(source: Component, training: Sequence[Episode], places: Mapping[str, int]) -> CrossValidatedR2:
    left_out = left_out_scores(source, training)
    known = [episode for episode in training if episode.key in left_out]
    scores = np.array([episode.score for episode in known], dtype=np.float64)
    rows = np.array([places[episode.session_id] for episode in known], dtype=np.int64)
    sessions = len(np.unique(rows))
    if sessions < 2 or np.ptp(scores) == 0:
        return CrossValidatedR2(0.0, np.full(SAMPLING.resamples, np.nan), sessions)
    others = (scores.sum() - scores) / (len(scores) - 1)
    missed = scores - [left_out[episode.key] for episode in known]
    errors = (np.square(missed), np.square(scores - others))
    sums: Floats = np.stack([np.bincount(rows, of, len(places)) for of in errors], axis=1).astype(np.float64)
    return CrossValidatedR2(float(_explained(sums.sum(axis=0))), _explained(drawn_sums(sums, SAMPLING)), sessions)


def _explained(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        explained: Floats = 1.0 - sums[..., 0] / sums[..., 1]
    return np.where(np.isfinite(explained), explained, np.nan)
