"""One step of gradient descent for S seeds at once: each has its own gradient, its own limit, and its own failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from apportion.foundation.errors import UnitError
from apportion.rlhf.negotiation.model.network import Weights


def check_finite(lengths: Tensor, seeds: Sequence[int], when: str) -> None:
    """Refuse gradients by their lengths [shape=(S,)]; ``when`` tells a person which update this is.

    Raises
    ------
    UnitError
        One is not finite.
    """
    if not bool(torch.isfinite(lengths).all()):
        seed = seeds[int(torch.nonzero(~torch.isfinite(lengths))[0])]
        raise UnitError(
            f"{when}: the gradient of seed {seed} is not finite; the last checkpoint is from before it. "
            "In another output, lower the rate or leave this seed out."
        )


class BatchedSGD:
    """SGD, the gradient of each seed cut to a length of its own.

    Parameters
    ----------
    weights : dict of Tensor
        What is trained; changed in place.
    seeds : sequence of int
        What the seeds are called, for whoever reads of a failure.
    only : sequence of str, optional
        The names that are trained; all without it.
    """

    def __init__(self, weights: Weights, seeds: Sequence[int], only: Sequence[str] | None = None) -> None:
        self.weights, self.seeds = weights, seeds
        self.names = tuple(sorted(weights) if only is None else only)

    def step(self, loss: Callable[[], Tensor], rate: float, clip: float, when: str) -> None:
        """Go down what ``loss`` gives, a number a seed [shape=(S,)]; ``when`` tells a person which update this is.

        Raises
        ------
        UnitError
            A gradient is not finite; nothing was changed then.
        """
        trained = [self.weights[name] for name in self.names]
        for weight in trained:
            weight.requires_grad_(True)
        try:
            grads = torch.autograd.grad(loss().sum(), trained, allow_unused=True, materialize_grads=True)
        finally:
            for weight in trained:
                weight.requires_grad_(False)
        lengths = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(grad.flatten(1), dim=1) for grad in grads]), dim=0
        )
        check_finite(lengths, self.seeds, when)
        scale = (clip / lengths.clamp(min=1e-12)).clamp(max=1.0)
        with torch.no_grad():
            for weight, grad in zip(trained, grads, strict=True):
                weight.addcmul_(grad, scale.view(-1, *[1] * (grad.dim() - 1)), value=-rate)
