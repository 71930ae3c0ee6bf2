"""What the state alone foretells of a reward: the dialogue before the turn and how far it has come, not the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from apportion.corpus.speaker_labels import TARGET
from apportion.foundation.arrays import Floats
from apportion.reward_model.history_windows import Pair, last_window, said_in
from apportion.reward_model.settings import MINILM

PLACE = 3
"""Features of a turn's place."""
TOKENS = 128
"""Of each turn that MiniLM reads for a model of another backbone."""
FOLDS = 5
PENALTIES = tuple(10.0**power for power in range(-1, 6))


class StateBaseline(nn.Module):
    """b(s): linear in the history's embedding and in the turn's place k (k, log(1 + k), and whether it is the first).

    As a baseline in policy gradients it takes from the reward what no reply can change. It is fitted in closed form
    (`fit`) and never trained; a new one, of histories embedded as ``width`` h numbers, gives 0.
    """

    mean: Tensor
    scale: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        for name, value in (("mean", 0.0), ("scale", 1.0), ("weight", 0.0)):
            self.register_buffer(name, torch.full((width + PLACE,), value, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros((), dtype=torch.float64))

    @classmethod
    def fit(cls, histories: Tensor, places: Sequence[int], values: Floats, offsets: Sequence[int]) -> StateBaseline:
        """The baseline of N turns of S episodes, by ridge regression.

        The penalty is the one of least squared error on episodes that were left out, in five folds over the episodes
        (fewer where there are fewer; of one episode alone, the largest penalty). ``histories`` [shape=(N, h)] are
        their embeddings, ``places`` (N) how many of the target's turns came before, ``values`` (N) the rewards;
        episode i has the turns ``offsets[i]:offsets[i + 1]`` (S + 1).
        """
        made = cls(histories.shape[1])
        features = _features(histories, places).numpy()
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale[scale < 1e-6] = np.inf  # A feature that never changes foretells nothing.
        rows, target = (features - mean) / scale, np.asarray(values, dtype=np.float64)
        weight, bias = _ridge(rows, target, _best_penalty(rows, target, np.asarray(offsets)))
        for name, given in (("mean", mean), ("scale", np.where(np.isinf(scale), 1.0, scale)), ("weight", weight)):
            getattr(made, name).copy_(torch.from_numpy(given))
        made.bias.fill_(bias)
        return made

    def forward(self, histories: Tensor, places: Sequence[int]) -> Tensor:
        """b [shape=(N,)] float64, in units of reward, of histories [shape=(N, h)] and places (N)."""
        return (_features(histories, places) - self.mean) / self.scale @ self.weight + self.bias


def turns_before(pair: Pair) -> int:
    """How many turns of the target are in the history of a window: its place, where nothing else is known."""
    return sum(letter == TARGET for letter, _ in said_in(pair)[:-1])


def embed_histories(pairs: Sequence[Pair], history_turns: int) -> Tensor:
    """The histories of windows as the frozen MiniLM reads them [shape=(N, 384)], whatever the model's backbone reads.

    Of a longer history, the last ``history_turns`` turns are read.
    """
    from apportion.reward_model.network.backbones import frozen_backbone
    from apportion.reward_model.network.texts import embed_pooled

    histories = [(last_window(said_in(pair), history_turns)[0], "") for pair in pairs]
    backbone = frozen_backbone(MINILM, TOKENS, "pooled", exact=True)
    return torch.from_numpy(embed_pooled(backbone, histories)[:, : backbone.width // 2])


def _features(histories: Tensor, places: Sequence[int]) -> Tensor:
    k = torch.tensor(places, dtype=torch.float64)
    return torch.cat([histories.double().cpu(), torch.stack([k, torch.log1p(k), (k == 0).double()], dim=1)], dim=1)


def _best_penalty(rows: NDArray[np.float64], target: NDArray[np.float64], offsets: NDArray[np.int64]) -> float:
    episode = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    folds = min(FOLDS, len(offsets) - 1)
    if folds < 2:
        return PENALTIES[-1]
    errors = np.zeros(len(PENALTIES))
    for fold in range(folds):
        out = episode % folds == fold
        fitted = _ridges(rows[~out], target[~out], PENALTIES)
        errors += [np.sum((target[out] - rows[out] @ weight - bias) ** 2) for weight, bias in fitted]
    return PENALTIES[int(np.argmin(errors))]


def _ridge(rows: NDArray[np.float64], target: NDArray[np.float64], penalty: float) -> tuple[NDArray[np.float64], float]:
    return _ridges(rows, target, (penalty,))[0]


def _ridges(
    rows: NDArray[np.float64], target: NDArray[np.float64], penalties: Sequence[float]
) -> list[tuple[NDArray[np.float64], float]]:
    """Weights and intercept for each penalty, from one decomposition; the intercept is not shrunk."""
    if not len(rows):
        return [(np.zeros(rows.shape[1]), 0.0) for _ in penalties]
    centre, level = rows.mean(axis=0), float(target.mean())
    away = rows - centre
    sizes, axes = np.linalg.eigh(away.T @ away)
    along = axes.T @ (away.T @ (target - level))
    found = []
    for penalty in penalties:
        weight = cast(NDArray[np.float64], axes @ (along / (np.clip(sizes, 0.0, None) + penalty)))
        found.append((weight, level - float(centre @ weight)))
    return found
