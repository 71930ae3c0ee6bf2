"""Embeddings of target turns by a frozen backbone: made once, and read by every method and seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpus.schema import EPISODE_KEY
from corpus.session import Session
from reward_model.settings import RewardModelSettings
from reward_model.windows import Pair, Windows, episode_windows

if TYPE_CHECKING:
    from reward_model.backbones import Backbone

Embeddings = NDArray[np.float32]


def embed_session(session: Session, rating_name: str | None, settings: RewardModelSettings) -> pa.Table:
    """Embed the target turns of every episode of one session.

    A session is embedded by itself, so that the bits of its rows do not depend on which other sessions there are.

    Returns
    -------
    pa.Table
        EPISODE_KEY, ``turn`` and ``embedding`` (fixed_size_list<float32>, d numbers); the episodes' order, then turns.

    Raises
    ------
    InputError
        The backbone cannot be loaded.
    """
    from reward_model.backbones import frozen_backbone

    windows = episode_windows(session.episodes(rating_name), settings.history_turns)
    backbone = frozen_backbone(settings.backbone, settings.max_tokens)
    return embedding_table(windows, embed_windows(backbone, windows.pairs))


def embed_windows(backbone: Backbone, pairs: Sequence[Pair]) -> Embeddings:
    """Embeddings [shape=(N, d)] float32 of N windows; equal windows (one target, many raters) are computed once."""
    places = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
    found: Embeddings = backbone.embed(list(places)).numpy()
    return found[np.array([places[pair] for pair in pairs], dtype=np.int64)]


def embedding_table(windows: Windows, embeddings: Embeddings) -> pa.Table:
    """The N windows' embeddings [shape=(N, d)] as a table that can be kept."""
    width = embeddings.shape[1]
    keys = [
        key
        for key, start, end in zip(windows.keys, windows.offsets, windows.offsets[1:], strict=False)
        for _ in range(start, end)
    ]
    columns = {name: pa.array([key[i] for key in keys], pa.string()) for i, name in enumerate(EPISODE_KEY)}
    values = pa.array(np.ascontiguousarray(embeddings).ravel(), pa.float32())
    return pa.table(
        {
            **columns,
            "turn": pa.array(windows.turns, pa.int32()),
            "embedding": pa.FixedSizeListArray.from_arrays(values, width),
        }
    )
