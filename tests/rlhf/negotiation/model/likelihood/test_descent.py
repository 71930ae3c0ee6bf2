"""Eq. 1 and its gradient, compiled, beside autograd in float64 (`plain`), and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from apportion.environments.negotiation.action_encoding import AGREE, END, INSIST, split_code
from apportion.foundation.errors import UnitError
from apportion.rlhf.negotiation.data.dialogues import OTHERS, OWN, UNKNOWN, Dialogues
from apportion.rlhf.negotiation.datasets import scripted
from apportion.rlhf.negotiation.model.likelihood.descent import Dropout, LikelihoodDescent
from apportion.rlhf.negotiation.model.network import Weights, acting
from apportion.rlhf.negotiation.rng import torch_draws_of
from apportion.rlhf.negotiation.supervised import Examples
from tests.rlhf.negotiation.plain import plain_loss
from tests.rlhf.negotiation.small import dialogue, weights

FIRST = split_code((1, 1, 0))
SEEDS, ALPHA = (0, 1, 2), 0.5


def losses(model: Weights, given: Dialogues, alpha: float) -> list[float]:
    found = LikelihoodDescent(model, range(len(given.acts)), alpha).step(given, None, 0.0, 1.0, "a test")
    return [float(one) for one in found]


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


def draws(dropout: float) -> Dropout | None:
    return Dropout(dropout, torch_draws_of(SEEDS, "a test")) if dropout else None


@pytest.mark.parametrize("alpha", [0.0, ALPHA])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_loss_and_gradient_are_those_of_autograd(alpha: float, dropout: float) -> None:
    given = uneven(4)
    assert len(set(given.lengths.ravel().tolist())) > 4
    model = weights(SEEDS)
    exact = {name: one.double().requires_grad_() for name, one in model.items()}
    plain = plain_loss(exact, given, alpha, draws(dropout))
    grads = torch.autograd.grad(plain.sum(), list(exact.values()), allow_unused=True, materialize_grads=True)
    before = {name: one.clone() for name, one in model.items()}
    found = LikelihoodDescent(model, SEEDS, alpha).step(given, draws(dropout), 1.0, np.inf, "a test")
    assert found == pytest.approx(plain.detach().numpy(), rel=1e-5)
    for name, grad in zip(exact, grads, strict=True):
        own = (before[name] - model[name]).double()
        assert torch.allclose(own, grad, rtol=1e-4, atol=2e-6), name
        assert bool(grad.abs().max() > 0) == (alpha > 0 or acting(name)), name


def test_momentum_and_the_cut_are_nesterovs_a_seed_by_itself() -> None:
    model, clip, rate, momentum = weights(SEEDS), 0.05, 0.7, 0.3
    same = {name: one.double() for name, one in model.items()}
    pace = {name: torch.zeros_like(one) for name, one in same.items()}
    descent = LikelihoodDescent(model, SEEDS, ALPHA, momentum)
    for number in range(3):
        given = uneven(number)
        exact = {name: one.clone().requires_grad_() for name, one in same.items()}
        grads = torch.autograd.grad(plain_loss(exact, given, ALPHA).sum(), list(exact.values()))
        length = torch.sqrt(torch.stack([grad.flatten(1).pow(2).sum(1) for grad in grads]).sum(0))
        assert (length > clip).all()
        for name, grad in zip(exact, grads, strict=True):
            cut = grad * (clip / length).view(-1, *[1] * (grad.dim() - 1))
            pace[name] = momentum * pace[name] + cut
            same[name] = same[name] - rate * (cut + momentum * pace[name])
        descent.step(given, None, rate, clip, "a test")
    for name in model:
        assert torch.allclose(model[name].double(), same[name], atol=1e-6), name
        assert torch.allclose(descent.pace[name].double(), pace[name], atol=1e-6), name


def test_equation_1_by_hand() -> None:
    """Every act has a bias of its own and nothing else: probabilities can be written down."""
    model = {name: torch.zeros_like(weight) for name, weight in weights().items()}
    for act, score in ((FIRST, 1.0), (AGREE, 2.0), (END, 0.5)):
        model["act.bias"][0, act] = score
    model["heads.bias"][0] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0] * 6)
    given = dialogue([FIRST, AGREE, END], [OWN, OTHERS, OWN], (1, 1, 0, 0, 2, 1))
    # 16 splits of the pool, each proposed or insisted on, and three words; all but three have the score 0.
    total = 2 * 16 + 3 - 3 + math.exp(1.0) + math.exp(2.0) + math.exp(0.5)
    acts = -(1.0 + 2.0 + 0.5 - 3 * math.log(total))
    one, other = -(1.0 - math.log(4 + math.e)), math.log(4 + math.e)
    ends = 3 * one + 3 * other  # Taken are 1, 1, 0 and 0, 2, 1: three of the six are 1.
    for alpha in (0.0, 0.5, 2.0):
        assert losses(model, given, alpha) == pytest.approx([(acts + alpha * ends) / 3], rel=1e-5)


def test_what_no_player_could_do_and_the_end_of_no_deal_are_no_examples() -> None:
    model = weights()
    whole = losses(model, dialogue([FIRST, UNKNOWN, INSIST + 124], [OWN, OTHERS, OWN]), 0.5)
    assert whole == pytest.approx(losses(model, dialogue([FIRST], [OWN]), 0.5), rel=1e-5)


def test_a_gradient_that_is_not_finite_names_its_seed_and_leaves_it_alone() -> None:
    model = weights((4, 9, 2))
    model["act.bias"][1] = float("nan")
    before = {name: one.clone() for name, one in model.items()}
    with pytest.raises(UnitError, match=r"a test: the gradient of seed 9 is not finite"):
        LikelihoodDescent(model, (4, 9, 2), ALPHA, 0.1).step(uneven(1), None, 1.0, 0.2, "a test")
    for name, one in model.items():
        assert torch.equal(one[1:].nan_to_num(), before[name][1:].nan_to_num())
    assert not torch.equal(model["act"][0], before["act"][0])


def test_weights_and_draws_that_would_be_passed_over_are_refused() -> None:
    model = weights(SEEDS)
    turned = {**model, "gru.in": model["gru.in"].transpose(1, 2).contiguous().transpose(1, 2)}
    with pytest.raises(ValueError, match=r"gru\.in: not contiguous"):
        LikelihoodDescent(turned, SEEDS, ALPHA)
    one = Dropout(0.5, torch_draws_of(SEEDS[:1], "a test"))
    with pytest.raises(ValueError, match="dropout draws for 1 of 3 seeds"):
        LikelihoodDescent(model, SEEDS, ALPHA).step(uneven(1), one, 0.1, 0.2, "a test")
