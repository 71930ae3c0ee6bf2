"""The written-out gradient of the GRU beside autograd's through every step."""

import pytest
import torch
from torch import Tensor

from apportion.rlhf.negotiation.model.recurrent import gru_states, gru_states_of_some, gru_step


def drawn(draws: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=draws, dtype=torch.float64)


def step_by_step(
    brought: Tensor, weight: Tensor, bias: Tensor, mask: Tensor | None = None, backwards: bool = False
) -> Tensor:
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
    given = [drawn(draws, *shape).requires_grad_() for shape in ((2, 3, 5, 12), (2, 4, 12), (2, 12))]
    mask = torch.rand(2, 3, 5, generator=draws) < (0.6 if masked else 2)
    worth = drawn(draws, 2, 3, 5, 4)
    of_all = not (masked or backwards)
    ours = gru_states(*given) if of_all else gru_states_of_some(*given, mask, backwards=backwards)
    plain = step_by_step(*given, mask, backwards)
    assert torch.equal(ours, plain)
    for one, other in zip(
        torch.autograd.grad((ours * worth).sum(), given),
        torch.autograd.grad((plain * worth).sum(), given),
        strict=True,
    ):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_dialogue_among_longer_ones_is_read_as_if_by_itself(backwards: bool) -> None:
    draws = torch.Generator().manual_seed(2)
    brought, weight, bias = drawn(draws, 1, 3, 5, 12), drawn(draws, 1, 4, 12), drawn(draws, 1, 12)
    lengths = torch.tensor([5, 2, 4])
    together = gru_states_of_some(
        brought, weight, bias, (torch.arange(5) < lengths[:, None])[None], backwards=backwards
    )
    for row, length in enumerate(lengths.tolist()):
        own = brought[:, row : row + 1, :length]
        alone = step_by_step(own, weight, bias, backwards=backwards)
        assert torch.allclose(together[:, row : row + 1, :length], alone, rtol=1e-12, atol=1e-14)
        after = torch.zeros(4, dtype=torch.float64) if backwards else alone[0, 0, -1]
        assert torch.allclose(together[0, row, length:], after.expand(5 - length, 4))


def test_no_steps_are_kept_where_no_gradient_is_wanted() -> None:
    states = gru_states(torch.zeros(1, 2, 3, 6), torch.ones(1, 2, 6), torch.zeros(1, 6))
    assert states.shape == (1, 2, 3, 2) and not states.requires_grad
