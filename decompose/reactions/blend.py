"""Reactions and a language model's judgements, blended: each knows something of a turn that the other does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpus.schema import EPISODE_KEY, HISTORY, REWARDS
from corpus.session import Episode, EpisodeKey
from corpus.splitting.episodes import SplitEpisodes
from decompose.reactions.model import Fitted
from decompose.reactions.pooled_ridge import fit
from decompose.settings import BlendSettings
from foundation.arrays import Floats, Null, filled
from foundation.errors import UnitError
from reward_model.learning.dataset import row_places

ALIKE = 1e-9
"""Values of one dialogue whose spread is below this share of their size are alike: the rest is rounding."""
_OfEpisodes = Mapping[EpisodeKey, Floats]


@dataclass(frozen=True)
class Agreement:
    """R^2 of left-out training scores that each source reaches by itself; one below 0 counts as 0."""

    reactions: float
    judgements: float

    @property
    def weight(self) -> float:
        """What the judgements weigh: their correlation over the sum of both; a half where neither has any."""
        ours, theirs = math.sqrt(max(0.0, self.reactions)), math.sqrt(max(0.0, self.judgements))
        return theirs / (theirs + ours) if theirs + ours > 0 else 0.5

    def steps(self, weight: float) -> list[dict[str, object]]:
        """Rows of the history: the ``weight`` that was taken, and both figures."""
        figures = {
            "weight of the judgements": weight,
            "R^2 of the reactions": self.reactions,
            "R^2 of the judgements": self.judgements,
        }
        return [{"step": 1, "metric": name, "value": value} for name, value in figures.items()]


def blend(
    method: str,
    episodes: SplitEpisodes,
    reactions: Fitted,
    judgements: pa.Table,
    settings: BlendSettings,
    seed: int,
    null: Null = "mean",
) -> Fitted:
    """Blend the worth of every reaction with what a language model judged.

    raw_t = (1 - w) z(v_t) + w z(j_t), with v the worth of the reaction, j the judgement, and z the distance from the
    dialogue's mean in its standard deviations: 0 where all its turns are alike, and for a turn without a value. w is
    ``settings.weight``; where that is None, it follows from how well each source by itself predicts training scores
    that were left out (`Agreement`). Turn labels are not an argument.

    Parameters
    ----------
    episodes : SplitEpisodes
        ``train`` decides the weight.
    reactions : Fitted
        What `decompose.reactions.model.fit_reactions` gives.
    judgements : pa.Table
        REWARDS schema with ``raw_reward``, of the sessions that the language model judged.
    seed : int
        Written into the table; nothing is drawn.
    null : str
        What a null of the judgements counts as: ``zero``, or the ``mean`` of its dialogue's.

    Returns
    -------
    Fitted
        Judgements in standard deviations, without those of episodes that either source lacks; the history of the
        reactions, then the weight and both agreements.

    Raises
    ------
    UnitError
        No training session has both.
    """
    ours = _values(reactions.judgements, episodes.all)
    judged = _values(judgements, episodes.all)
    theirs = {key: filled(of, np.zeros(len(of), np.int64), null) for key, of in judged.items()}
    agreement = _agreement(method, episodes.of("train"), ours, theirs, _best_loss(reactions.history))
    weight = agreement.weight if settings.weight is None else settings.weight
    rows = [
        {
            **dict(zip((*EPISODE_KEY, "turn"), (*episode.key, turn), strict=True)),
            "method": method,
            "seed": seed,
            "raw_reward": float(value),
        }
        for episode in episodes.all
        if episode.key in ours and episode.key in theirs
        for turn, value in zip(
            episode.target_turns,
            (1 - weight) * standardised(ours[episode.key]) + weight * standardised(theirs[episode.key]),
            strict=True,
        )
    ]
    steps = pa.Table.from_pylist(agreement.steps(weight), schema=HISTORY.arrow)
    return Fitted(
        pa.Table.from_pylist(rows, schema=REWARDS.arrow),
        pa.concat_tables([reactions.history, steps]),
    )


def _agreement(
    method: str, training: Sequence[Episode], ours: _OfEpisodes, theirs: _OfEpisodes, loss: float
) -> Agreement:
    """How well each source predicts the training scores; ``loss`` is the least of the reactions' own."""
    both = [episode for episode in training if episode.key in ours and episode.key in theirs]
    if not both:
        raise UnitError(
            f"method {method!r}: no training session has both a reaction and a language model's judgement. Look in "
            "the quarantine table for what became of the judgements."
        )
    return Agreement(
        _explained(loss, [episode.score for episode in training if episode.key in ours]),
        _alone([float(theirs[episode.key].mean()) for episode in both], [episode.score for episode in both]),
    )


def standardised(values: Floats) -> Floats:
    """Distances from the mean of what is known, in its standard deviations; 0 where nothing differs or is known."""
    known = values[np.isfinite(values)]
    if not known.size or known.std() <= ALIKE * max(1.0, float(np.abs(known).max())):
        return np.zeros(len(values))
    distances: Floats = np.where(np.isfinite(values), (values - known.mean()) / known.std(), 0.0)
    return distances


def _values(table: pa.Table, episodes: Sequence[Episode]) -> _OfEpisodes:
    """``raw_reward`` of each held episode's target turns [shape=(T,)], NaN for null."""
    places = row_places(table)
    values = [math.nan if value is None else float(value) for value in table.column("raw_reward").to_pylist()]
    held = {key for key, _ in places}
    return {
        episode.key: np.array([values[places[episode.key, turn]] for turn in episode.target_turns])
        for episode in episodes
        if episode.key in held and episode.target_turns
    }


def _best_loss(history: pa.Table) -> float:
    """The least leave-one-out error among those that the reactions' fit tried."""
    return float(min(row["value"] for row in history.to_pylist() if row["metric"] == "leave-one-out loss"))


def _alone(judged: Sequence[float], scores: Sequence[float]) -> float:
    """R^2 of left-out scores by a ridge on the dialogues' mean judgement."""
    model = fit(np.array(judged)[:, None], np.array(scores, dtype=np.float64))
    return _explained(model.loss, scores)


def _explained(loss: float, scores: Sequence[float]) -> float:
    """1 - loss over that of the mean of the other scores; 0 where scores do not vary."""
    n = len(scores)
    alone = float(np.var(scores)) * (n / (n - 1)) ** 2 if n > 1 else 0.0
    return 1.0 - loss / alone if alone > 0 else 0.0
