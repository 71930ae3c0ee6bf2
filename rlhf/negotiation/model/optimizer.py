"""SGD for S seeds at once: each has its own gradient, cut to a length of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from apportion.foundation.errors import UnitError
from apportion.rlhf.negotiation.model.network import Weights


class BatchedSGD:
    """SGD with Nesterov momentum.

    ``weights``: What is trained; changed in place. ``seeds``: Their numbers, for errors. ``momentum``: 0: plain SGD.
    ``only``: The names that are trained; all without it.
    """

    def __init__(
        self, weights: Weights, seeds: Sequence[int], momentum: float = 0.0, only: Sequence[str] | None = None
    ) -> None:
        self.weights, self.seeds, self.momentum = weights, seeds, momentum
        self.names = tuple(sorted(weights) if only is None else only)
        self.velocity: Weights = {name: torch.zeros_like(weights[name]) for name in self.names} if momentum else {}

    def step(self, loss: Callable[[], Tensor], rate: float, clip: float, when: str) -> Tensor:
        """Go down ``loss``, a number a seed [shape=(S,)], and return it; ``when`` names the update in errors.

        Raises UnitError: A gradient is not finite; nothing was changed then.
        """
        trained = [self.weights[name].requires_grad_(True) for name in self.names]
        try:
            losses = loss()
            grads = torch.autograd.grad(losses.sum(), trained, allow_unused=True, materialize_grads=True)
        finally:
            for weight in trained:
                weight.requires_grad_(False)
        lengths = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(grad.flatten(1), dim=1) for grad in grads]), dim=0
        )
        if not bool(torch.isfinite(lengths).all()):
            seed = self.seeds[int(torch.nonzero(~torch.isfinite(lengths))[0])]
            raise UnitError(
                f"{when}: the gradient of seed {seed} is not finite; the last checkpoint is from before it. "
                "In another output, lower the rate or leave this seed out."
            )
        scale = (clip / lengths.clamp(min=1e-12)).clamp(max=1.0)
        with torch.no_grad():
            for name, weight, grad in zip(self.names, trained, grads, strict=True):
                cut = grad * scale.view(-1, *[1] * (grad.dim() - 1))
                if self.momentum:
                    velocity = self.velocity[name].mul_(self.momentum).add_(cut)
                    cut = cut.add_(velocity, alpha=self.momentum)
                weight.sub_(cut, alpha=rate)
        return losses.detach()
