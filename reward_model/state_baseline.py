"""What the state alone foretells of a reward: the dialogue before the turn and how far it has come, not the turn."""

from __future__ import annotations

from collections.abc import Sequence

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
        """The baseline of N turns of S episodes: least squares in the place, ridge regression in the history beside it.

        What is left of the values is then uncorrelated with the place over these turns. The penalty is the one of least
        squared error on episodes that were left out, in five folds over the episodes (fewer where there are fewer; of
        one episode alone, the largest penalty). ``histories`` [shape=(N, h)] are their embeddings, ``places`` (N) how
        many of the target's turns came before, ``values`` (N) the rewards; episode i has the turns
        ``offsets[i]:offsets[i + 1]`` (S + 1).
        """
        made = cls(histories.shape[1])
        if not len(values):
            return made
        features = _features(histories, places).numpy()
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale[scale < 1e-6] = np.inf  # A feature that never changes foretells nothing.
        rows = np.column_stack([np.ones(len(features)), (features - mean) / scale, values])
        products = _products_of_folds(rows, offsets)
        whole = products.sum(axis=0)
        errors = np.zeros(len(PENALTIES))
        for held in products if len(products) > 1 else ():
            errors += [_squared_error(weights, held) for weights in _ridges(whole - held, PENALTIES)]
        best = PENALTIES[int(np.argmin(errors))] if errors.any() else PENALTIES[-1]
        ((bias, *weight),) = _ridges(whole, (best,))
        for name, given in (("mean", mean), ("scale", np.where(np.isinf(scale), 1.0, scale)), ("weight", weight)):
            getattr(made, name).copy_(torch.tensor(given))
        made.bias.fill_(float(bias))
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
    return torch.cat([torch.stack([k, torch.log1p(k), (k == 0).double()], dim=1), histories.double().cpu()], dim=1)


def _products_of_folds(rows: NDArray[np.float64], offsets: Sequence[int]) -> NDArray[np.float64]:
    """Sums of products of columns [shape=(F, C, C)] of the rows of each fold: all that least squares needs of them."""
    episode = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    folds = [rows[episode % FOLDS == fold] for fold in range(min(FOLDS, len(offsets) - 1))]
    return np.stack([part.T @ part for part in folds])


def _squared_error(weights: NDArray[np.float64], products: NDArray[np.float64]) -> float:
    residual = np.append(-weights, 1.0)
    return float(residual @ products @ residual)


def _ridges(products: NDArray[np.float64], penalties: Sequence[float]) -> list[NDArray[np.float64]]:
    """Weights of 1, the place and the history for each penalty, which is on those of the history alone.

    ``products`` are of these columns and of the target, which is the last one.
    """
    plain, history = slice(0, 1 + PLACE), slice(1 + PLACE, -1)
    solve = np.linalg.pinv(products[plain, plain], rcond=1e-10, hermitian=True)
    # What the plain columns do not explain of either (Frisch, Waugh and Lovell).
    of_history, of_target = solve @ products[plain, history], solve @ products[plain, -1]
    left = products[history, history] - products[history, plain] @ of_history
    sizes, axes = np.linalg.eigh(left)
    along = axes.T @ (products[history, -1] - products[history, plain] @ of_target)
    weights = [axes @ (along / (np.clip(sizes, 0.0, None) + penalty)) for penalty in penalties]
    return [np.concatenate([of_target - of_history @ one, one]) for one in weights]
