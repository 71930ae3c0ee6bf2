"""A run's error slices: found by each method's rewards, kept as Markdown and JSON, and read again by pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, EpisodeKey
from apportion.evaluation.error_slices.clusters import word_vectors
from apportion.evaluation.error_slices.find import find_slices
from apportion.evaluation.error_slices.result import ErrorSlices, markdown
from apportion.evaluation.error_slices.turns import TargetTurns, TurnId
from apportion.foundation.arrays import ROWS_AT_ONCE
from apportion.pipeline.error_slices.turn_attributes import traits
from apportion.pipeline.results.run_folder import SLICES, session_file_name

COLUMNS = (*EPISODE_KEY, "turn", "method", "reward", "raw_reward")


def run_slices(episodes: Sequence[Episode], rewards: pa.Table) -> Iterator[ErrorSlices]:
    """The slices by each method that has rewards (REWARDS schema), averaged over seeds; no model is asked.

    A turn of which a method said nothing, such as the last one where nobody replied, has a reward that the projection
    filled in: it is no turn of a kind.
    """
    of_method: dict[str, dict[EpisodeKey, dict[int, list[float]]]] = {}
    for part in rewards.select(COLUMNS).to_batches(max_chunksize=ROWS_AT_ONCE):
        *keys, turns, methods, given, said = (column.to_pylist() for column in part.columns)
        for key, turn, method, *values in zip(zip(*keys, strict=True), turns, methods, given, said, strict=True):
            known = of_method.setdefault(method, {}).setdefault(key, {}).setdefault(turn, [])
            known += [] if None in values else values[:1]
    rewarded = {key for of in of_method.values() for key in of}
    shown = [episode for episode in episodes if episode.key in rewarded and episode.target_turns]
    ids = [TurnId(key, turn) for episode in shown for key in [episode.key] for turn in episode.target_turns]
    texts = [episode.turns[position].text for episode in shown for position in episode.target_positions]
    scores = [episode.score if episode.is_rated else np.nan for episode in shown for _ in episode.target_turns]
    nothing = np.full(len(ids), np.nan)
    target = TargetTurns(ids, texts, nothing, word_vectors(texts), traits(shown), np.array(scores, np.float64))
    for method, of in sorted(of_method.items()):
        paid = (of.get(one.episode, {}).get(one.turn) for one in ids)
        means = np.array([np.mean(seeds) if seeds else np.nan for seeds in paid], np.float64)
        yield find_slices(replace(target, rewards=means), method)


def write_slices(found: Sequence[ErrorSlices], folder: Path) -> None:
    """Write each method's slices into ``folder``, as Markdown and as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    for slices in found:
        text = json.dumps(slices.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / f"{session_file_name(slices.method)}.json").write_text(text + "\n", encoding="utf-8")
        (folder / f"{session_file_name(slices.method)}.md").write_text(markdown(slices), encoding="utf-8")


def read_slices(run_folder: Path) -> dict[str, dict[str, Any]]:
    """What a run has of `write_slices`, by method; a file that is damaged is passed over.

    Its columns are those of `apportion.evaluation.error_slices.result.ErrorSlices.to_json`.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((run_folder / SLICES).glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            found[str(document["method"])] = document
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found
