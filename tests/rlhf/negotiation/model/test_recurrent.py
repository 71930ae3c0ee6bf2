"""The written-out gradient of the GRU beside autograd's through every step."""

import pytest
import torch
from torch import Tensor

from rlhf.negotiation.model.recurrent import gru_states, gru_step


def step_by_step(brought: Tensor, weight: Tensor, bias: Tensor, mask: Tensor | None, backwards: bool) -> Tensor:
    state = brought.new_zeros(*brought.shape[:2], weight.shape[1])
    states = [state] * brought.shape[2]
    for step in reversed(range(len(states))) if backwards else range(len(states)):
        new = gru_step(weight, bias, brought[:, :, step], state)
        state = new if mask is None else torch.where(mask[:, :, step, None], new, state)
        states[step] = state
    return torch.stack(states, dim=2)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_states_and_gradient_are_those_of_autograd(backwards: bool, masked: bool) -> None:
    draws = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draws, dtype=torch.float64)

    given = [drawn(2, 3, 5, 12).requires_grad_(), drawn(2, 4, 12).requires_grad_(), drawn(2, 12).requires_grad_()]
    mask = torch.rand(2, 3, 5, generator=draws) < 0.6 if masked else None
    worth = drawn(2, 3, 5, 4)
    ours, plain = gru_states(*given, mask, backwards=backwards), step_by_step(*given, mask, backwards)
    assert torch.equal(ours, plain)
    for one, other in zip(
        torch.autograd.grad((ours * worth).sum(), given),
        torch.autograd.grad((plain * worth).sum(), given),
        strict=True,
    ):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-14)


def test_no_steps_are_kept_where_no_gradient_is_wanted() -> None:
    states = gru_states(torch.zeros(1, 2, 3, 6), torch.ones(1, 2, 6), torch.zeros(1, 6))
    assert states.shape == (1, 2, 3, 2) and not states.requires_grad
