"""Whether a reply fits what was said before it: two maps, taught by replies in their own and in other contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.nn import functional

from apportion.foundation.arrays import Floats

WIDTH, DROPOUT, LR, WEIGHT_DECAY = 128, 0.3, 1e-3, 0.05
"""Width of both maps, dropout of their inputs, and AdamW's settings."""
BATCH, EPOCHS, PATIENCE = 256, 40, 6
LEAST_TURNS = 200
"""Training turns below which nothing is learnt."""
NEAREST = 5
"""Dialogues whose mean is nearest count as of the same task."""
OTHER, SAME_TASK = 0.77, 0.67
"""Shares of held-out pairs that what is paid shall order rightly: a little above what a user should see."""
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Tried for the weight, in standard deviations of what is paid."""
NEAR_ENOUGH = 0.02
"""Where no weight reaches both shares, the smallest is taken whose pairs are as many but for this share."""


class ContextFit(nn.Module):
    """log P(the reply belongs to this context), by how near two linear maps bring the history and the reply.

    It is near 0 for whatever fits at all, and falls without end for what does not: so it takes from a reply that talks
    of something else, and adds nothing to one that repeats its context.
    """

    scale: Tensor
    bias: Tensor
    weight: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_history, self.of_reply = nn.Linear(width, WIDTH), nn.Linear(width, WIDTH)
        for name, value in (("scale", 1.0), ("bias", 0.0), ("weight", 0.0)):
            self.register_buffer(name, torch.tensor(value))

    def nearness(self, histories: Tensor, replies: Tensor, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
        """Both maps' unit vectors [shape=(N, 128)] of contexts embeddings [shape=(N, d)] each."""
        maps = ((self.of_history, histories), (self.of_reply, replies))
        one, other = (
            functional.normalize(by(functional.dropout(functional.normalize(of, dim=1), dropout)), dim=1)
            for by, of in maps
        )
        return one, other

    def forward(self, contexts: Tensor) -> Tensor:
        """What is added to a reward [shape=(N,)], at most 0, in units of reward, of contexts [shape=(N, 3 d)]."""
        histories, replies, _ = contexts.chunk(3, dim=1)
        one, other = self.nearness(histories, replies)
        fits = functional.logsigmoid(self.scale * (one * other).sum(dim=1) + self.bias)
        return self.weight * fits * histories.any(dim=1)  # A dialogue's first turn has nothing to fit.


@dataclass(frozen=True, eq=False)
class ContrastPairs:
    """Turns (P), each with a turn of another dialogue and one of another of the same task: histories that are wrong."""

    turns: NDArray[np.int64]
    other: NDArray[np.int64]
    same_task: NDArray[np.int64]

    @classmethod
    def of(cls, contexts: Floats, rows: Sequence[NDArray[np.int64]], seed: int) -> ContrastPairs:
        """One of each kind for every turn with a history.

        - ``contexts`` (float [shape=(N, 3 d)]): `apportion.reward_model.model.RewardModel.context`.
        - ``rows``: The turns of each dialogue; of turns without history there are no pairs.
        """
        half = contexts.shape[1] // 3
        kept = [of[np.abs(contexts[of, :half]).sum(axis=1) > 0] for of in rows]
        kept = [of for of in kept if len(of)]
        if len(kept) < 2:
            return cls(*(np.zeros(0, np.int64) for _ in range(3)))
        means = np.array([(contexts[of, :half] + contexts[of, half : 2 * half]).mean(axis=0) for of in kept])
        means = means - means.mean(axis=0)
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        alike = means @ means.T
        np.fill_diagonal(alike, -np.inf)
        near = np.argsort(-alike, axis=1, kind="stable")[:, : min(NEAREST, len(kept) - 1)]
        draw = np.random.default_rng(seed)
        turns = np.concatenate(kept)
        home = np.repeat(np.arange(len(kept)), [len(of) for of in kept])
        away = (home + draw.integers(1, len(kept), len(home))) % len(kept)
        beside = near[home, draw.integers(0, near.shape[1], len(home))]
        others = [np.array([draw.choice(kept[place]) for place in places]) for places in (away, beside)]
        return cls(turns, *others)

    def sample(self, most: int, seed: int) -> ContrastPairs:
        """At most so many of them."""
        kept = np.random.default_rng(seed).permutation(len(self.turns))[:most]
        return ContrastPairs(self.turns[kept], self.other[kept], self.same_task[kept])

    def ordered(self, paid: Tensor, of_other: Tensor, of_same_task: Tensor) -> tuple[float, float]:
        """The shares of the P turns that are paid more in their own context than in the other ones."""
        return tuple(float((paid > less).float().mean()) for less in (of_other, of_same_task))  # type: ignore[return-value]


