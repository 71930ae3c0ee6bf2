"""What a frozen backbone makes of every target turn's own words: from the run's store, or computed once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from apportion.corpus.schema import EPISODE_KEY
from apportion.evaluation.error_slices.turns import TurnId
from apportion.foundation.files import digest, write_atomically

Embeddings = NDArray[np.float32]
MAX_TOKENS = 128
KEPT = "embeddings.safetensors"


def embeddings_of(
    folder: Path, record: dict[str, Any], ids: Sequence[TurnId], texts: Sequence[str], out: Path, backbone: str
) -> Embeddings:
    """Embeddings of N turns [shape=(N, d)]: of the stage `embed` where the run has them all, else by ``backbone``.

    ``folder``: the run's. ``record``: its ``run.json``. ``out``: where computed ones are kept for the next time. Raises
    InputError: the backbone cannot be loaded.
    """
    stored = _stored(folder / "store" / "embed", record, ids)
    if stored is not None:
        return stored
    path, mark = out / KEPT, digest([backbone, MAX_TOKENS, list(texts)])
    kept = _kept(path, mark)
    return _computed(path, mark, texts, backbone) if kept is None else kept


def _stored(store: Path, record: dict[str, Any], ids: Sequence[TurnId]) -> Embeddings | None:
    """The half of each stored embedding that is the turn's own; None where a turn has none, or history is mixed in."""
    model = record.get("config", {}).get("train_reward", {})
    if model.get("scoring") != "windowed" or not model.get("freeze_backbone"):
        return None
    places = {(*one.episode, one.turn): place for place, one in enumerate(ids)}
    found: Embeddings | None = None
    missing = set(range(len(ids)))
    # The newest first: an older one is of settings or words that the run no longer has.
    for path in sorted(store.glob("*/*/embeddings.parquet"), key=lambda path: -path.stat().st_mtime_ns):
        try:
            table = pq.ParquetFile(path).read(use_threads=False)
            keys = list(zip(*(table.column(name).to_pylist() for name in (*EPISODE_KEY, "turn")), strict=True))
            column = table.column("embedding").combine_chunks()
            width = column.type.list_size
            rows = column.flatten().to_numpy(zero_copy_only=False).reshape(len(table), width)[:, width // 2 :]
        except (OSError, KeyError, pa.ArrowException):
            return None
        at = [(places[key], row) for row, key in enumerate(keys) if key in places and places[key] in missing]
        if found is None:
            found = np.zeros((len(ids), rows.shape[1]), np.float32)
        if rows.shape[1] != found.shape[1]:
            continue
        for place, row in at:
            found[place] = rows[row]
        missing -= {place for place, _ in at}
    return None if missing else found


def _kept(path: Path, mark: str) -> Embeddings | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            if (file.metadata() or {}).get("of") != mark:
                return None
            kept: Embeddings = file.get_tensor("embeddings")
            return kept
    except (OSError, SafetensorError):
        return None


def _computed(path: Path, mark: str, texts: Sequence[str], backbone: str) -> Embeddings:
    from safetensors.numpy import save

    from apportion.reward_model.network.backbones import frozen_backbone
    from apportion.reward_model.network.texts import embed_sentences

    lines = [" ".join(text.split()) for text in texts]
    own = embed_sentences(frozen_backbone(backbone, MAX_TOKENS), lines)
    write_atomically(path, save({"embeddings": own}, {"of": mark}))
    return own
