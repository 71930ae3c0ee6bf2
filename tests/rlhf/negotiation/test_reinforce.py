import numpy as np
import pytest
import torch

from apportion.environments.negotiation.action_encoding import END, split_code
from apportion.environments.negotiation.vectorized import ParetoOptima, Pools, ScriptPlayer, VectorizedGames
from apportion.rlhf.negotiation.model.losses import policy_loss
from apportion.rlhf.negotiation.model.network import Weights, act_logits, acting, encode, masked_logprobs
from apportion.rlhf.negotiation.model.player import NetworkPlayer
from apportion.rlhf.negotiation.reinforce import act_returns, rewards_of
from apportion.rlhf.negotiation.self_play import Played, play, seen
from tests.rlhf.negotiation.small import CONTEXT, weights

FIRST = split_code((1, 1, 0))
TEMPERATURE = 0.7


def test_a_pareto_optimal_deal_is_paid_besides_points() -> None:
    pools = Pools.of([CONTEXT] * 3)
    games = VectorizedGames(pools, np.zeros(3, dtype=np.int64))
    games.do(np.full(3, FIRST))
    games.do(np.full(3, END))
    whole = int(games.all_of_it[0])
    taken = np.array([[split_code((1, 0, 1)), whole - split_code((1, 0, 1))], [0, whole], [0, 0]])
    played = Played(games, 1, taken, games.points(taken))
    optima = ParetoOptima.of([CONTEXT] * 3)
    best = [float(optima.pareto[0, int(deal)]) for deal in taken[:2, 0]] + [0.0]  # Of no deal nothing is best.
    points = played.points[:, 0]
    assert rewards_of(played, "points", None)[0].tolist() == points.tolist()
    assert rewards_of(played, "points+pareto", optima)[0].tolist() == (points + best).tolist()
    assert rewards_of(played, "normalised+pareto", optima)[0].tolist() == pytest.approx((points / 10 + best).tolist())


def test_the_reference_code_pays_what_is_taken_although_no_deal_comes_of_it() -> None:
    games = VectorizedGames(Pools.of([CONTEXT] * 2), np.zeros(2, dtype=np.int64))
    games.do(np.full(2, FIRST))
    games.do(np.full(2, END))
    own, whole = split_code((1, 0, 1)), int(games.all_of_it[0])
    taken = np.array([[own, whole - own], [own, whole]])
    played = Played(games, 1, taken, games.points(taken))
    assert rewards_of(played, "points", None).tolist() == [[3 + 4, 0]]
    assert rewards_of(played, "taken", None).tolist() == [[3 + 4, 3 + 4]]


def test_the_mean_gradient_equals_the_exact_one_of_an_enumerable_game() -> None:
    """Alice opens, a fair Bob answers, she says the last of three acts: every course of it can be told in advance."""
    model = weights()
    exact = _gradient_of_expected_points(model)
    copies, games = 400, 25
    many = {name: one.repeat(copies, *[1] * (one.dim() - 1)) for name, one in model.items()}
    table = VectorizedGames(Pools.of([CONTEXT] * copies * games), np.zeros(copies * games, dtype=np.int64), 3)
    draws = np.random.default_rng(5).random((len(table), 3))
    alice = NetworkPlayer(many, TEMPERATURE)
    played = play(table, copies, (alice, ScriptPlayer("fair")), draws)
    dialogues = played.seen_by(0)
    paid = act_returns(dialogues, played.points[:, 0].reshape(copies, games).astype(np.float64), 1.0)
    legal = table.replayed(table.acts)[1].reshape(copies, games, 3, -1)
    names = [name for name in sorted(many) if acting(name)]
    for name in names:
        many[name].requires_grad_(True)
    loss = policy_loss(many, dialogues, legal, paid, TEMPERATURE)
    sampled = torch.autograd.grad(-loss.sum(), [many[name] for name in names])
    rng = torch.Generator().manual_seed(3)
    flat = torch.cat([one.flatten(1) for one in sampled], dim=1).double()
    whole = torch.cat([exact[name].flatten() for name in names]).double()
    assert whole.norm() > 0.1
    for direction in (whole, *(torch.randn(len(whole), generator=rng).double() for _ in range(6))):
        along = flat @ direction
        error = float(along.std() / copies**0.5)
        assert abs(float(along.mean() - whole @ direction)) < 3 * error


def _gradient_of_expected_points(model: Weights) -> Weights:
    """d E[r_A] / d theta, by every course of the game and its probability; no score function in it."""
    for name in model:
        model[name].requires_grad_(True)
    expected = torch.zeros(())
    opening = VectorizedGames(Pools.of([CONTEXT]), np.array([0]), 3)
    for first in np.flatnonzero(opening.legal()[0]):
        after = VectorizedGames(Pools.of([CONTEXT] * 253), np.zeros(253, dtype=np.int64), 3)
        after.do(np.full(253, first))
        bob = ScriptPlayer("fair")
        bob.begin(after, 1)
        after.do(bob.choose(after.legal(), np.zeros(253)))
        chance = _likely(model, opening)[first].exp()
        lasts = _likely(model, after) if not after.over[0] else None
        legal = after.legal()[0]
        after.do(np.where(legal, np.arange(253), np.flatnonzero(legal)[0]))
        alice = NetworkPlayer(model, TEMPERATURE)
        alice.begin(after, 0)
        with torch.no_grad():
            taken = np.stack([alice.take(), bob.take()], axis=1)
        points = torch.from_numpy(after.points(taken)[:, 0].astype(np.float32))
        assert lasts is not None
        expected = expected + chance * (lasts.exp() * points)[torch.from_numpy(legal)].sum()
    expected.backward()  # type: ignore[no-untyped-call]
    found = {name: one.grad[0] if one.grad is not None else torch.zeros_like(one[0]) for name, one in model.items()}
    for name in model:
        model[name].requires_grad_(False)
    return found


def _likely(model: Weights, games: VectorizedGames) -> torch.Tensor:
    """Log probabilities of the next act of the first game."""
    one = seen(games, 0).chosen(np.array([[0]]))
    encoding = encode(model, one)
    logits = act_logits(model, encoding.table, encoding.states)[0, 0, int(games.lengths[0])]
    return masked_logprobs(logits, torch.from_numpy(games.legal()[0]), TEMPERATURE)
