"""REINFORCE for Alice with a fixed Bob (Eq. 2), alone or with supervised updates between (RL+SL, section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.environments.negotiation.vectorized import IntArray, ParetoOptima, Pools, VectorizedGames
from apportion.rlhf.negotiation.checkpoint import Tensors, number, with_prefix, without_prefix
from apportion.rlhf.negotiation.data.dialogues import OWN, Dialogues
from apportion.rlhf.negotiation.model.losses import dropout, likelihood_loss, policy_loss
from apportion.rlhf.negotiation.model.network import Weights, acting
from apportion.rlhf.negotiation.model.optimizer import BatchedSGD
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.rng import chances, draws_of, torch_draws_of
from apportion.rlhf.negotiation.self_play import Played, Player, play
from apportion.rlhf.negotiation.settings import MixedSettings, ReinforceSettings, SupervisedSettings
from apportion.rlhf.negotiation.supervised import Examples

FloatArray = NDArray[np.float64]
LEAST_SPREAD = 1e-4
MOST_POINTS = 10


@dataclass
class Rewards:
    """The rewards of completed negotiations so far, of S seeds: their number, mean and squared distances from it."""

    count: int
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def none(cls, seeds: int) -> Rewards:
        """Before the first game."""
        return cls(0, np.zeros(seeds), np.zeros(seeds))

    def add(self, rewards: FloatArray) -> None:
        """One more game of every seed [shape=(S,)]."""
        self.count += 1
        apart = rewards - self.mean
        self.mean = self.mean + apart / self.count
        self.squares = self.squares + apart * (rewards - self.mean)

    @property
    def spread(self) -> FloatArray:
        """Their standard deviation [shape=(S,)]."""
        return np.sqrt(self.squares / max(1, self.count))


def advantages(rewards: FloatArray, so_far: Rewards, normalised: bool) -> FloatArray:
    """r_A - mu_n of new games [shape=(S, G)], which count among the completed ones; ``so_far`` goes on.

    ``normalised`` divides by the standard deviation so far.
    """
    for column in rewards.T:
        so_far.add(column)
    centred = rewards - so_far.mean[:, None]
    return centred / np.maximum(LEAST_SPREAD, so_far.spread)[:, None] if normalised else centred


def rewards_of(played: Played, kind: str, optima: ParetoOptima | None) -> FloatArray:
    """What Alice is paid for each game [shape=(S, G)]: her points, also with 1 for a Pareto-optimal deal (7.3).

    ``taken`` is the reference code's: the worth of what she takes, also where no deal comes of it.
    """
    points = played.points[:, 0].astype(np.float64)
    if kind == "taken":
        points = played.games.pools.worth(0, played.taken[:, 0]).astype(np.float64)
    elif kind != "points":
        assert optima is not None, "Pareto-optimal deals are looked up"
        best = played.agreed & optima.pareto[np.arange(len(points)), played.taken[:, 0]]
        points = (points if kind == "points+pareto" else points / MOST_POINTS) + best
    return points.reshape(played.seeds, -1)


def act_returns(dialogues: Dialogues, advantage: FloatArray, discount: float) -> FloatArray:
    """Eq. 2: the return of each of Alice's acts [shape=(S, G, T)], 0 for the other's; ``advantage`` is r_A - mu_n.

    The exponent T - t counts all acts from act t to the last, both sides', ``end`` among them.
    """
    lengths = dialogues.lengths
    left = lengths[..., None] - 1 - np.arange(dialogues.acts.shape[-1])
    own = (left >= 0) & (dialogues.roles == OWN)
    return np.where(own, discount ** np.maximum(left, 0) * advantage[..., None], 0.0)  # Eq. 2


@dataclass(frozen=True)
class Contexts:
    """What is played about, the same for every seed, in an order of its own for each.

    ``pools``: N contexts. ``optima``: What their deals could have come to.
    """

    pools: Pools
    optima: ParetoOptima

    def __len__(self) -> int:
        return len(self.pools)


@dataclass
class ReinforceTraining:
    """One epoch of N games by REINFORCE, which can be stopped after any update and gone on with.

    ``weights`` are Alice's. Kept are they, ``done``, ``rewards`` and what was played: ``acts`` [shape=(S, N, 20)],
    ``starters`` and ``rows`` (which context) [shape=(S, N)].
    """

    weights: Weights
    bob: Player
    seeds: tuple[int, ...]
    contexts: Contexts
    settings: ReinforceSettings
    epoch: int
    rewards: Rewards
    mixed: tuple[MixedSettings, Examples, SupervisedSettings, float] | None = None
    done: int = 0
    acts: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.alice = NetworkPlayer(self.weights, 0.0 if self.settings.greedy else self.settings.temperature)
        self.optimizer = BatchedSGD(
            self.weights, self.seeds, only=[name for name in sorted(self.weights) if acting(name)]
        )
        self.supervised_optimizer = BatchedSGD(self.weights, self.seeds)
        shape = (len(self.seeds), self.settings.games)
        self.acts = np.full((*shape, 20), -1, dtype=np.int64)
        orders, starters = [], []
        for seed in self.seeds:
            draws = draws_of(seed, "games", self.epoch)
            whole = -(-shape[1] // len(self.contexts))
            orders.append(np.concatenate([draws.permutation(len(self.contexts)) for _ in range(whole)])[: shape[1]])
            starters.append(draws.integers(0, 2, shape[1]))
        self.rows, self.starters = np.stack(orders), np.stack(starters)
        self._chances = chances(self.seeds, shape[1], 20, "acts", self.epoch).reshape(*shape, 20)

    def run(self) -> Iterator[int]:
        """Train on; gives how many games of each seed are played, after every update."""
        while self.done < self.settings.games:
            until = min(self.done + self.settings.games_per_update, self.settings.games)
            self.update(self.done, until)
            if self.mixed is not None:
                after = self.mixed[0].after
                for count in range(self.done // after, until // after):
                    self._supervised(count)
            self.done = until
            yield self.done

    def update(self, first: int, until: int) -> None:
        """Play the games from ``first`` to before ``until`` and learn from them."""
        settings, seeds = self.settings, len(self.seeds)
        rows = self.rows[:, first:until].ravel()
        games = VectorizedGames(self.contexts.pools.chosen(rows), self.starters[:, first:until].ravel())
        draws = self._chances[:, first:until].reshape(-1, 20)
        played = play(games, seeds, (self.alice, self.bob), draws)
        self.acts[:, first:until] = games.acts.reshape(seeds, -1, 20)
        rewards = rewards_of(played, settings.reward, self.contexts.optima.chosen(rows))
        dialogues = played.seen_by(0).cut()
        returns = act_returns(dialogues, advantages(rewards, self.rewards, settings.normalised), settings.discount)
        legal = games.replayed(games.acts)[1].reshape(*dialogues.counts.shape[:2], games.most_acts, -1)
        self.optimizer.step(
            lambda: policy_loss(self.weights, dialogues, legal, returns, settings.temperature),
            settings.rate,
            settings.clip,
            f"reinforcement, epoch {self.epoch}, game {first}",
        )

    def _supervised(self, count: int) -> None:
        assert self.mixed is not None
        settings, examples, supervised, share = self.mixed
        size = min(supervised.batch, examples.size)
        picked = np.stack(
            [draws_of(s, "between", self.epoch, count).integers(0, examples.size, size) for s in self.seeds]
        )
        batch, drop = examples.batch(picked), dropout(share, torch_draws_of(self.seeds, "between", self.epoch, count))
        self.supervised_optimizer.step(
            lambda: likelihood_loss(self.weights, batch, supervised.alpha, drop),
            settings.rate,
            settings.clip,
            f"supervised between, epoch {self.epoch}, update {count}",
        )

    @property
    def total(self) -> int:
        """Games of each seed in all."""
        return self.settings.games

    def played(self) -> VectorizedGames:
        """The games of the epoch, done again by their acts, of all seeds [shape=(S * N,)]."""
        games = VectorizedGames(self.contexts.pools.chosen(self.rows.ravel()), self.starters.ravel())
        return games.replayed(self.acts.reshape(-1, games.most_acts))[0]

    def state(self) -> Tensors:
        """Weights, what was played, the rewards so far and how far it is."""
        return {
            **with_prefix("weights", self.weights),
            "acts": torch.from_numpy(self.acts.astype(np.int16)),
            "mean": torch.from_numpy(self.rewards.mean),
            "squares": torch.from_numpy(self.rewards.squares),
            "count": number(self.rewards.count),
            "done": number(self.done),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state."""
        for name, tensor in without_prefix("weights", state).items():
            self.weights[name].copy_(tensor)
        self.acts = state["acts"].numpy().astype(np.int64)
        self.rewards = Rewards(int(state["count"]), state["mean"].numpy().copy(), state["squares"].numpy().copy())
        self.done = int(state["done"])
