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
from apportion.reward_model.history_windows import Pair, said_in

PLACE = 3
"""Features of a turn's place."""
FOLDS = 5
PENALTIES = tuple(10.0**power for power in range(-1, 6))


class StateBaseline(nn.Module):
    """b(s): linear in the embeddings of the history (its mean) and of the turn before, and in the turn's place k (k,
    log(1 + k), and whether it is the first).

    As a baseline in policy gradients it takes from the reward what no reply can change. It is fitted in closed form
    (`fit`) and never trained; a new one, of ``width`` d numbers a text, gives 0.
    """

    mean: Tensor
    scale: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        for name, value in (("mean", 0.0), ("scale", 1.0), ("weight", 0.0)):
            self.register_buffer(name, torch.full((2 * width + PLACE,), value, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros((), dtype=torch.float64))

    @classmethod
    def fit(cls, contexts: Tensor, places: Sequence[int], values: Floats, offsets: Sequence[int]) -> StateBaseline:
        """The baseline of N turns of S episodes, by ridge regression.

        The penalty is the one of least squared error on episodes that were left out, in five folds over the episodes
        (fewer where there are fewer; of one episode alone, the largest penalty). A ridge foretells too little: what it
        says of left-out episodes, and the place, then go through a plain regression of differences within episodes, so
        that nothing of them is left in what is paid.

        - ``contexts`` (float32 [shape=(N, 3 d)]): `apportion.reward_model.model.RewardModel.context`.
        - ``places`` (N): How many of the target's turns came before. ``values`` (float64 [shape=(N,)]): The rewards.
        - ``offsets`` (S + 1): Episode i has the turns ``offsets[i]:offsets[i + 1]``.
        """
        made = cls(contexts.shape[1] // 3)
        if not len(values):
            return made
        features = _features(contexts, places).numpy()
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale[scale < 1e-6] = np.finfo(np.float64).max  # A feature that never changes foretells nothing.
        rows, target = (features - mean) / scale, np.asarray(values, dtype=np.float64)
        episode = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        penalty, left_out = _best_penalty(rows, target, episode)
        ((weight, bias),) = _ridges(rows, target, (penalty,))
        steps = less_their_mean(np.column_stack([left_out, rows[:, -PLACE:]]), episode)
        goal = less_their_mean(target[:, None], episode)[:, 0]
        found = np.linalg.lstsq(steps, goal, rcond=1e-8)[0]
        if found[0] < 0:  # What is foretold is worse than nothing: the place alone is left.
            found[1:] = np.linalg.lstsq(steps[:, 1:], goal, rcond=1e-8)[0]
        weight = max(0.0, float(found[0])) * weight
        weight[-PLACE:] += found[1:]
        for name, given in (("mean", mean), ("scale", scale), ("weight", weight)):
            getattr(made, name).copy_(torch.from_numpy(given))
        made.bias.fill_(bias)
        return made

    def forward(self, contexts: Tensor, places: Sequence[int]) -> Tensor:
        """b [shape=(N,)] float64, in units of reward, of contexts [shape=(N, 3 d)] and places (N)."""
        return (_features(contexts, places) - self.mean) / self.scale @ self.weight + self.bias


def of_place(places: Sequence[int]) -> Tensor:
    """What is read of places (N): k, log(1 + k), and whether it is the first [shape=(N, 3)] float64."""
    k = torch.tensor(places, dtype=torch.float64)
    return torch.stack([k, torch.log1p(k), (k == 0).double()], dim=1)


def turns_before(pair: Pair) -> int:
    """How many turns of the target are in the history of a window: its place, where nothing else is known."""
    return sum(letter == TARGET for letter, _ in said_in(pair)[:-1])


def _features(contexts: Tensor, places: Sequence[int]) -> Tensor:
    history, _, last = contexts.double().cpu().chunk(3, dim=1)
    return torch.cat([history, last, of_place(places)], dim=1)


def less_their_mean(columns: NDArray[np.float64], episode: NDArray[np.int64]) -> NDArray[np.float64]:
    """Columns [shape=(N, C)] less their means within episodes."""
    counts = np.bincount(episode)
    means = np.stack([np.bincount(episode, column) / counts for column in columns.T], axis=1)
    of_episode: NDArray[np.float64] = columns - means[episode]
    return of_episode


def _best_penalty(
    rows: NDArray[np.float64], target: NDArray[np.float64], episode: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """The penalty of least error, and what it foretells of each turn [shape=(N,)] by the other folds."""
    folds = min(FOLDS, int(episode.max(initial=-1)) + 1)
    if folds < 2:
        return PENALTIES[-1], np.zeros(len(target))
    found = np.zeros((len(PENALTIES), len(target)))
    for fold in range(folds):
        out = episode % folds == fold
        for place, (weight, bias) in enumerate(_ridges(rows[~out], target[~out], PENALTIES)):
            found[place, out] = rows[out] @ weight + bias
    best = int(np.argmin(np.square(found - target).sum(axis=1)))
    return PENALTIES[best], found[best]


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
