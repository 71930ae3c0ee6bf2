"""What the network is trained on: the likelihood of dialogues (Eq. 1), and acts by what they are paid (Eq. 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from apportion.environments.negotiation.action_encoding import ACTS, AGREE
from apportion.environments.negotiation.vectorized import KEPT
from apportion.rlhf.negotiation.data.dialogues import OWN, Dialogues
from apportion.rlhf.negotiation.model.network import (
    Weights,
    act_logits,
    encode,
    masked_logprobs,
    selection_logprobs,
    unchanged,
)


def dropout(share: float, draws: Sequence[torch.Generator]) -> Callable[[Tensor], Tensor]:
    """What leaves a share of the units out, and raises the others; ``draws`` are a seed's each."""

    def drop(units: Tensor) -> Tensor:
        drawn = torch.stack([torch.rand(units.shape[1:], generator=one) for one in draws])
        return units * (drawn >= share) / (1 - share)

    return drop if share else unchanged


def likelihood_loss(
    weights: Weights, dialogues: Dialogues, alpha: float, drop: Callable[[Tensor], Tensor] = unchanged
) -> Tensor:
    """Eq. 1 over dialogues [shape=(S, B, ...)], divided by their number of acts [shape=(S,)].

    Acts of both sides count, as in the model of Lewis et al. What no player could do (`Dialogues.targets`) does not,
    nor does the selection of dialogues in which nothing was agreed on. ``alpha`` weighs the selection.
    """
    encoding = encode(weights, dialogues, drop)
    targets, chosen = torch.from_numpy(dialogues.targets()), torch.from_numpy(dialogues.taken)
    logits = act_logits(weights, encoding.table, encoding.states[:, :, :-1])
    logprobs = masked_logprobs(logits, _fitting_acts(dialogues)[:, :, None])
    total = _sum_of(logprobs, targets)
    if alpha:
        lengths = torch.from_numpy(dialogues.lengths)
        total = total + alpha * _sum_of(selection_logprobs(weights, encoding, lengths, drop), chosen)
    return -total / (targets >= 0).sum((1, 2)).clamp(min=1)  # Eq. 1


def policy_loss(
    weights: Weights, dialogues: Dialogues, legal: NDArray[np.bool_], returns: NDArray[np.float64], temperature: float
) -> Tensor:
    """Minus the sum over acts of their returns times their log probability, a mean over games [shape=(S,)].

    ``weights``: S seeds of the policy. ``dialogues``: Games from the seat that learns [shape=(S, G, T)]. ``legal`` bool
    [S, G, T or more, 253]: What was legal at every act. ``returns`` float64 [S, G, T]: By act; those of the other's are
    0. ``temperature``: At which acts were drawn.
    """
    encoding, acts = encode(weights, dialogues), torch.from_numpy(dialogues.acts)
    logits = act_logits(weights, encoding.table, encoding.states[:, :, :-1])
    own = torch.from_numpy(dialogues.roles == OWN) & (acts >= 0)
    allowed = torch.from_numpy(legal[:, :, : acts.shape[-1]]) | ~own[..., None]
    weighted = torch.from_numpy(returns).to(logits.dtype)
    return -_sum_of(masked_logprobs(logits, allowed, temperature), torch.where(own, acts, -1), weighted) / acts.shape[1]


def _sum_of(logprobs: Tensor, targets: Tensor, weighted: Tensor | None = None) -> Tensor:
    """The sum over the log probabilities of targets [shape=(S, B, T)]; -1 is none."""
    found = torch.gather(logprobs, -1, targets.clamp(min=0)[..., None])[..., 0].masked_fill(targets < 0, 0)
    return (found if weighted is None else found * weighted).sum((1, 2))


def _fitting_acts(dialogues: Dialogues) -> Tensor:
    """The acts that the pools have at all [shape=(S, B, 253)]."""
    fits = (dialogues.counts[..., None, :] >= KEPT).all(-1)
    words = np.ones((*fits.shape[:-1], ACTS - AGREE), dtype=np.bool_)
    return torch.from_numpy(np.concatenate([fits, fits, words], axis=-1))
