"""Eq. 1 and its gradient beside `torch.nn.GRU` in float64, a dialogue at a time, and by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS, AGREE, INSIST, SPLIT_OF, split_code
from apportion.environments.negotiation.vectorized import NO_ACT, VectorizedGames
from apportion.rlhf.negotiation.data.dialogues import OTHERS, OWN, UNKNOWN, Dialogues
from apportion.rlhf.negotiation.datasets import drawn_contexts, scripted
from apportion.rlhf.negotiation.model.losses import dropout, likelihood_loss
from apportion.rlhf.negotiation.model.network import Weights, act_logits, acting, encode
from apportion.rlhf.negotiation.model.optimizer import BatchedSGD
from apportion.rlhf.negotiation.model.player import NetworkPlayer, draw_acts
from apportion.rlhf.negotiation.rng import chances, torch_draws_of
from apportion.rlhf.negotiation.self_play import play, seen, settled_split
from apportion.rlhf.negotiation.supervised import Examples
from tests.rlhf.negotiation.small import dialogue, tables, weights

FIRST = split_code((1, 1, 0))
SEEDS, ALPHA = (0, 1, 2), 0.5


def uneven(number: int) -> Dialogues:
    """Dialogues of all lengths, some without an act that counts, some in which nothing was agreed on."""
    rng = np.random.default_rng(number)
    picked = Examples.shared(scripted(200), len(SEEDS)).batch(np.stack([rng.permutation(200)[:12] for _ in SEEDS]))
    steps = np.arange(picked.acts.shape[-1])
    picked.acts[steps >= rng.integers(1, len(steps), picked.acts.shape[:2])[..., None] ** 2 // len(steps) + 1] = -1
    picked.acts[:, 0, 0] = UNKNOWN
    picked.taken[:, 1] = -1
    picked.taken[:, 2, 3:] = -1
    return picked


def gru(own: Weights, inputs: Tensor, *names: str) -> Tensor:
    """`torch.nn.GRU` with the weights of one, or of two that read forward and backward [shape=(T, units)]."""
    units = own[f"{names[0]}.state"].shape[0]
    module = torch.nn.GRU(inputs.shape[-1], units, bidirectional=len(names) == 2).double()
    named = {}
    for name, suffix in zip(names, ("", "_reverse"), strict=False):
        parts = (("weight_ih", "in"), ("weight_hh", "state"), ("bias_ih", "in_bias"), ("bias_hh", "state_bias"))
        named |= {f"{theirs}_l0{suffix}": own[f"{name}.{ours}"].t() for theirs, ours in parts}
    states: Tensor = torch.func.functional_call(module, named, (inputs[:, None],))[0][:, 0]
    return states


def alone(own: Weights, given: Dialogues, seed: int, row: int, alpha: float) -> tuple[Tensor, int]:
    """Minus the log likelihood of one dialogue by one seed's weights, and how many acts it counts."""
    counts, values = given.counts[seed, row], given.values[seed, row]
    length, targets = int(given.lengths[seed, row]), given.targets()[seed, row]
    tokens = [[own["act"][token]] for token in range(len(own["act"]))]
    for act in range(AGREE):
        parts = [act // INSIST, *(2 + 5 * item + kept for item, kept in enumerate(SPLIT_OF[act % INSIST]))]
        tokens[act] += [own["part"][part] for part in parts]
    table = torch.stack([torch.stack(vectors).sum(0) for vectors in tokens])
    known = torch.tanh(torch.cat([own["count"][counts[item]] * own["value"][values[item]] for item in range(3)]))
    context = torch.tanh(known @ own["context.weight"] + own["context.bias"])
    read, roles = given.inputs[seed, row, : length + 1], given.next_roles[seed, row, : length + 1]
    embedded = table[read] + own["role"][roles]
    states = gru(own, torch.cat([embedded, context.expand(length + 1, -1)], dim=-1), "gru")
    scores = (states @ own["out.weight"] + own["out.bias"]) @ table[:ACTS].T + own["act.bias"]
    fits = [act >= AGREE or bool((np.array(SPLIT_OF[act % INSIST]) <= counts).all()) for act in range(ACTS)]
    logprobs = scores.masked_fill(~torch.tensor(fits), -torch.inf).log_softmax(-1)
    counted = [step for step in range(length) if targets[step] >= 0]
    total = -sum((logprobs[step, targets[step]] for step in counted), torch.zeros((), dtype=torch.float64))
    both = gru(own, torch.cat([states, embedded], dim=-1), "forward", "backward")
    attention = (torch.tanh(both @ own["attend.weight"] + own["attend.bias"]) @ own["attend.score"]).softmax(0)
    layer = torch.cat([(attention * both).sum(0), context]) @ own["select.weight"] + own["select.bias"]
    heads = (torch.tanh(layer) @ own["heads.weight"] + own["heads.bias"]).view(6, 5).log_softmax(-1)
    taken = given.taken[seed, row]
    return total - alpha * sum(heads[head, taken[head]] for head in range(6) if taken[head] >= 0), len(counted)


@pytest.mark.parametrize("alpha", [0.0, ALPHA])
def test_loss_and_gradient_are_those_of_the_same_network_a_dialogue_at_a_time(alpha: float) -> None:
    given = uneven(4)
    assert len(set(given.lengths.ravel().tolist())) > 4
    model = {name: one.requires_grad_() for name, one in weights(SEEDS).items()}
    loss = likelihood_loss(model, given, alpha)
    grads = torch.autograd.grad(loss.sum(), list(model.values()), allow_unused=True, materialize_grads=True)
    for seed in range(len(SEEDS)):
        own = {name: one[seed].detach().double().requires_grad_() for name, one in model.items()}
        parts = [alone(own, given, seed, row, alpha) for row in range(given.counts.shape[1])]
        exact = sum(part for part, _ in parts) / max(1, sum(count for _, count in parts))
        assert isinstance(exact, Tensor)
        assert loss[seed].item() == pytest.approx(exact.item(), rel=1e-5)
        whole = torch.autograd.grad(exact, list(own.values()), allow_unused=True, materialize_grads=True)
        for name, ours, theirs in zip(model, grads, whole, strict=True):
            assert torch.allclose(ours[seed].double(), theirs, rtol=1e-4, atol=2e-6), name
            assert bool(theirs.abs().max() > 0) == (alpha > 0 or acting(name)), name


def test_dropout_leaves_out_a_seed_s_own_units_and_keeps_the_mean() -> None:
    units = torch.ones(2, 50, 40)
    drop = dropout(0.4, torch_draws_of((3, 4), "a test"))
    dropped = drop(units)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.6])
    assert dropped.mean((1, 2)).tolist() == pytest.approx([1, 1], abs=0.06)
    assert torch.equal(dropout(0.4, torch_draws_of((4,), "a test"))(units[:1])[0], dropped[1])
    assert torch.equal(dropout(0.0, [])(units), units)


