"""What the rater's reaction to a turn would be worth, foretold from the dialogue up to the turn alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import REWARDS
from apportion.corpus.session import EpisodeKey
from apportion.decompose.corpus_methods.stacked import sources_of
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.stacking import weigh
from apportion.decompose.method import PredictedReaction
from apportion.decompose.reactions.model import FittedReactionModel, judged_turns
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import Progress
from apportion.reward_model.learning.distillation import Lesson, learn
from apportion.reward_model.learning.training import history_table

SOURCES = ("reaction", "reactions-en")
"""What judges the replies that came: what this corpus's scores taught, and what is taught elsewhere."""


def fit_predicted(
    method: PredictedReaction, data: TrainingData, config: TrainingConfig, progress: Progress, state: Path | None = None
) -> FittedReactionModel:
    """Judge every target turn by the reaction that its text lets one expect.

    A turn of a training session is judged by those heads of the ensemble that did not learn from the session.

    Raises UnitError: No reaction was read, or nothing says what one is worth.
    """
    worth = reaction_worth(method.name, data, config)
    learnt = learn(Lesson(worth, data.episodes, data.embeddings), config.model, config.seed, progress, state)
    windows = learnt.training.data.history_windows
    parts = np.split(learnt.unseen, windows.offsets[1:-1])
    values = dict(zip(windows.keys, parts, strict=True))
    episodes = [episode for episode in data.episodes.all if episode.key in values]
    found = np.concatenate([np.zeros(0), *(values[episode.key] for episode in episodes)])
    return FittedReactionModel(judged_turns(method.name, config.seed, episodes, found), history_table(learnt.history))


def reaction_worth(method: str, data: TrainingData, config: TrainingConfig) -> pa.Table:
    """What the reaction to each target turn was worth (REWARDS schema, ``reward``); null where nobody replied.

    The sources are weighed as `mix` weighs them (`apportion.decompose.ensembling.stacking.weigh`), but each in its
    standard deviations over all training turns: differences between dialogues teach, too.

    Raises UnitError: No reaction was read, or nothing says what one is worth.
    """
    data.check_read(method)
    sources = sources_of(SOURCES, data, config)
    weighing = weigh(sources, data.episodes.of("train"), episodes=data.episodes.all)
    weights_of = cache(weighing.of)
    scaled = [_scaled(source, data.episodes.sessions("train")) for source in sources]
    tables = []
    for episode in data.episodes.all:
        known = tuple(source.knows(episode.key) for source in sources)
        if any(known):
            parts = zip(weights_of(known), scaled, known, strict=True)
            worth = sum(weight * of[episode.key] for weight, of, is_known in parts if is_known)
            tables.append(judged_turns(method, config.seed, [episode], np.asarray(worth)))
    if not tables:
        raise UnitError(
            f"method {method!r}: nothing says what a reaction is worth. `reactions-en` judges English, and other "
            "languages need scored training sessions. Give scores, or another decompose.method."
        )
    table = pa.concat_tables(tables)
    return table.set_column(REWARDS.arrow.names.index("reward"), "reward", table["raw_reward"])


def _scaled(source: Component, training: frozenset[str]) -> Mapping[EpisodeKey, Floats]:
    """A source's values less their mean, in their standard deviations, over the training turns that it knows."""
    known = np.concatenate([np.zeros(0), *(of for key, of in source.values.items() if key[0] in training)])
    known = known[np.isfinite(known)]
    mean, sd = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
    return {key: (values - mean) / (sd or 1.0) for key, values in source.values.items()}
