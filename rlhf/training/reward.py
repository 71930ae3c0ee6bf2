"""The reward of a reply: a trained reward model behind one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from corpus.session import Episode
from reward_model.history_windows import reply_text
from reward_model.model import RewardModel


class Reward(Protocol):
    """Scores replies in their dialogues."""

    def __call__(self, histories: Sequence[str], replies: Sequence[str]) -> list[float]:
        """One score a reply (B of them); ``histories`` are texts as the scorer was trained on them."""
        ...


class ModelReward:
    """r_theta(s_t, a_t) of a saved reward model, its windows made exactly as in its training."""

    def __init__(self, folder: Path) -> None:
        self._model = RewardModel.from_pretrained(folder)

    def history(self, episode: Episode, position: int) -> str:
        """The history that the model reads for the turn at ``position``."""
        return self._model.window(episode, position)[0]

    def __call__(self, histories: Sequence[str], replies: Sequence[str]) -> list[float]:
        """One score a reply (B of them), in the units of the turn rewards that the model learned."""
        pairs = [(history, reply_text(reply)) for history, reply in zip(histories, replies, strict=True)]
        return self._model.score_windows(pairs)
