"""How new a negotiation is to Bob: the four acquisition functions of section 5 and appendix C.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from apportion.environments.negotiation.vectorized import NO_ACT, IntArray, VectorizedGames
from apportion.foundation.errors import InputError
from apportion.rlhf.negotiation.data.dialogues import OWN
from apportion.rlhf.negotiation.model.network import NEVER, Weights, act_logits, encode, masked_logprobs
from apportion.rlhf.negotiation.rng import draws_of
from apportion.rlhf.negotiation.self_play import seen
from apportion.rlhf.negotiation.settings import Novelty

FloatArray = NDArray[np.float64]
AT_ONCE = 512
"""Dialogues of a seed that are read together, which bounds the memory."""


@dataclass(frozen=True)
class GameLogprobs:
    """What a network thinks of the acts of dialogues, in the place of the one who sees them.

    ``said`` float64 [S, G, T]: Log probability of each act. ``entropy`` float64 [S, G, T]: Of the distribution over
    what was allowed, in nats. ``margin`` float64 [S, G, T]: Between the two likeliest acts, in probability. ``own``
    bool [S, G, T]: Which acts are one's own; the others' numbers say nothing.
    """

    said: FloatArray
    entropy: FloatArray
    margin: FloatArray
    own: NDArray[np.bool_]


@torch.no_grad()
def likely(weights: Weights, games: VectorizedGames, seeds: int) -> GameLogprobs:
    """Read games from Alice's seat, in her context, as ``weights`` (Bob's) would play there.

    Only acts that the rules allow have a share in the probability, as when Bob plays.
    """
    dialogues = seen(games, 0).by_seed(seeds)
    legal = games.replayed(games.acts)[1].reshape(*dialogues.acts.shape, -1)
    parts = []
    for first in range(0, dialogues.acts.shape[1], AT_ONCE):
        part = dialogues.chosen(np.s_[:, first : first + AT_ONCE])
        encoding = encode(weights, part)
        logits = act_logits(weights, encoding.table, encoding.states[:, :, :-1])
        parts.append(_of_logits(logits, legal[:, first : first + AT_ONCE], part.acts))
    own = (dialogues.roles == OWN) & (dialogues.acts != NO_ACT)
    said, entropy, margin = (np.concatenate([part[place] for part in parts], axis=1) for place in range(3))
    return GameLogprobs(said, entropy, margin, own)


def _of_logits(
    logits: torch.Tensor, legal: NDArray[np.bool_], acts: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log probability of the acts, entropy and margin, from logits of all acts [shape=(..., 253)]."""
    logs = masked_logprobs(logits, torch.from_numpy(legal)).double()
    shares = logs.exp()
    said = torch.gather(logs, -1, torch.from_numpy(acts).clamp(min=0)[..., None])[..., 0]
    entropy = -(shares * logs.clamp(min=NEVER / 1e6)).sum(-1)
    best = shares.topk(2, dim=-1).values
    return said.numpy(), entropy.numpy(), (best[..., 0] - best[..., 1]).numpy()


@dataclass(frozen=True)
class Scores:
    """How new games are, the newest having the smallest score, and at which act.

    ``score`` float64 [S, G]: s_n; the entropy's has its sign turned, so that small is new for all four. ``turn`` int64
    [S, G]: The act that decides it, one of Alice's; -1 where she said nothing.
    """

    score: FloatArray
    turn: IntArray

    def most_novel(self, count: int) -> IntArray:
        """The games with the smallest scores, newest first [shape=(S, count)]; only those in which Alice acted.

        Raises InputError: There are fewer.
        """
        acted = self.turn >= 0
        fewest = int(acted.sum(1).min())
        if count > fewest:
            raise InputError(
                f"acquisition.asked = {count}: only {fewest} of the {self.score.shape[1]} games played have an act of "
                "Alice's; in another output, ask about fewer, or play more (reinforce.games)"
            )
        return np.argsort(np.where(acted, self.score, np.inf), axis=1, kind="stable")[:, :count]


def scores(kind: Novelty, of: GameLogprobs, seeds: tuple[int, ...], epoch: int) -> Scores:
    """s_n of every game by one of the four functions.

    Likelihood: min over Alice's acts of log p. Entropy: max of the entropy. Margin: min of the difference between the
    two likeliest acts. Random: a number in [0, 1), and one of her acts, each with the same chance.
    """
    if kind == "random":
        by_act = np.stack([draws_of(seed, "novelty", epoch).random(of.said.shape[1:]) for seed in seeds])
    else:
        by_act = {"likelihood": of.said, "entropy": -of.entropy, "margin": of.margin}[kind]
    inside = np.where(of.own, by_act, np.inf)
    turn = np.where(of.own.any(-1), inside.argmin(-1), -1)
    score = inside.min(-1)
    if kind == "random":
        score = np.stack([draws_of(seed, "novelty of games", epoch).random(score.shape[1]) for seed in seeds])
    return Scores(score, turn)
