"""Log-probabilities, entropies and values of replies: policy, reference and critic in one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from peft import PeftModel
from torch import Tensor, nn

from apportion.rlhf.policy.loading import without_dropout
from apportion.rlhf.sampling.rollout import Rollout


@dataclass(frozen=True)
class ReplyStats:
    """What the model says of each reply token; every tensor has shape (B, L), float, undefined outside the mask."""

    logp: Tensor
    entropy: Tensor
    values: Tensor


class ValueHead(nn.Module):
    """One linear layer on the shared backbone; it starts at 0, the mean of normalised scores."""

    def __init__(self, width: int, device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.out = nn.Linear(width, 1, device=device, dtype=dtype)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Values [shape=(B, L)] of hidden states [shape=(B, L, width)]."""
        values: Tensor = self.out(hidden.to(self.out.weight.dtype)).squeeze(-1)
        return values


class ActorCritic(nn.Module):
    """A policy with adapters and a value head on the hidden states that its language head reads.

    The reference policy is the same model with its adapters off; there is no second copy.
    """

    def __init__(self, model: PeftModel, temperature: float) -> None:
        super().__init__()
        # With dropout the ratio to the sampled policy would be another one's: 0 in adapters that were given any.
        without_dropout(model)
        self.model = model
        self.temperature = temperature
        head: Any = model.get_base_model()
        head = head.get_output_embeddings()
        # Not its weights' shape: where they are sharded they have none.
        dtype = torch.promote_types(head.weight.dtype, torch.float32)
        self.value_head = ValueHead(head.in_features, head.weight.device, dtype)
        # In a list, so that the head is not registered as a second child module.
        self._head = [head]

    def forward(self, rollout: Rollout) -> ReplyStats:
        """Log-probability, entropy and value of every reply token, adapters on."""
        logp, entropy, hidden = self._read(rollout)
        return ReplyStats(logp, entropy, self.value_head(hidden))

    def likelihood_loss(self, tokens: Tensor, attention: Tensor) -> Tensor:
        """Mean -log pi of the tokens [shape=(b, L)] after the first where ``attention`` is 1 (nats a token)."""
        logits = self.model(input_ids=tokens, attention_mask=attention, use_cache=False).logits[:, :-1]
        targets = tokens[:, 1:].masked_fill(attention[:, 1:] == 0, -100)
        return nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=-100)

    @torch.no_grad()
    def reference_logp(self, rollout: Rollout) -> Tensor:
        """Log-probabilities [shape=(B, L)] under the reference policy, adapters off."""
        with self.model.disable_adapter():
            return self._read(rollout)[0]

    def _read(self, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor]:
        length = rollout.mask.shape[1]
        positions = (rollout.attention.cumsum(dim=1) - 1).clamp(min=0)
        seen: list[Tensor] = []
        hook = self._head[0].register_forward_pre_hook(lambda head, inputs: seen.append(inputs[0]))
        out = self.model(
            input_ids=rollout.tokens,
            attention_mask=rollout.attention,
            position_ids=positions,
            # A token's distribution stands at the position before it, so the last position is not needed.
            logits_to_keep=length + 1,
            use_cache=False,
        )
        hook.remove()
        hidden = seen[0][:, -length - 1 : -1]
        logits = out.logits[:, -length - 1 : -1]
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / self.temperature
        logp_all = torch.log_softmax(logits, dim=-1)
        logp = logp_all.gather(-1, rollout.replies.unsqueeze(-1)).squeeze(-1)
        # Entropy is looked at, never learned from: its two arrays over the vocabulary need not wait for a gradient.
        with torch.no_grad():
            entropy = -(logp_all.exp() * logp_all).sum(dim=-1)
        return logp, entropy, hidden
