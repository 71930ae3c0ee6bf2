"""A reward whose sense of context learns, while the policy is aligned, from what the policy itself says."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from apportion.corpus.session import Episode
from apportion.foundation.errors import InputError, UnitError
from apportion.reward_model.context_fit import HIGHEST, LEAST_TURNS, ContrastPairs, teach
from apportion.reward_model.history_windows import Pair, history_windows
from apportion.reward_model.learning.advantage import Turns, set_weight, turns_of_sessions
from apportion.reward_model.network.embed import CONTEXT
from apportion.reward_model.out_of_domain import evenly
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.training.ensemble import asked
from apportion.rlhf.training.reward import ModelReward, Reward, SessionReward

MOST_OWN = 1024
"""The policy's last replies that are learned from: more than one refresh's, so that an old trick stays known."""
TURNS = {"train": 2000, "validation": 500}
"""About how many recorded turns of these splits are read, once: those that teach, and those that choose."""


class RefreshedReward:
    """A copy of ``reward``, asked once a step, whose context fit is taught further after every ``every`` steps.

    People's replies of the corpus stay all that fits; the policy's own count where they do not belong
    (`apportion.reward_model.context_fit.teach`). Bound and weight are set anew by the rule of the first time, with the
    policy's best paid replies among the rivals: a cosine of other maps has another scale, by which a kept bound would
    charge people. The baseline stays: no reply changes it. ``reward`` stays, too: gold and samples are told by one that
    is the same at every step. No random numbers but its own are drawn, and `state` holds all that has changed.

    ``parts``: The sessions of each split; ``seed``: of all that is drawn.

    Raises InputError: A reward model without a context fit. Raises UnitError: Too few recorded turns.
    """

    def __init__(self, reward: SessionReward, parts: Mapping[str, Sequence[Episode]], every: int, seed: int) -> None:
        self._reward, self._every, self._seed = copy.deepcopy(reward), every, seed
        self._calls, self._own = 0, list[tuple[Pair, int, float]]()
        if not isinstance(self._reward, ModelReward) or self._reward.model.context_fit is None:
            raise InputError(
                f"align.refresh_fit = {every}: this reward model has no context fit: fewer than {LEAST_TURNS} turns "
                "taught it. Train one from more sessions, or set refresh_fit = 0."
            )
        model = self._model = self._reward.model
        some = [_some(parts[name], most) for name, most in TURNS.items()]
        episodes = [episode for part in some for episode in part]
        windows = history_windows(episodes, model.config.history_turns)
        self._stands = [(episode, position) for episode in episodes for position in episode.target_positions]
        self._places = windows.places
        with model.hurried():
            self._contexts = self._read(windows.pairs)
        rows = (range(len(some[0])), range(len(some[0]), len(episodes)))
        self._learnt, self._held = (
            ContrastPairs.of(self._contexts.numpy(), turns_of_sessions(windows, of), seed) for of in rows
        )
        if len(self._learnt.turns) < LEAST_TURNS or not len(self._held.turns):
            raise UnitError(
                f"align.refresh_fit = {every}: {len(self._learnt.turns)} turns of the split train and "
                f"{len(self._held.turns)} of validation answer somebody, and {LEAST_TURNS} are needed, and two "
                "dialogues. Give these splits more sessions, or set refresh_fit = 0."
            )

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """One score a reply (B of them) of the step, from which later ones learn."""
        if self._calls and self._calls % self._every == 0:
            self._refresh()
        self._calls += 1
        scores = self._reward(contexts, histories, replies)
        said = zip(*asked(contexts, histories, replies), scores, strict=True)
        self._own = [*self._own, *said][-MOST_OWN:]
        return scores

    def state(self) -> dict[str, Any]:
        """What `load_state` goes on from, as JSON values."""
        assert self._model.context_fit is not None
        fit = safetensors.torch.save(self._model.context_fit.state_dict())
        return {"calls": self._calls, "own": self._own, "fit": base64.b64encode(fit).decode()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        assert self._model.context_fit is not None
        self._calls = int(state["calls"])
        self._own = [((history, reply), place, score) for (history, reply), place, score in state["own"]]
        self._model.context_fit.load_state_dict(safetensors.torch.load(base64.b64decode(state["fit"])))

    def _read(self, pairs: Sequence[Pair]) -> Tensor:
        return self._model.embedded(pairs)[:, -CONTEXT:] if self._model.pools_minilm else self._model.context(pairs)

    def _refresh(self) -> None:
        pairs, places, scores = zip(*self._own, strict=True)
        contexts, recorded = torch.cat([self._contexts, self._read(pairs)]), len(self._contexts)
        turns = Turns(
            self._model,
            [*self._places, *places],
            contexts,
            lambda i: self._model.window(*self._stands[i]) if i < recorded else pairs[i - recorded],
        )
        own, seed, held = np.arange(recorded, len(contexts)), self._seed + self._calls, self._held
        tempting = own[np.array(scores) >= np.quantile(scores, 1 - HIGHEST)]
        cases = [(held.turns, at) for at in (held.turns, held.other, held.same_task)]
        cases.append((np.random.default_rng(seed).choice(tempting, len(held.turns)), held.turns))
        fit, self._model.context_fit = self._model.context_fit, None
        assert fit is not None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            teach(fit, contexts, self._learnt.turns, cases, own)
        set_weight(fit, turns, held, seed, tempting)
        self._model.context_fit = fit


def _some(episodes: Sequence[Episode], most: int) -> list[Episode]:
    """Whole episodes, evenly over all of them, with about ``most`` turns of their targets."""
    answering = [episode for episode in episodes if episode.target_turns]
    turns = sum(len(episode.target_turns) for episode in answering)
    return [answering[i] for i in evenly(len(answering), max(2, most * len(answering) // max(turns, 1)))]


def reward_state(reward: Reward) -> dict[str, Any] | None:
    """What a checkpoint has to hold of a reward; None of one that does not change."""
    return reward.state() if isinstance(reward, RefreshedReward) else None


def load_reward_state(reward: Reward, state: Mapping[str, Any] | None = None) -> None:
    """Go on from what `reward_state` gave."""
    if isinstance(reward, RefreshedReward) and state is not None:
        reward.load_state(state)
