"""What can be had of the conceding script, found by trying everything, and what REINFORCE finds of it."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from apportion.environments.negotiation.action_encoding import SPLIT_OF, SPLITS
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.vectorized import ParetoOptima, Pools, ScriptPlayer, VectorizedGames
from apportion.rlhf.negotiation.model.network import Weights, drawn_weights
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.reinforce import Contexts, ReinforceTraining, Rewards
from apportion.rlhf.negotiation.self_play import play
from apportion.rlhf.negotiation.settings import NetworkSettings, ReinforceSettings
from tests.rlhf.negotiation.small import weights

CONTEXT = Context((1, 3, 1), ((7, 0, 3), (1, 3, 0)))
"""Taken at once, Bob's first demand leaves Alice 3 points; who makes him concede once can have all 10."""
STUBBORN = Context((1, 3, 1), ((3, 1, 4), (3, 2, 1)))
"""Bob concedes his way down to 4 points, so that Alice has 8 of who refuses him six times in a row."""
SEEDS = (0, 1, 2, 3, 4)


def best_response(context: Context, starter: int) -> int:
    """The most points that Alice can have of the conceding script, by every course of a whole game."""
    pools = Pools.of([context])
    known: dict[tuple[int, ...], int] = {}

    def best(acts: tuple[int, ...]) -> int:
        games = VectorizedGames(pools, np.array([starter]))
        bob = ScriptPlayer("conceding")
        bob.begin(games, 1)
        for act in acts:
            games.do(np.array([act]))
        while not games.over[0] and games.speakers[0] == 1:
            games.do(bob.choose(games.legal(), np.zeros(1)))
        if games.over[0]:
            left = int(games.all_of_it[0] - bob.take()[0])
            return context.worth(0, SPLIT_OF[left])
        said = tuple(int(act) for act in games.acts[0] if act >= 0)
        asked = [act % SPLITS for act in said[starter != 1 :: 2] if act < 2 * SPLITS]
        # What he will do hangs on no more than this.
        parts = (games.lengths, games.standing, games.proposer, games.settled)
        place = (*(int(part[0]) for part in parts), len(asked), asked[-1] if asked else -1)
        if place not in known:
            # To insist is to propose to this Bob, so that half of the acts need no trying.
            tried = (act for act in np.flatnonzero(games.legal()[0]) if not SPLITS <= act < 2 * SPLITS)
            known[place] = max(best((*said, int(act))) for act in tried)
        return known[place]

    return best(())


def reached(context: Context, model: Weights, settings: ReinforceSettings) -> NDArray[np.float64]:
    """Alice's points after REINFORCE, likeliest acts, a mean over both starters, by seed."""
    contexts = Contexts(Pools.of([context]), ParetoOptima.of([context]))
    bob = ScriptPlayer("conceding")
    training = ReinforceTraining(model, bob, SEEDS, contexts, settings, 1, Rewards.none(len(SEEDS)))
    for _ in training.run():
        pass
    table = VectorizedGames(Pools.of([context] * 2 * len(SEEDS)), np.tile([0, 1], len(SEEDS)))
    played = play(table, len(SEEDS), (NetworkPlayer(model, 0.0), bob), np.zeros((len(table), 20)))
    return np.asarray(played.points[:, 0].reshape(len(SEEDS), 2).mean(1))


@pytest.mark.slow
def test_reinforcement_finds_the_best_response_to_the_conceding_script() -> None:
    torch.set_num_threads(1)
    settings = ReinforceSettings(games=9600, games_per_update=32, rate=0.1, temperature=1.0)
    points = reached(CONTEXT, weights(SEEDS), settings)
    best = np.mean([best_response(CONTEXT, starter) for starter in (0, 1)])
    assert best == 10
    assert (points >= 0.95 * best).all(), points


@pytest.mark.slow
def test_it_refuses_six_times_in_a_row_where_it_begins_with_every_act_about_as_likely() -> None:
    """From the wide weights of `small` acts are unlike from the beginning, and three seeds of five stay at 7 points."""
    torch.set_num_threads(1)
    even = NetworkSettings(embedding=32, context=16, hidden=32, attention=8, selection=16, spread=0.1)
    settings = ReinforceSettings(games=16000, games_per_update=64, rate=0.1, temperature=1.0, discount=1.0)
    points = reached(STUBBORN, drawn_weights(even, SEEDS), settings)
    best = np.mean([best_response(STUBBORN, starter) for starter in (0, 1)])
    assert best == 8
    assert (points >= 0.95 * best).all(), points