def test_what_no_player_could_do_and_the_end_of_no_deal_are_no_examples() -> None:
    model = weights()
    whole = likelihood_loss(model, dialogue([FIRST, UNKNOWN, INSIST + 124], [OWN, OTHERS, OWN]), 0.5)
    assert whole.tolist() == pytest.approx(likelihood_loss(model, dialogue([FIRST], [OWN]), 0.5).tolist(), rel=1e-5)


SEEDS = (4, 9, 2)


def model() -> Weights:
    draws = torch.Generator().manual_seed(1)
    return {name: torch.randn(3, *shape, generator=draws) for name, shape in {"a": (2, 5), "b": (4,)}.items()}


def loss_of(weights: Weights) -> torch.Tensor:
    """A number a seed, steeper for later seeds."""
    parts = [weight.flatten(1).pow(2).sum(1) + weight.flatten(1).sin().sum(1) for weight in weights.values()]
    return torch.stack(parts).sum(0) * torch.arange(1, 4)


@pytest.mark.parametrize("momentum", [0.0, 0.3])
def test_steps_are_those_of_torch_with_every_seed_s_gradient_cut_by_itself(momentum: float) -> None:
    ours, clip, rate = model(), 3.0, 0.1
    optimizer = BatchedSGD(ours, SEEDS, momentum)
    theirs = [
        {name: one[seed : seed + 1].clone().requires_grad_() for name, one in model().items()} for seed in range(3)
    ]
    plain = [torch.optim.SGD(list(own.values()), rate, momentum, nesterov=momentum > 0) for own in theirs]
    for _ in range(4):
        losses = optimizer.step(lambda: loss_of(ours), rate, clip, "a test")
        for seed, (own, step) in enumerate(zip(theirs, plain, strict=True)):
            step.zero_grad()
            loss = loss_of(own)[seed]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(own.values()), clip)
            step.step()
            assert losses[seed].item() == pytest.approx(loss.item(), rel=1e-5)
    for name, one in ours.items():
        assert torch.allclose(one, torch.cat([own[name] for own in theirs]), atol=1e-5), name


