"""What a policy is paid, learnt after the network: the baseline of its states, and how much a misfit costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.corpus.session import Episode
from apportion.foundation.arrays import ROWS_AT_ONCE, Floats
from apportion.reward_model.context_fit import (
    ContextFit,
    ContrastPairs,
    Replies,
    fit_context,
    replies_at,
    weigh_context,
)
from apportion.reward_model.history_windows import HistoryWindows, Pair, history_windows
from apportion.reward_model.learning.loop import Training
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.embed import CONTEXT
from apportion.reward_model.state_baseline import StateBaseline

MOST_PAIRS = 100
"""Turns of validation sessions that are read again in other contexts by a backbone that reads them together."""
FIGURES = (
    "of 100 replies paid more than in another dialogue",
    "of 100 replies paid more than in one of the same task",
    "of 100 replies paid more than in another place of their dialogue",
    "of 100 replies paid more than one in their place that is paid much elsewhere",
)


def add_advantage(training: Training, values: Floats, episodes: Sequence[Episode], seed: int) -> dict[str, float]:
    """Give ``training.model`` its baseline b(s) and, where there is enough to learn from, its sense of context.

    - ``values`` (float64 [shape=(N,)]): r_theta of every turn, in units of reward, by heads that did not learn from it
      as far as there are any: what a head has learnt by heart is not what its states foretell.
    - ``episodes``: All episodes of the training.

    Returns what the card tells: how many of 100 held-out replies are paid more where they were said.
    """
    with training.model.hurried():
        return _add_advantage(training.model, _AllTurns.of(training, episodes), training.rows, values, seed)


def _add_advantage(
    model: RewardModel, turns: _AllTurns, rows: tuple[Sequence[int], Sequence[int]], values: Floats, seed: int
) -> dict[str, float]:
    learnt, held = (turns_of_sessions(turns.windows, of) for of in rows)
    taken, offsets = np.concatenate([*learnt, *held]), np.cumsum([0, *map(len, (*learnt, *held))]).tolist()
    places = [turns.places[i] for i in taken]
    model.baseline = StateBaseline.fit(turns.contexts, places, values[taken], offsets, taken)
    fit = fit_context(turns.contexts, learnt, held, seed)
    if fit is None:
        return {}
    shares = set_weight(fit, turns, ContrastPairs.of(turns.contexts.numpy(), held, seed), seed)
    model.context_fit = fit
    with torch.inference_mode():  # How well a reply fits hangs on the state, too.
        some = np.split(taken, range(ROWS_AT_ONCE, len(taken), ROWS_AT_ONCE))
        paid = values[taken] + np.concatenate([fit(turns.contexts[of]).double().numpy() for of in some])
    model.baseline = StateBaseline.fit(turns.contexts, places, paid, offsets, taken)
    return {name: 100 * share for name, share in zip(FIGURES, shares, strict=True) if not math.isnan(share)}


def set_weight(
    fit: ContextFit, turns: Turns, every: ContrastPairs, seed: int, tempting: NDArray[np.int64] | None = None
) -> list[float]:
    """Set bound and weight of a ``fit`` that the model of ``turns`` does not have meanwhile: `weigh_context`.

    - ``every``: Pairs of held-out turns. ``tempting``: Turns whose replies, one drawn for each place, are rivals, too.
    """
    pairs = every if turns.model.pools_minilm else every.sample(MOST_PAIRS, seed)
    own = Replies(pairs.turns, pairs.turns, turns.paid_where_said(pairs.turns))
    cases = [(pairs.turns, at) for at in (pairs.other, pairs.same_task, pairs.shuffled)]
    cases.append((pairs.tempting(own.paid, seed), pairs.turns))
    if tempting is not None:
        cases.append((np.random.default_rng(seed).choice(tempting, len(pairs.turns)), pairs.turns))
    rivals = [Replies(said, at, turns.paid(said, at)) for said, at in cases]
    return weigh_context(fit, turns.contexts, every.turns, own, rivals)


def turns_of_sessions(windows: HistoryWindows, rows: Sequence[int]) -> list[NDArray[np.int64]]:
    """The turns of the episodes ``rows``, an array a session."""
    found: dict[str, list[int]] = {}
    for row in rows:
        turns = range(windows.offsets[row], windows.offsets[row + 1])
        found.setdefault(windows.keys[row][0], []).extend(turns)
    return [np.array(turns, dtype=np.int64) for turns in found.values()]


@dataclass(frozen=True, eq=False)
class Turns:
    """N turns of one model: how many of the target's came before each, what baseline and context read of them
    [shape=(N, 3 d)], and the texts (history, reply) that the model reads of one."""

    model: RewardModel
    places: list[int]
    contexts: Tensor
    window: Callable[[int], Pair]

    def paid_where_said(self, turns: NDArray[np.int64]) -> Tensor:
        """What P turns are paid in their own places [shape=(P,)]."""
        return self.paid(turns, turns)

    def paid(self, replies: NDArray[np.int64], at: NDArray[np.int64]) -> Tensor:
        """What ``replies`` (P turns) are paid in the place of the turns ``at`` (P) [shape=(P,)]."""
        places = [self.places[i] for i in at]
        if self.model.pools_minilm:
            swapped = replies_at(self.contexts, replies, at)
            return torch.from_numpy(self.model.scores(swapped, swapped, places).advantage)
        pairs = [(self.window(place)[0], self.window(reply)[1]) for reply, place in zip(replies, at, strict=True)]
        return torch.from_numpy(self.model.score_windows(pairs, places).advantage)


@dataclass(frozen=True, eq=False)
class _AllTurns(Turns):
    """The N turns of a training, which need not be read again where they were said."""

    windows: HistoryWindows
    embed: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, training: Training, episodes: Sequence[Episode]) -> _AllTurns:
        model, windows = training.model, training.data.history_windows
        by_key = {episode.key: episode for episode in episodes}
        ordered = [by_key[key] for key in windows.keys]
        stands = [(episode, position) for episode in ordered for position in episode.target_positions]
        read = training.data.inputs.embed
        if model.has_context:
            contexts = training.data.inputs.embed_all(model, len(stands))[:, -CONTEXT:]
        else:
            contexts = model.context(history_windows(ordered, model.config.history_turns).pairs)
        return cls(model, windows.places, contexts, lambda i: model.window(*stands[i]), windows, partial(read, model))

    @torch.inference_mode()
    def paid_where_said(self, turns: NDArray[np.int64]) -> Tensor:
        at = torch.from_numpy(turns)
        scores = self.model.scores(self.embed(at), self.contexts[at], [self.places[i] for i in turns])
        return torch.from_numpy(scores.advantage)
