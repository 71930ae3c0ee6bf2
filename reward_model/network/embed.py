"""Embeddings of target turns by a frozen backbone: made once, and read by every method and seed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, Session
from apportion.reward_model.history_windows import HistoryWindows, history_windows, said_by
from apportion.reward_model.network.preflight import check_device
from apportion.reward_model.settings import RewardModelSettings

if TYPE_CHECKING:
    from apportion.reward_model.network.backbones import Backbone

Embeddings = NDArray[np.float32]
T = TypeVar("T", bound=Hashable)


def embed_session(session: Session, rating_name: str | None, settings: RewardModelSettings) -> pa.Table:
    """Embed the target turns of every episode of one session.

    A session is embedded by itself, so that the bits of its rows do not depend on which other sessions there are.

    Returns EPISODE_KEY, ``turn`` and ``embedding`` (fixed_size_list<float32>, d numbers); the episodes' order, then
    turns. Raises InputError: the backbone cannot be loaded.
    """
    from apportion.reward_model.network.backbones import frozen_backbone

    check_device(settings.device)
    backbone = frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring).to(settings.device)
    return embedding_table(*embed_episodes(backbone, session.episodes(rating_name), settings.history_turns))


def embed_episodes(
    backbone: Backbone, episodes: Sequence[Episode], history_turns: int
) -> tuple[HistoryWindows, Embeddings]:
    """The N target turns of ``episodes`` and their embeddings [shape=(N, d)] float32.

    What is equal (one target, many raters) is computed once.
    """
    if backbone.scoring == "one_pass":
        windows = history_windows(episodes, 0)
        return windows, _read_episodes(backbone, [e for e in episodes if e.target_turns])
    windows = history_windows(episodes, history_turns)
    unique, places = _distinct(windows.pairs)
    embeddings: Embeddings = backbone.embed(unique).numpy()
    return windows, embeddings[np.array(places, dtype=np.int64)]


def _read_episodes(backbone: Backbone, episodes: Sequence[Episode]) -> Embeddings:
    import torch

    dialogues, places = _distinct([tuple(said_by(episode)) for episode in episodes])
    backbone.eval()
    with torch.inference_mode():
        embeddings = [backbone.read([backbone.dialogues.encode(said)]).float().numpy() for said in dialogues]
    return np.concatenate([np.zeros((0, backbone.width), np.float32), *(embeddings[place] for place in places)])


def _distinct(values: Sequence[T]) -> tuple[list[T], list[int]]:
    """The different ones among ``values``, and the place of each value among them."""
    places = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return list(places), [places[value] for value in values]


def embedding_table(windows: HistoryWindows, embeddings: Embeddings) -> pa.Table:
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
