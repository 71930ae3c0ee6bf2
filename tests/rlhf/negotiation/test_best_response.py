"""What can be had of the conceding script, found by trying everything, and what REINFORCE finds of it."""

from functools import cache

import numpy as np
import pytest
import torch

from environments.negotiation.batched.engine import BatchedGames, Optima, Pools
from environments.negotiation.batched.scripts import Asker, seated
from environments.negotiation.codes import SPLIT_OF, SPLITS
from environments.negotiation.contexts import Context
from rlhf.negotiation.experts import ScriptPlayer
from rlhf.negotiation.model.player import NetworkPlayer
from rlhf.negotiation.playing import play
from rlhf.negotiation.reinforce import Contexts, ReinforceTraining, Rewards
from rlhf.negotiation.settings import ReinforceSettings
from tests.rlhf.negotiation.small import weights

CONTEXT = Context((1, 3, 1), ((7, 0, 3), (1, 3, 0)))
"""Taken at once, Bob's first demand leaves Alice 3 points; who makes him concede once can have all 10."""
SEEDS = (0, 1, 2, 3, 4)
DEPTH = 6


def best_response(context: Context, starter: int, depth: int) -> int:
    """The most points that Alice can have of the conceding script in so many acts, by every course of the game."""
    pools = Pools.of([context])

    @cache
    def best(acts: tuple[int, ...]) -> int:
        games = BatchedGames(pools, np.array([starter]), depth)
        bob = seated("conceding", games, 1)
        assert isinstance(bob, Asker)
        for act in acts:
            games.do(np.array([act]))
        while not games.over[0] and games.speakers[0] == 1:
            games.do(bob.acts(np.array([0])))
        if games.over[0]:
            left = int(games.all_of_it[0] - bob.take()[0])
            return context.worth(0, SPLIT_OF[left])
        said = tuple(int(act) for act in games.acts[0] if act >= 0)
        # To insist is to propose to this Bob, so that half of the acts need no trying.
        return max(
            best((*said, int(act))) for act in np.flatnonzero(games.legal()[0]) if not SPLITS <= act < 2 * SPLITS
        )

    return best(())


@pytest.mark.slow
def test_reinforcement_finds_the_best_response_to_the_conceding_script() -> None:
    torch.set_num_threads(1)
    best = np.mean([best_response(CONTEXT, starter, DEPTH) for starter in (0, 1)])
    model = weights(SEEDS)
    settings = ReinforceSettings(games=9600, games_per_update=32, rate=0.1, temperature=1.0)
    contexts = Contexts(Pools.of([CONTEXT]), Optima.of([CONTEXT]))
    training = ReinforceTraining(
        model, ScriptPlayer("conceding"), SEEDS, contexts, settings, 1, Rewards.none(len(SEEDS))
    )
    for _ in training.run():
        pass
    table = BatchedGames(Pools.of([CONTEXT] * 2 * len(SEEDS)), np.tile([0, 1], len(SEEDS)))
    players = NetworkPlayer(model, 0.0), ScriptPlayer("conceding")
    played = play(table, len(SEEDS), players, np.zeros((len(table), 20)))
    points = played.points[:, 0].reshape(len(SEEDS), 2).mean(1)
    assert best == 10
    assert (points >= 0.95 * best).all(), points
