"""Whether a reply fits what was said before it: two maps, taught by replies in their own and in other contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
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
DIALOGUES_AT_ONCE = 4096
"""Held against all others together."""
BOUNDS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Tried for the bound: the quantile of how near held-out replies are to their own histories, below which it costs."""
COST = 0.2
"""The variance of what replies lose in their own contexts, to that of what they are paid without it."""
HIGHEST = 0.1
"""The share of the turns whose replies, worth the most where they were said, tempt a policy to say them elsewhere."""


class ContextFit(nn.Module):
    """What a reply loses that does not fit its context, by how near two linear maps bring the history and the reply.

    Nothing above ``bound``, where nearly all replies are that people gave; below it, so much the more the less it fits.
    So it takes from a reply that talks of something else, adds nothing to one that repeats its context, and orders no
    replies that fit.
    """

    bound: Tensor
    weight: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_history, self.of_reply = nn.Linear(2 * width, WIDTH), nn.Linear(width, WIDTH)
        for name in ("bound", "weight"):
            self.register_buffer(name, torch.tensor(0.0))

    def maps(self, contexts: Tensor, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
        """Unit vectors [shape=(N, 128)] of what came before (history and last turn) and of the replies, out of contexts
        [shape=(N, 3 d)]."""
        history, reply, last = (
            functional.dropout(functional.normalize(of, dim=1), dropout) for of in contexts.chunk(3, dim=1)
        )
        before = self.of_history(torch.cat([history, last], dim=1))
        return functional.normalize(before, dim=1), functional.normalize(self.of_reply(reply), dim=1)

    def nearness(self, contexts: Tensor) -> Tensor:
        """The cosine of both maps [shape=(N,)] of contexts [shape=(N, 3 d)]."""
        before, reply = self.maps(contexts)
        return (before * reply).sum(dim=1)

    def forward(self, contexts: Tensor) -> Tensor:
        """What is added to a reward [shape=(N,)], at most 0, in units of reward, of contexts [shape=(N, 3 d)]."""
        lost = self.weight * (self.nearness(contexts) - self.bound).clamp(max=0)
        return lost * contexts.chunk(3, dim=1)[0].any(dim=1)  # A dialogue's first turn has nothing to fit.


@dataclass(frozen=True, eq=False)
class ContrastPairs:
    """Turns (P), each with turns whose histories are wrong for its reply: one of another dialogue, one of another of
    the same task, and one of its own dialogue (the user's turns are shuffled; itself where there is no other).
    ``dialogue``: Which dialogue each is of."""

    turns: NDArray[np.int64]
    other: NDArray[np.int64]
    same_task: NDArray[np.int64]
    shuffled: NDArray[np.int64]
    dialogue: NDArray[np.int64]

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
            return cls(*(np.zeros(0, np.int64) for _ in range(5)))
        means = np.array([(contexts[of, :half] + contexts[of, half : 2 * half]).mean(axis=0) for of in kept])
        means = means - means.mean(axis=0)
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        near = np.concatenate([_nearest(means, start) for start in range(0, len(kept), DIALOGUES_AT_ONCE)])
        draw = np.random.default_rng(seed)
        turns = np.concatenate(kept)
        home = np.repeat(np.arange(len(kept)), [len(of) for of in kept])
        away = (home + draw.integers(1, len(kept), len(home))) % len(kept)
        beside = near[home, draw.integers(0, near.shape[1], len(home))]
        other, same_task = (np.array([draw.choice(kept[place]) for place in places]) for places in (away, beside))
        shuffled = [np.roll(of, draw.integers(1, len(of))) if len(of) > 1 else of for of in kept]
        return cls(turns, other, same_task, np.concatenate(shuffled), home)

    def sample(self, most: int, seed: int) -> ContrastPairs:
        """At most so many of them."""
        kept = np.random.default_rng(seed).permutation(len(self.turns))[:most]
        return ContrastPairs(*(of[kept] for of in vars(self).values()))

    def tempting(self, paid: Tensor, seed: int) -> NDArray[np.int64]:
        """For each of the P turns the reply of another dialogue's that is ``paid`` [shape=(P,)] among the highest."""
        best = np.flatnonzero((paid >= paid.quantile(1 - HIGHEST)).numpy())
        draw = np.random.default_rng(seed)
        away = {home: best[self.dialogue[best] != home] for home in np.unique(self.dialogue)}
        return np.array(
            [
                self.turns[draw.choice(away[home])] if len(away[home]) else own
                for home, own in zip(self.dialogue, self.turns, strict=True)
            ]
        )


def _nearest(means: Floats, start: int) -> NDArray[np.int64]:
    """The dialogues whose ``means`` [shape=(S, F)] are nearest to each of `DIALOGUES_AT_ONCE` from ``start`` on."""
    some = means[start : start + DIALOGUES_AT_ONCE]
    alike = some @ means.T
    np.fill_diagonal(alike[:, start:], -np.inf)
    return np.argsort(-alike, axis=1, kind="stable")[:, : min(NEAREST, len(means) - 1)]


Case = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Replies (P turns) and the turns (P) in whose places they are."""


class Replies(NamedTuple):
    """Replies (P turns) at the places of turns (P), and what they are ``paid`` there without the fit [shape=(P,)]."""

    said: NDArray[np.int64]
    at: NDArray[np.int64]
    paid: Tensor

    def contexts(self, contexts: Tensor) -> Tensor:
        """What is read of them [shape=(P, 3 d)], out of that of all turns."""
        return replies_at(contexts, self.said, self.at)


def replies_at(contexts: Tensor, said: NDArray[np.int64], at: NDArray[np.int64]) -> Tensor:
    """What is read of replies ``said`` (P turns) in the places of turns (P) [shape=(P, 3 d)], out of that of all."""
    histories, _, last = contexts[at].chunk(3, dim=1)
    return torch.cat([histories, contexts[said].chunk(3, dim=1)[1], last], dim=1)


def fit_context(
    contexts: Tensor, training: Sequence[NDArray[np.int64]], validation: Sequence[NDArray[np.int64]], seed: int
) -> ContextFit | None:
    """Learn from ``training`` dialogues which replies and contexts belong together; None where there is too little.

    - ``contexts`` (float32 [shape=(N, 3 d)]): `apportion.reward_model.model.RewardModel.context`.
    - ``training``, ``validation``: The turns of each dialogue.
    """
    values = contexts.numpy()
    learnt, held = (ContrastPairs.of(values, rows, seed) for rows in (training, validation))
    if len(learnt.turns) < LEAST_TURNS or not len(held.turns):
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fit = ContextFit(contexts.shape[1] // 3)
        cases = [(held.turns, at) for at in (held.turns, held.other, held.same_task)]
        teach(fit, contexts, learnt.turns, cases)
    return fit


def teach(
    fit: ContextFit,
    contexts: Tensor,
    learnt: NDArray[np.int64],
    held: Sequence[Case],
    own: NDArray[np.int64] | None = None,
) -> None:
    """Teach ``fit`` by the turns ``learnt`` which replies and contexts belong together, from the weights that it has.

    In each batch every reply is held against all contexts, and every context against all replies (InfoNCE; van den
    Oord et al., 2018). The weights, those at the start among them, are kept that order most of ``held``. Random numbers
    are torch's.

    - ``held``: People's replies where they were said, then their rivals; P held-out turns each.
    - ``own``: Turns whose replies a policy gave. The half of the contexts that are least like what such a reply
      answered are held against it, too. It never counts as one that fits, not even where it was said: a gamed reply
      would teach that it belongs there.
    """
    sharpness = nn.Parameter(torch.tensor(3.0))
    fit.requires_grad_(True)
    optimizer = torch.optim.AdamW([*fit.parameters(), sharpness], lr=LR, weight_decay=WEIGHT_DECAY)
    best, best_epoch, kept = _ordered(fit, contexts, held), 0, _copied(fit)
    for epoch in range(EPOCHS):
        for batch in torch.split(torch.from_numpy(learnt)[torch.randperm(len(learnt))], BATCH):
            before, reply = fit.maps(contexts[batch], DROPOUT)
            odds, at_home = before @ reply.T * sharpness.exp(), torch.arange(len(batch))
            rivals = odds
            if own is not None:
                drawn = contexts[torch.from_numpy(own)[torch.randint(len(own), (BATCH,))]]
                near = before @ fit.maps(drawn, DROPOUT)[1].T * sharpness.exp()
                rivals = torch.cat([odds, near.masked_fill(_alike(contexts[batch], drawn), -math.inf)], dim=1)
            loss = functional.cross_entropy(rivals, at_home) + functional.cross_entropy(odds.T, at_home)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
        if (share := _ordered(fit, contexts, held)) > best:
            best, best_epoch, kept = share, epoch, _copied(fit)
        elif epoch - best_epoch >= PATIENCE:
            break
    fit.load_state_dict(kept)
    fit.requires_grad_(False)


def _copied(fit: ContextFit) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in fit.state_dict().items()}


def _alike(contexts: Tensor, own: Tensor) -> Tensor:
    """Which half of the ``contexts`` [shape=(B, 3 d)] has the histories most like those of ``own`` (M); bool (B, M)."""
    histories, answered = (of.chunk(3, dim=1)[0] for of in (contexts, own))
    mean = histories.mean(dim=0)
    near = functional.normalize(histories - mean, dim=1) @ functional.normalize(answered - mean, dim=1).T
    return near >= near.median(dim=0).values


@torch.inference_mode()
def _ordered(fit: ContextFit, contexts: Tensor, held: Sequence[Case]) -> float:
    """How many of the first of ``held`` are nearer to their histories than each of the others."""
    own, *wrong = (fit.nearness(replies_at(contexts, *case)) for case in held)
    return sum(float((own > less).float().mean()) for less in wrong)


@torch.inference_mode()
def weigh_context(
    fit: ContextFit, contexts: Tensor, held: NDArray[np.int64], own: Replies, rivals: Sequence[Replies]
) -> list[float]:
    """Set ``fit.bound`` and ``fit.weight``; returns the shares of ``rivals`` that are paid less than ``own``; NaN where
    all of a kind are the same reply in the same place, which there is no other of.

    Each bound goes with the weight at which replies in their own contexts lose what `COST` allows; the one that orders
    most rivals is taken. What no reply that people gave loses, no agreement with people is lost for.

    - ``held``: Held-out turns with a history. ``own``: P of them, as they were said.
    - ``rivals``: The same replies in wrong places, or others in their places, P each.
    """
    near = fit.nearness(contexts[held])
    nears = [fit.nearness(replies.contexts(contexts)) for replies in (own, *rivals)]
    most, best, shares = -1.0, (0.0, 0.0), [0.0] * len(rivals)
    for bound in torch.quantile(near, near.new_tensor(BOUNDS)):
        spread = float((near - bound).clamp(max=0).std())
        weight = COST**0.5 * float(own.paid.std()) / spread if spread else 0.0
        lost = [weight * (of - bound).clamp(max=0) for of in nears]
        ordered = [
            float((own.paid + lost[0] > one.paid + less)[(own.said != one.said) | (own.at != one.at)].float().mean())
            for one, less in zip(rivals, lost[1:], strict=True)
        ]
        if (found := sum(share for share in ordered if share == share)) > most:
            most, best, shares = found, (float(bound), weight), ordered
    fit.bound.fill_(best[0])
    fit.weight.fill_(best[1])
    return shares