def test_only_what_is_named_is_trained() -> None:
    ours = model()
    BatchedSGD(ours, SEEDS, only=["a"]).step(lambda: loss_of(ours), 0.1, 1.0, "a test")
    assert torch.equal(ours["b"], model()["b"]) and not torch.equal(ours["a"], model()["a"])


PARTNERS, COUNT = (5, 6, 7), 20


class Recording(NetworkPlayer):
    """Keeps its choices where it has one, and its states, at every act."""

    def choose(self, legal: np.ndarray, draws: np.ndarray) -> np.ndarray:
        chosen = super().choose(legal, draws)
        own = (self.games.speakers == self.seat) & ~self.games.over
        self.noted = [*getattr(self, "noted", []), (np.where(own, chosen, NO_ACT), self._states[-1].clone())]
        return chosen


def test_acts_are_those_of_who_reads_the_whole_dialogue() -> None:
    games = tables(drawn_contexts(COUNT, "players"), SEEDS)
    draws = chances(SEEDS, COUNT, 20, "players")
    players = Recording(weights(SEEDS), 1.0), Recording(weights(PARTNERS), 1.0)
    play(games, len(SEEDS), players, draws)
    assert len(np.unique(games.lengths)) > 3 and (settled_split(games, 0) == NO_ACT).any()
    legal = torch.from_numpy(games.replayed(games.acts)[1])
    for seat, player in enumerate(players):
        encoding = encode(player.weights, seen(games, seat).by_seed(len(SEEDS)))
        logits = act_logits(player.weights, encoding.table, encoding.states).flatten(0, 1)
        for turn, (chosen, _) in enumerate(player.noted):
            whole = draw_acts(logits[:, turn], legal[:, turn], 1.0, draws[:, turn])
            assert (chosen == np.where(chosen >= 0, whole, NO_ACT)).all()
            assert (games.acts[chosen >= 0, turn] == chosen[chosen >= 0]).all()


def test_another_s_values_change_no_byte_of_what_a_network_makes_of_a_game() -> None:
    """The same is said in both games, which differ in what things are worth to Bob alone."""
    first = tables(drawn_contexts(COUNT, "players"), SEEDS)
    play(first, len(SEEDS), (NetworkPlayer(weights(SEEDS), 1.0), NetworkPlayer(weights(PARTNERS), 1.0)), draws())
    alike = [tables(drawn_contexts(COUNT, "players"), SEEDS) for _ in range(2)]
    values = alike[1].pools.values
    values[:, 1] = values[:, 1, ::-1]
    assert (values != alike[0].pools.values).any()
    noted = [noted_by_alice(games, first.acts) for games in alike]
    assert len(noted[0]) > 3 and noted[0] == noted[1]


def draws() -> np.ndarray:
    return chances(SEEDS, COUNT, 20, "players")


def noted_by_alice(games: VectorizedGames, acts: np.ndarray) -> list[tuple[bytes, bytes]]:
    alice = Recording(weights(SEEDS), 1.0)
    play(games, len(SEEDS), (alice, NetworkPlayer(weights(PARTNERS), 1.0)), draws(), said=acts)
    return [(chosen.tobytes(), state.numpy().tobytes()) for chosen, state in alice.noted]
