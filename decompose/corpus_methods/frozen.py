"""Other sessions judged by what a finished fit learned: nothing is learned, and what the fit judged stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.stacked import sources_of, worth_of
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.component import Component
from apportion.decompose.ensembling.stacking import StackingWeights, mixed
from apportion.decompose.method import CorpusMethod, Method, PretrainedReactions
from apportion.decompose.methods import METHODS
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.model import LinearWorth, judged_turns


def learns(method: Method) -> bool:
    """Whether a method's judgements rest on what it learned on its corpus."""
    return isinstance(method, CorpusMethod) and not isinstance(method, PretrainedReactions)


def judge_frozen(method: str, learnt: Mapping[str, Any], data: TrainingData, config: TrainingConfig) -> pa.Table:
    """Judgements (REWARDS schema, ``raw_reward``) of the target turns of all of ``data``'s episodes.

    ``learnt``: `FittedReactionModel.learnt` of the fit; nothing of it for a method that learned elsewhere. No score of
    ``data`` is read. Raises UnitError: No reaction was read, or other things were measured than taught the fit.
    """
    if not learns(METHODS[method]):
        return fit_decomposer(method, data, config, lambda *told: None).judgements
    if "weights" in learnt:
        weights = StackingWeights.from_json(learnt["weights"])
        sources = [_source(name, learnt["worths"], data, config) for name in weights.sources]
        weights_of = cache(weights.of)
        values = [mixed(sources, weights_of, episode) for episode in data.episodes.all]
        return judged_turns(method, config.seed, data.episodes.all, np.concatenate(values or [np.zeros(0)]))
    data.check_read(method)
    assert data.reactions is not None
    reactions = arrange(data.reactions, data.episodes.all, data.features)
    found = worth_of(method, LinearWorth.from_json(learnt["worth"]), reactions)
    values = [found[episode.key] for episode in reactions.episodes]
    return judged_turns(method, config.seed, reactions.episodes, np.concatenate(values))


def _source(name: str, worths: Mapping[str, Any], data: TrainingData, config: TrainingConfig) -> Component:
    """What one source of a mix says of the episodes; a source that has nothing to look at knows none of them."""
    if name in worths and data.reactions is not None:
        reactions = arrange(data.reactions, data.episodes.all, data.features)
        return Component(name, worth_of(name, LinearWorth.from_json(worths[name]), reactions))
    told = [] if name in worths or name == "people-student" else sources_of((name,), data, config)
    return told[0] if told else Component(name, {})
