"""A run's target turns as patterns are looked for in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode
from apportion.evaluation.error_slices.turns import TargetTurns, TurnId
from apportion.foundation.arrays import Floats
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.pipeline.error_slices.embedded import embeddings_of
from apportion.pipeline.error_slices.turn_attributes import traits
from apportion.pipeline.results.run_folder import RunFolder

COLUMNS = (*EPISODE_KEY, "turn", "method", "reward")


@dataclass(frozen=True, eq=False)
class RunTurns:
    """The target turns of a run, and their rewards by each method [shape=(N,)], averaged over seeds."""

    turns: TargetTurns
    rewards: dict[str, Floats]

    def of(self, method: str) -> TargetTurns:
        """The turns with the rewards of ``method``."""
        return replace(self.turns, rewards=self.rewards[method])


def read_turns(run: RunFolder, record: dict[str, Any], methods: tuple[str, ...], out: Path, backbone: str) -> RunTurns:
    """The turns that any of ``methods`` rewards (all where none is named).

    Parameters
    ----------
    record : dict
        The run's ``run.json``.
    out : Path
        Where embeddings are kept.
    backbone : str
        Embeds the turns where the run has not.

    Raises
    ------
    InputError
        The run has no rewards, or none of a method that is named; the backbone cannot be loaded.
    """
    table = _rewards(run, methods)
    of_method: dict[str, dict[TurnId, list[float]]] = {}
    for *key, turn, method, reward in zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True):
        known = of_method.setdefault(method, {}).setdefault(TurnId((key[0], key[1], key[2], key[3]), turn), [])
        if reward is not None:
            known.append(reward)
    wanted = {one.episode for of in of_method.values() for one in of}
    episodes = [e for e in _episodes(run) if e.key in wanted and e.target_turns]
    ids = [TurnId(episode.key, turn) for episode in episodes for turn in episode.target_turns]
    texts = [episode.turns[position].text for episode in episodes for position in episode.target_positions]
    scores = [e.score if e.is_rated else np.nan for e in episodes for _ in e.target_turns]
    embeddings = embeddings_of(run.folder, record, ids, texts, out, backbone)
    unknown = np.full(len(ids), np.nan)
    turns = TargetTurns(ids, texts, unknown, embeddings, traits(episodes), np.array(scores, np.float64))
    rewards = {
        method: np.array([_mean(of.get(one, [])) for one in ids], np.float64) for method, of in of_method.items()
    }
    return RunTurns(turns, rewards)


def _episodes(run: RunFolder) -> list[Episode]:
    return [episode for session in run.corpus.iter_sessions() for episode in session.episodes()]


def _rewards(run: RunFolder, methods: tuple[str, ...]) -> pa.Table:
    path = run.folder / "rewards.parquet"
    if not path.is_file():
        raise InputError(
            f"{path}: no such file, so this run has no rewards. Run `apportion run CONFIG --only decompose` first."
        )
    try:
        table = pq.read_table(path, columns=list(COLUMNS))
    except (OSError, KeyError, pa.ArrowException) as error:
        cause = str(error).splitlines()[0]
        raise InputError(f"{path}: not a readable table ({cause}). Delete it and run `apportion run` again.") from None
    there = sorted(set(table.column("method").to_pylist()))
    for method in methods:
        if method not in there:
            raise InputError(
                f"method {method!r}: no rewards in {path}; {did_you_mean(method, there, 'choose another.')} It has "
                f"{', '.join(there)}."
            )
    wanted = pa.array(methods or there, pa.string())
    return table.filter(pc.is_in(table.column("method"), value_set=wanted))


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else np.nan
