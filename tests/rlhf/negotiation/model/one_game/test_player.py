"""One game a seed, compiled, beside the same games, gradients and steps in batched products with autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from apportion.environments.negotiation.vectorized.engine import NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.datasets import drawn_contexts
from apportion.rlhf.negotiation.model.network import Weights, acting
from apportion.rlhf.negotiation.model.one_game.acting import chosen
from apportion.rlhf.negotiation.model.one_game.player import OneGamePlayer, play_one_game
from apportion.rlhf.negotiation.model.one_game.rules import Table
from apportion.rlhf.negotiation.model.optimizer import BatchedSGD
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.reinforce import act_rewards, policy_loss
from apportion.rlhf.negotiation.rng import chances
from apportion.rlhf.negotiation.self_play import Played, play, settled_split
from tests.rlhf.negotiation.small import tables, weights

SEEDS, OTHERS = (0, 1, 2, 3), (4, 5, 6, 7)
GAMES, RATE, CLIP, TEMPERATURE = 25, 0.3, 0.8, 0.5
Floats = NDArray[np.float64]


def table(number: int) -> VectorizedGames:
    return tables(drawn_contexts(GAMES, "one game")[number : number + 1], SEEDS)


def draws(number: int) -> Floats:
    return chances(SEEDS, 1, 20, "one game", number)


def paid(played: Played, number: int) -> Floats:
    above = np.random.default_rng(number).normal(size=(len(SEEDS), 1))
    return act_rewards(played.seen_by(0), above, 0.95)


def learned_in_products(model: Weights, played: Played, given: Floats) -> None:
    dialogues = played.seen_by(0)
    assert played.legal is not None
    legal = played.legal.reshape(len(SEEDS), 1, 20, -1)
    descent = BatchedSGD(model, SEEDS, only=[name for name in sorted(model) if acting(name)])
    descent.step(lambda: policy_loss(model, dialogues, legal, given, TEMPERATURE), RATE, CLIP, "a test")


@pytest.mark.parametrize("temperature", [0.0, TEMPERATURE])
def test_games_and_learning_are_those_of_batched_products(temperature: float) -> None:
    model, bob = weights(SEEDS), weights(OTHERS)
    same = {name: one.clone() for name, one in model.items()}
    alice, fast_bob = OneGamePlayer(model, temperature), OneGamePlayer(bob, temperature, lasting=True)
    lengths, open_at_the_end = set(), 0
    for number in range(GAMES):
        fast = play_one_game(table(number), alice, fast_bob, draws(number))
        before = {name: one.clone() for name, one in model.items()}
        found = alice.learn(fast.games, paid(fast, number)[:, 0], TEMPERATURE, RATE, CLIP)
        players = NetworkPlayer(same, temperature), NetworkPlayer(bob, temperature)
        slow = play(table(number), len(SEEDS), players, draws(number), with_legal=True)
        learned_in_products(same, slow, paid(slow, number))
        assert (fast.taken == slow.taken).all()
        for name in Table._fields[:-1]:
            assert (getattr(fast.games, name) == getattr(slow.games, name)).all(), name
        moved = sum((model[name] - before[name]).double().flatten(1).pow(2).sum(1) for name in model)
        assert torch.sqrt(torch.as_tensor(moved)).numpy() == pytest.approx(RATE * np.minimum(CLIP, found), rel=1e-3)
        for name in model:
            assert torch.allclose(model[name], same[name], rtol=0, atol=2e-5), name
            same[name].copy_(model[name])  # So that roundings do not grow into another game.
        lengths |= set(fast.games.lengths.tolist())
        open_at_the_end += int((settled_split(fast.games, 0) == NO_ACT).sum())
    assert len(lengths) > 2 and (temperature == 0 or len(lengths) > 4 < open_at_the_end), "games of every kind"


def test_a_lasting_player_makes_its_embeddings_once_and_another_anew() -> None:
    for lasting in (True, False):
        model = weights(SEEDS)
        player, bob = OneGamePlayer(model, 1.0, lasting), OneGamePlayer(weights(OTHERS), 1.0)
        first = play_one_game(table(0), player, bob, draws(0)).games.acts
        for one in model.values():
            one.mul_(0.25)
        acts = play_one_game(table(0), player, bob, draws(0)).games.acts
        plain = play_one_game(table(0), OneGamePlayer(model, 1.0), bob, draws(0)).games.acts
        assert (acts == plain).all() != lasting and (first != plain).any()


def test_a_gradient_that_is_not_finite_is_told_and_leaves_its_seed_alone() -> None:
    model = weights(SEEDS)
    alice, bob = OneGamePlayer(model, 1.0), OneGamePlayer(weights(OTHERS), 1.0)
    played = play_one_game(table(0), alice, bob, draws(0))
    given = paid(played, 0)[:, 0]
    given[2] = np.where(given[2] == 0, 0, np.inf)
    before = {name: one.clone() for name, one in model.items()}
    found = alice.learn(played.games, given, TEMPERATURE, RATE, CLIP)
    assert np.isfinite(found[:2]).all() and not np.isfinite(found[2])
    assert all(torch.equal(model[name][2:], before[name][2:]) for name in model)
    assert not torch.equal(model["act"][:2], before["act"][:2])


def test_other_games_are_refused() -> None:
    player = OneGamePlayer(weights(SEEDS), 1.0)
    several = tables(drawn_contexts(2, "one game"), SEEDS)
    longer = VectorizedGames(table(0).pools, table(0).starters, 21)
    for games in (several, longer):
        with pytest.raises(ValueError, match="one game a seed, of at most 20 acts"):
            play_one_game(games, player, player, np.zeros((len(games), 20)))
    with pytest.raises(ValueError, match="Alice has 4 seeds, Bob 1; give both as many"):
        play_one_game(table(0), player, OneGamePlayer(weights((7,)), 1.0), draws(0))
    played = play_one_game(table(0), player, player, draws(0)).games
    for games, given in ((table(0), draws(0)[:, :1]), (played, draws(0))):
        with pytest.raises(ValueError, match=r"for 4 games, \d of them begun: give 20 draws a game"):
            play_one_game(games, player, player, given)


def test_an_act_without_a_chance_is_never_drawn() -> None:
    rng = np.random.default_rng(1)
    legal, room = np.ones(253, dtype=np.bool_), np.empty(253, dtype=np.float32)
    for _ in range(300):
        scores = np.full(253, -200, dtype=np.float32)
        likely = rng.permutation(253)[:5]
        scores[likely] = rng.normal(size=5)
        assert chosen(scores, legal, np.float32(0.5), 1 - 2.0**-53, room) in likely
