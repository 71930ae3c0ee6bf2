"""Embeddings of target turns by a frozen backbone: made once, and read by every method and seed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, Session
from apportion.reward_model.history_windows import HistoryWindows, Pair, history_windows, reply_text, said_by
from apportion.reward_model.network.preflight import check_device
from apportion.reward_model.settings import MINILM, RewardModelSettings, Scoring

if TYPE_CHECKING:
    from apportion.reward_model.network.backbones import Backbone

Embeddings = NDArray[np.float32]
TOKENS = 128
"""Of each turn that MiniLM reads beside another backbone."""
CONTEXT = 1152
"""Numbers of MiniLM's embedding of a window: the history's mean, the reply, the turn before it."""
T = TypeVar("T", bound=Hashable)


class EmbeddedSession(NamedTuple):
    """One session as tables.

    ``embeddings``: EPISODE_KEY, ``turn`` and ``embedding`` (fixed_size_list<float32>, d numbers) of the target turns of
    every episode; the episodes' order, then turns. ``utterances``: ``embedding`` (d / 2 numbers) of every turn by
    itself (`apportion.reward_model.network.texts.embed_texts`), where the reading is pooled; else None.
    """

    embeddings: pa.Table
    utterances: pa.Table | None = None


def embed_session(session: Session, rating_name: str | None, settings: RewardModelSettings) -> EmbeddedSession:
    """Embed the target turns of every episode of one session.

    A session is embedded by itself, so that the bits of its rows do not depend on which other sessions there are.

    Raises InputError: the backbone cannot be loaded.
    """
    from apportion.reward_model.network.backbones import frozen_backbone

    check_device(settings.device)
    backbone = frozen_backbone(settings.backbone, settings.max_tokens, settings.scoring).to(settings.device)
    episodes = session.episodes(rating_name)
    if settings.scoring != "pooled":
        return EmbeddedSession(embedding_table(*embed_as_told(backbone, episodes, settings)))
    from apportion.reward_model.network.texts import embed_texts

    texts = [reply_text(turn.text) for turn in session.turns]
    vectors = embed_texts(backbone, texts)
    found = embed_episodes(backbone, episodes, settings.history_turns, dict(zip(texts, vectors, strict=True)))
    return EmbeddedSession(embedding_table(*found), pa.table({"embedding": _lists(vectors)}))


def embed_as_told(
    backbone: Backbone, episodes: Sequence[Episode], settings: RewardModelSettings
) -> tuple[HistoryWindows, Embeddings]:
    """`embed_episodes`, and where ``settings.reads_beside`` MiniLM's embeddings of the same windows beside them."""
    windows, embeddings = embed_episodes(backbone, episodes, settings.history_turns)
    if not settings.reads_beside:
        return windows, embeddings
    unique, places = _distinct(windows.pairs)
    beside = embed_windows(minilm_beside(), unique)[np.array(places, dtype=np.int64)]
    return windows, np.concatenate([embeddings, beside], axis=1)


def minilm_beside(exact: bool = False) -> Backbone:
    """What reads single turns beside another backbone; ``exact`` as `network.backbones.frozen_backbone` has it."""
    from apportion.reward_model.network.backbones import frozen_backbone

    return frozen_backbone(MINILM, TOKENS, "pooled", exact=exact)


def width_of_heads(matrix: Embeddings, scoring: Scoring) -> int:
    """How many of an embedding's numbers are the backbone's own, which its heads read.

    Of pooled turns a third stands for the turn before, which no head reads; a language model's states have MiniLM's
    embedding beside them.
    """
    width = int(matrix.shape[1])
    return {"pooled": width // 3 * 2, "windowed": width, "one_pass": width - CONTEXT}[scoring]


def context_part(matrix: Embeddings, scoring: Scoring) -> Embeddings:
    """What is read of single turns in embeddings that are pooled or of one pass: history's mean, reply, turn before."""
    return matrix if scoring == "pooled" else matrix[:, -CONTEXT:]


def embed_episodes(
    backbone: Backbone, episodes: Sequence[Episode], history_turns: int, known: Mapping[str, Embeddings] | None = None
) -> tuple[HistoryWindows, Embeddings]:
    """The N target turns of ``episodes`` and their embeddings [shape=(N, d)] float32.

    What is equal (one target, many raters) is computed once; ``known`` are turns by text that were read before.
    """
    if backbone.scoring == "one_pass":
        windows = history_windows(episodes, history_turns)
        return windows, _read_episodes(backbone, [e for e in episodes if e.target_turns])
    windows = history_windows(episodes, history_turns)
    unique, places = _distinct(windows.pairs)
    embeddings = embed_windows(backbone, unique, known)
    return windows, embeddings[np.array(places, dtype=np.int64)]


def embed_windows(
    backbone: Backbone, pairs: Sequence[Pair], known: Mapping[str, Embeddings] | None = None
) -> Embeddings:
    """Embeddings of windows as ``backbone.scoring`` has them read, ``known`` as `embed_episodes`.

    Returns [shape=(N, d)], with d the backbone's width; of pooled ones d / 2 more for the last turn before the reply.
    """
    from apportion.reward_model.network.texts import embed_pooled

    if backbone.scoring == "pooled":
        return embed_pooled(backbone, pairs, known)
    embeddings: Embeddings = backbone.embed(pairs).numpy()
    return embeddings


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
    keys = [
        key
        for key, start, end in zip(windows.keys, windows.offsets, windows.offsets[1:], strict=False)
        for _ in range(start, end)
    ]
    columns = {name: pa.array([key[i] for key in keys], pa.string()) for i, name in enumerate(EPISODE_KEY)}
    return pa.table({**columns, "turn": pa.array(windows.turns, pa.int32()), "embedding": _lists(embeddings)})


def _lists(vectors: Embeddings) -> pa.FixedSizeListArray:
    values = pa.array(np.ascontiguousarray(vectors).ravel(), pa.float32())
    return pa.FixedSizeListArray.from_arrays(values, vectors.shape[1])


def embedding_matrix(table: pa.Table, name: str = "embedding") -> NDArray[Any]:
    """The column ``name`` of lists [shape=(N, d)]; not a copy where it is one block, and not to be written to."""
    column = table.column(name)
    lists = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    matrix: NDArray[Any] = lists.flatten().to_numpy(zero_copy_only=False).reshape(len(table), lists.type.list_size)
    return matrix


def rows_of(matrix: NDArray[Any], rows: Sequence[int]) -> NDArray[Any]:
    """``matrix[rows]``; itself, not a copy, where that is all of it as it stands."""
    taken = np.asarray(rows, dtype=np.int64)
    return matrix if np.array_equal(taken, np.arange(len(matrix))) else matrix[taken]
