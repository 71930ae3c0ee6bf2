"""What the state alone foretells of a reward: the dialogue before the turn and how far it has come, not the turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from apportion.corpus.speaker_labels import TARGET
from apportion.foundation.arrays import ROWS_AT_ONCE, Floats, added, mean_and_variance
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
    def fit(
        cls,
        contexts: Tensor,
        places: Sequence[int],
        values: Floats,
        offsets: Sequence[int],
        taken: NDArray[np.int64] | None = None,
    ) -> StateBaseline:
        """The baseline of N turns of S episodes, by ridge regression.

        The penalty is the one of least squared error on episodes that were left out, in five folds over the episodes
        (fewer where there are fewer; of one episode alone, the largest penalty). A ridge foretells too little: what it
        says of left-out episodes, and the place, then go through a plain regression of differences within episodes, so
        that nothing of them is left in what is paid.

        - ``contexts`` (float32 [shape=(N, 3 d)]): `apportion.reward_model.model.RewardModel.context`, or of more turns,
          of which ``taken`` (N) are these.
        - ``places`` (N): How many of the target's turns came before. ``values`` (float64 [shape=(N,)]): The rewards.
        - ``offsets`` (S + 1): Episode i has the turns ``offsets[i]:offsets[i + 1]``.
        """
        made = cls(contexts.shape[1] // 3)
        if not len(values):
            return made
        target, episode = np.asarray(values, dtype=np.float64), np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        rows = _Rows.of(contexts, places, np.arange(len(target)) if taken is None else taken)
        penalty, left_out = _best_penalty(rows, target, episode)
        (((weight, bias),),) = _ridges(rows, target, [np.ones(len(target), np.bool_)], (penalty,))
        place = np.concatenate([block[:, -PLACE:].copy() for _, block in rows.blocks()])
        steps = less_their_mean(np.column_stack([left_out, place]), episode)
        goal = less_their_mean(target[:, None], episode)[:, 0]
        found = np.linalg.lstsq(steps, goal, rcond=1e-8)[0]
        if found[0] < 0:  # What is foretold is worse than nothing: the place alone is left.
            found[1:] = np.linalg.lstsq(steps[:, 1:], goal, rcond=1e-8)[0]
        weight = max(0.0, float(found[0])) * weight
        weight[-PLACE:] += found[1:]
        for name, given in (("mean", rows.mean), ("scale", rows.scale), ("weight", weight)):
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
    history, _, last = contexts.cpu().chunk(3, dim=1)
    return torch.cat([history.double(), last.double(), of_place(places)], dim=1)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The features of N turns, standardised; nowhere are those of all in memory."""

    contexts: Tensor
    places: Sequence[int]
    taken: NDArray[np.int64]
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, contexts: Tensor, places: Sequence[int], taken: NDArray[np.int64]) -> _Rows:
        width = contexts.shape[1] // 3 * 2 + PLACE
        plain = cls(contexts, places, taken, np.zeros(width), np.ones(width))
        mean, variance = mean_and_variance(lambda: (block for _, block in plain.blocks()), len(taken))
        scale = np.sqrt(variance)
        scale[scale < 1e-6] = np.finfo(np.float64).max  # A feature that never changes foretells nothing.
        return replace(plain, mean=mean, scale=scale)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Which turns, and their features [shape=(M, F)], which are the caller's to change."""
        for start in range(0, len(self.taken), ROWS_AT_ONCE):
            at = slice(start, start + ROWS_AT_ONCE)
            block: Floats = _features(self.contexts[self.taken[at]], self.places[at]).numpy()
            block -= self.mean
            block /= self.scale
            yield at, block


def less_their_mean(columns: NDArray[np.float64], episode: NDArray[np.int64]) -> NDArray[np.float64]:
    """Columns [shape=(N, C)] less their means within episodes."""
    counts = np.bincount(episode)
    means = np.stack([np.bincount(episode, column) / counts for column in columns.T], axis=1)
    of_episode: NDArray[np.float64] = columns - means[episode]
    return of_episode


def _best_penalty(rows: _Rows, target: Floats, episode: NDArray[np.int64]) -> tuple[float, Floats]:
    """The penalty of least error, and what it foretells of each turn [shape=(N,)] by the other folds."""
    folds = min(FOLDS, int(episode.max(initial=-1)) + 1)
    if folds < 2:
        return PENALTIES[-1], np.zeros(len(target))
    found = np.zeros((len(PENALTIES), len(target)))
    out = [episode % folds == fold for fold in range(folds)]
    ridges = _ridges(rows, target, [~of for of in out], PENALTIES)
    for at, block in rows.blocks():
        for of, ridge in zip(out, ridges, strict=True):
            for place, (weight, bias) in enumerate(ridge):
                found[place, at][of[at]] = block[of[at]] @ weight + bias
    best = int(np.argmin(np.square(found - target).sum(axis=1)))
    return PENALTIES[best], found[best]


def _ridges(
    rows: _Rows, target: Floats, taught: Sequence[NDArray[np.bool_]], penalties: Sequence[float]
) -> list[list[tuple[Floats, float]]]:
    """By each choice of turns [shape=(N,)]: weights and intercept for each penalty, from one decomposition; the
    intercept is not shrunk."""
    width = len(rows.mean)
    totals, products = np.zeros((len(taught), width)), np.zeros((len(taught), width, width))
    along = np.zeros((len(taught), width))
    for at, block in rows.blocks():
        for place, of in enumerate(taught):
            totals[place] = added(totals[place], block[of[at]])
    counts = [max(1, np.count_nonzero(of)) for of in taught]
    centres = totals / np.array(counts)[:, None]
    levels = [float(target[of].mean()) if of.any() else 0.0 for of in taught]
    for at, block in rows.blocks():
        for place, of in enumerate(taught):
            away = block[of[at]] - centres[place]
            products[place] += away.T @ away
            along[place] += away.T @ (target[at][of[at]] - levels[place])
    found = []
    for centre, level, product, vector in zip(centres, levels, products, along, strict=True):
        sizes, axes = np.linalg.eigh(product)
        weights = [axes @ ((axes.T @ vector) / (np.clip(sizes, 0.0, None) + penalty)) for penalty in penalties]
        found.append([(weight, level - float(centre @ weight)) for weight in weights])
    return found
