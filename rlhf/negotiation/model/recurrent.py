"""A GRU over S seeds at once, read step by step, with its gradient written out.

What a step brings to the weights' gradient is put together for all steps in one product; left to autograd, every step
would make, and add up, a matrix as large as the weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def gru_step(weight: Tensor, bias: Tensor, brought: Tensor, state: Tensor) -> Tensor:
    """The state after one more input.

    Parameters
    ----------
    weight : Tensor [shape=(S, H, 3H)]
        From the state to the reset gate, the update gate and what is new.
    bias : Tensor [shape=(S, 3H)]
        Of the same.
    brought : Tensor [shape=(S, B, 3H)]
        What the input brings to the three.
    state : Tensor [shape=(S, B, H)]
        Before it.
    """
    return _stepped(weight, bias[:, None], brought, state)[0]


def _stepped(weight: Tensor, bias: Tensor, brought: Tensor, state: Tensor) -> tuple[Tensor, ...]:
    """The new state, and what its gradient needs: reset, update, what is new, and what the state brought to that."""
    units = state.shape[-1]
    own = torch.baddbmm(bias, state, weight)
    gates = torch.sigmoid(brought[..., : 2 * units] + own[..., : 2 * units])
    reset, update, held = gates[..., :units], gates[..., units:], own[..., 2 * units :]
    fresh = torch.tanh(torch.addcmul(brought[..., 2 * units :], reset, held))
    return torch.lerp(fresh, state, update), reset, update, fresh, held


class _Read(torch.autograd.Function):
    """The states after every step; its backward is the chain rule through the steps, last to first."""

    @staticmethod
    def forward(ctx: Any, brought: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        seeds, batch, steps, width = brought.shape
        kept = any(ctx.needs_input_grad)
        state = brought.new_zeros(seeds, batch, width // 3)
        states = brought.new_empty(steps, seeds, batch, width // 3)
        parts: list[tuple[Tensor, ...]] = []
        for step in range(steps):
            new, *rest = _stepped(weight, bias[:, None], brought[:, :, step], state)
            if kept:
                parts.append((*rest, state))
            states[step] = state = new
        if kept:
            ctx.save_for_backward(weight)
            ctx.parts = parts
        return states.permute(1, 2, 0, 3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, ...]:
        (weight,) = ctx.saved_tensors
        seeds, batch, steps, units = given.shape
        turned = weight.transpose(1, 2)
        brought = given.new_empty(steps, seeds, batch, 3 * units)
        own = given.new_empty(seeds, steps, batch, 3 * units)
        befores = given.new_empty(seeds, steps, batch, units)
        carried = given.new_zeros(seeds, batch, units)
        for step in reversed(range(steps)):
            reset, update, fresh, held, before = ctx.parts[step]
            whole = given[:, :, step] + carried
            new = whole * (1 - update) * (1 - fresh * fresh)
            now = brought[step]
            torch.mul(new * held, reset * (1 - reset), out=now[..., :units])
            torch.mul(whole * (before - fresh), update * (1 - update), out=now[..., units : 2 * units])
            now[..., 2 * units :] = new
            own[:, step] = now
            torch.mul(new, reset, out=own[:, step, :, 2 * units :])
            befores[:, step] = before
            carried = torch.baddbmm(whole * update, own[:, step], turned)
        all_own = own.flatten(1, 2)
        by_state = torch.bmm(befores.flatten(1, 2).transpose(1, 2), all_own)
        return brought.permute(1, 2, 0, 3), by_state, all_own.sum(1)


def gru_states(brought: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """States after every step.

    Parameters
    ----------
    brought : Tensor [shape=(S, B, T, 3H)]
        What the inputs bring to the gates.
    weight, bias : Tensor
        As of `gru_step`.

    Returns
    -------
    Tensor [shape=(S, B, T, H)]
        A view whose steps stand before the batch in memory.
    """
    states: Tensor = _Read.apply(brought, weight, bias)  # type: ignore[no-untyped-call]
    return states


def gru_states_of_some(
    brought: Tensor, weight: Tensor, bias: Tensor, there: Tensor, *, backwards: bool = False
) -> Tensor:
    """States after every step of dialogues that do not all have it; read from the last step on, where ``backwards``.

    Parameters
    ----------
    brought, weight, bias : Tensor
        As of `gru_states`.
    there : bool [shape=(S, B, T)]
        Where it is False, the state stays as it was.
    backwards : bool
        Whether it is read from the last step to the first.

    Returns
    -------
    Tensor [shape=(S, B, T, H)]
        As of `gru_states`.
    """
    seeds, batch, steps, width = brought.shape
    state = brought.new_zeros(seeds, batch, width // 3)
    states = [state] * steps
    for step in reversed(range(steps)) if backwards else range(steps):
        new = gru_step(weight, bias, brought[:, :, step], state)
        states[step] = state = torch.where(there[:, :, step, None], new, state)
    return torch.stack(states).permute(1, 2, 0, 3)