def fit_context(
    contexts: Tensor, training: Sequence[NDArray[np.int64]], validation: Sequence[NDArray[np.int64]], seed: int
) -> ContextFit | None:
    """Learn from ``training`` dialogues which replies and contexts belong together; None where there is too little.

    In each batch every reply is held against all contexts, and every context against all replies (InfoNCE; van den
    Oord et al., 2018). The epoch is kept that orders most pairs of ``validation``, on which its log odds are
    calibrated, too.

    - ``contexts`` (float32 [shape=(N, 3 d)]): `apportion.reward_model.model.RewardModel.context`.
    - ``training``, ``validation``: The turns of each dialogue.
    """
    values = contexts.numpy()
    learnt, held = (ContrastPairs.of(values, rows, seed) for rows in (training, validation))
    if len(learnt.turns) < LEAST_TURNS or not len(held.turns):
        return None
    histories, replies, _ = contexts.chunk(3, dim=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fit, sharpness = ContextFit(histories.shape[1]), nn.Parameter(torch.tensor(3.0))
        optimizer = torch.optim.AdamW([*fit.parameters(), sharpness], lr=LR, weight_decay=WEIGHT_DECAY)
        best, best_epoch, kept = -1.0, 0, {name: value.clone() for name, value in fit.state_dict().items()}
        for epoch in range(EPOCHS):
            for batch in torch.split(torch.from_numpy(learnt.turns)[torch.randperm(len(learnt.turns))], BATCH):
                one, other = fit.nearness(histories[batch], replies[batch], DROPOUT)
                odds, own = one @ other.T * sharpness.exp(), torch.arange(len(batch))
                loss = functional.cross_entropy(odds, own) + functional.cross_entropy(odds.T, own)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
            share = sum(held.ordered(*_nearness(fit, contexts, held)))
            if share > best:
                best, best_epoch = share, epoch
                kept = {name: value.clone() for name, value in fit.state_dict().items()}
            elif epoch - best_epoch >= PATIENCE:
                break
    fit.load_state_dict(kept)
    _calibrate(fit, contexts, held)
    return fit.requires_grad_(False)


@torch.inference_mode()
def _nearness(fit: ContextFit, contexts: Tensor, pairs: ContrastPairs) -> tuple[Tensor, Tensor, Tensor]:
    """How near the P replies are to their own contexts and to the two others."""
    histories, replies, _ = contexts.chunk(3, dim=1)
    one, other = fit.nearness(histories, replies)
    of = other[pairs.turns]
    own, away, beside = ((one[places] * of).sum(dim=1) for places in (pairs.turns, pairs.other, pairs.same_task))
    return own, away, beside


def _calibrate(fit: ContextFit, contexts: Tensor, pairs: ContrastPairs) -> None:
    """Log odds of belonging together, half of all examples being right: a logistic regression on nearness."""
    near = torch.cat(_nearness(fit, contexts, pairs)).double().numpy()
    right = np.where(np.arange(len(near)) < len(pairs.turns), 1.0, -1.0)
    share = np.where(right > 0, 1.0, 0.5) / len(pairs.turns)

    def loss(line: Floats) -> float:
        return float(share @ np.logaddexp(0.0, -right * (line[0] * near + line[1])))

    scale, bias = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    fit.scale.fill_(max(0.0, float(scale)))
    fit.bias.fill_(float(bias))


def weigh_context(
    fit: ContextFit, contexts: Tensor, pairs: ContrastPairs, paid: tuple[Tensor, Tensor, Tensor], sd: float
) -> tuple[float, float]:
    """Set ``fit.weight`` to the smallest one that orders enough of the pairs; returns the two shares it orders then.

    - ``paid`` (three of [shape=(P,)]): What the P turns are paid without it: in their own context, in that of another
      dialogue, and of another of the same task.
    - ``sd``: The standard deviation of what is paid, in which the weights that are tried are told.
    """
    replies = contexts[pairs.turns].chunk(3, dim=1)[1]
    histories, _, last = contexts.chunk(3, dim=1)
    places = (pairs.turns, pairs.other, pairs.same_task)
    swapped = [torch.cat([histories[at], replies, last[at]], dim=1) for at in places]
    found: list[tuple[float, tuple[float, float]]] = []
    for weight in WEIGHTS:
        fit.weight.fill_(weight * sd)
        with torch.inference_mode():
            with_it = (value + fit(of) for value, of in zip(paid, swapped, strict=True))
            found.append((weight, pairs.ordered(*with_it)))
    most = max(sum(shares) for _, shares in found)
    weight, shares = next(
        (one for one in found if one[1][0] >= OTHER and one[1][1] >= SAME_TASK),
        next(one for one in found if sum(one[1]) >= most - NEAR_ENOUGH),
    )
    fit.weight.fill_(weight * sd)
    return shares
