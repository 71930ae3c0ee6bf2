"""What a method that is learned on a corpus is given, and how it is to learn."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.settings import DecomposeSettings
from apportion.reward_model.settings import RewardModelSettings


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a corpus gives to learn from; turn labels are none of it.

    Parameters
    ----------
    episodes : SplitEpisodes
        ``train`` is learnt from, ``validation`` stops the training; all of them are judged.
    embeddings : pa.Table, optional
        Of all turns, for a frozen backbone (`apportion.reward_model.network.embed.embed_session`); made where it is
        None.
    features : pa.Table, optional
        UTTERANCE_FEATURES schema, of all sessions; read where the local part of a mixed objective uses them,
        and as a part of reactions.
    reactions : pa.Table, optional
        Of all sessions (`apportion.decompose.reactions.extract.read_session`), for a method that ``uses_reactions``.
    judgements : pa.Table, optional
        REWARDS schema: what the local method has judged, for a method that ``uses_judgements``.
    asked : int, optional
        How many sessions were chosen to be judged for all (`apportion.decompose.ensembling.active_selection`); None
        where all are.
    """

    episodes: SplitEpisodes
    embeddings: pa.Table | None = None
    features: pa.Table | None = None
    reactions: pa.Table | None = None
    judgements: pa.Table | None = None
    asked: int | None = None


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of the decomposition and of the network that learns it, and the seed of both."""

    settings: DecomposeSettings
    model: RewardModelSettings
    seed: int
