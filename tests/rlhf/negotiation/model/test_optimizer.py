"""Steps of SGD beside `torch.optim.SGD`, a seed by itself."""

import pytest
import torch

from apportion.rlhf.negotiation.model.network import Weights
from apportion.rlhf.negotiation.model.optimizer import BatchedSGD

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
