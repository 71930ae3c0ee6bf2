"""Turn values from any number of sources, as a method's judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import EPISODE_KEY, HISTORY, REWARDS, SOURCES
from apportion.corpus.session import Episode
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.stacking import ComponentWeight, weigh
from apportion.decompose.ensembling.standardize import standardised
from apportion.decompose.reactions.model import FittedReactionModel
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError

WeightsOf = Callable[[tuple[bool, ...]], Floats]
"""From which of the K sources are known in a dialogue to what each weighs there [shape=(K,)]."""


def mix(
    method: str,
    episodes: SplitEpisodes,
    sources: Sequence[Component],
    seed: int,
    *,
    of_quality: bool = False,
    given: Mapping[str, float] | None = None,
) -> FittedReactionModel:
    """Put the sources together, each as far as it is to be believed (`apportion.decompose.ensembling.stacking.weigh`).

    raw_t = sum_k w_k z(v_kt), with v_k what source k says of a turn, and z the distance from the dialogue's mean in its
    standard deviations: 0 where all its turns are alike, and for a turn without a value. In a dialogue that a source
    does not know, the others are weighed without it. Turn labels are not an argument.

    Parameters
    ----------
    episodes : SplitEpisodes
        The scores of ``train`` decide the weights.
    seed : int
        Written into the tables; every seed gives the same values.

    Returns
    -------
    Fitted
        Judgements in standard deviations, null for a turn that no source with a weight knows; in its history each
        source's weight and R^2; in ``sources`` (schema SOURCES) also their intervals and reasons.

    Raises UnitError: No source knows any episode.
    """
    if not any(source.knows(episode.key) for source in sources for episode in episodes.all):
        raise UnitError(
            f"method {method!r}: no source ({', '.join(s.name for s in sources) or 'none'}) knows any session. Look in "
            "the quarantine table for what became of them."
        )
    weighing = weigh(sources, episodes.of("train"), of_quality=of_quality, given=given)
    # A corpus has few patterns of what is known, and each is weighed by itself.
    rows = list(_rows(method, seed, episodes.all, sources, cache(weighing.of)))
    figures = [
        {"step": 1, "metric": f"{what} of {of.source}", "value": value}
        for of in weighing.weights
        for what, value in (("weight", of.weight), ("R^2", of.foretold.explained))
    ]
    return FittedReactionModel(
        pa.Table.from_pylist(rows, schema=REWARDS.arrow),
        pa.Table.from_pylist(figures, schema=HISTORY.arrow),
        _table(method, seed, weighing.weights),
    )


def mixed(sources: Sequence[Component], weights_of: WeightsOf, episode: Episode) -> Floats:
    """raw_t of each target turn [shape=(T,)], NaN where no source with a weight knows it."""
    known = tuple(source.knows(episode.key) for source in sources)
    values = np.zeros(len(episode.target_turns))
    told = np.zeros(len(values), dtype=np.bool_)
    if not any(known):
        return np.full(len(values), np.nan)
    for source, weight, is_known in zip(sources, weights_of(known), known, strict=True):
        if is_known and weight > 0:
            values += weight * standardised(source.values[episode.key])
            told |= np.isfinite(source.values[episode.key])
    return np.where(told, values, np.nan)


def _rows(
    method: str, seed: int, episodes: Sequence[Episode], sources: Sequence[Component], weights_of: WeightsOf
) -> Iterator[dict[str, object]]:
    for episode in episodes:
        values = mixed(sources, weights_of, episode)
        for turn, value in zip(episode.target_turns, values.tolist(), strict=True):
            yield {
                **dict(zip((*EPISODE_KEY, "turn"), (*episode.key, turn), strict=True)),
                "method": method,
                "seed": seed,
                "raw_reward": None if math.isnan(value) else value,
            }


def _table(method: str, seed: int, weights: Sequence[ComponentWeight]) -> pa.Table:
    rows = []
    for of in weights:
        low, high = of.foretold.interval
        rows.append({
            "method": method, "seed": seed, "source": of.source, "weight": of.weight, "low": of.low, "high": of.high,
            "explained": of.foretold.explained, "explained_low": low, "explained_high": high,
            "sessions": of.foretold.sessions, "reason": of.why,
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SOURCES.arrow)
