"""Replies sampled from a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from apportion.foundation.errors import UnitError
from apportion.foundation.files import canonical_json
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.sharding import is_sharded
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.training.endings import StopReason

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy

Draw = Callable[[Sequence[DialogueContext]], list[list[int]]]
"""Token ids of one reply to each context, its end mark among them, from elsewhere than the model's own ``generate``."""

RAN_AWAY = (
    "the policy's probabilities are no finite numbers, so no reply can be drawn: its weights have run away. Lower lr "
    "(and tiny.warmup_lr)."
)


@dataclass(frozen=True)
class Rollout:
    """B prompts, padded on the left to P tokens, and the responses to them, padded on the right to L tokens.

    ``tokens`` and ``attention`` [shape=(B, P + L)] int64; ``mask`` [shape=(B, L)] bool is true for the policy's own
    tokens up to and with each end mark, false for padding and for what the other side says within a response. ``ends``
    [shape=(N, 2)] int64 holds row and column of the last token of each of the N turns, row by row; None where every
    response is one turn. ``texts`` and ``histories`` (N each) are the turns without control tokens and what the scorer
    reads before them. ``endings`` (B) are those of dialogues in an environment.
    """

    tokens: Tensor
    attention: Tensor
    mask: Tensor
    texts: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    ends: Tensor | None = None
    endings: tuple[StopReason, ...] = ()

    @property
    def prompts(self) -> list[list[int]]:
        """The prompts' token ids, without padding."""
        width = self.tokens.shape[1] - self.mask.shape[1]
        rows = zip(self.tokens[:, :width], self.attention[:, :width].bool(), strict=True)
        return [tokens[read].tolist() for tokens, read in rows]

    @property
    def replies(self) -> Tensor:
        """The replies' token ids [shape=(B, L)] int64."""
        return self.tokens[:, -self.mask.shape[1] :]

    @property
    def lengths(self) -> Tensor:
        """The policy's tokens of each response [shape=(B,)] int64, end marks counted."""
        return self.mask.sum(dim=1)

    @property
    def turn_ends(self) -> Tensor:
        """``ends``, also where every response is one turn [shape=(N, 2)] int64."""
        if self.ends is not None:
            return self.ends
        return torch.stack([torch.arange(len(self.mask), device=self.mask.device), self.lengths - 1], dim=1)

    @property
    def said(self) -> list[list[int]]:
        """The policy's own tokens of each turn (N), end marks with them."""
        replies, mask, starts = self.replies.tolist(), self.mask.tolist(), [0] * len(self.mask)
        said = []
        for row, end in self.turn_ends.tolist():
            said.append([replies[row][at] for at in range(starts[row], end + 1) if mask[row][at]])
            starts[row] = end + 1
        return said

    def answered(self, contexts: Sequence[DialogueContext]) -> list[DialogueContext]:
        """What each turn (N) answers, of the contexts (B) of the responses."""
        rows = self.turn_ends[:, 0].tolist()  # A response's turns stand together.
        return [contexts[row].after(turn - rows.index(row)) for turn, row in enumerate(rows)]

    def to(self, device: torch.device) -> Rollout:
        """The same on ``device``."""
        tokens, attention, mask = self.tokens.to(device), self.attention.to(device), self.mask.to(device)
        ends = None if self.ends is None else self.ends.to(device)
        return Rollout(tokens, attention, mask, self.texts, self.histories, ends, self.endings)

    def rows(self, places: Tensor, cut: bool = False) -> Rollout:
        """The rows ``places`` [shape=(b,)] alone, without turns; ``cut`` drops columns that only pad these rows."""
        tokens, attention, mask = self.tokens[places], self.attention[places], self.mask[places]
        if not cut:
            return Rollout(tokens, attention, mask)
        prompt = tokens.shape[1] - mask.shape[1]
        first = int(attention[:, :prompt].any(dim=0).long().argmax()) if prompt else 0
        length = int(mask.any(dim=0).nonzero().max()) + 1
        columns = slice(first, prompt + length)
        return Rollout(tokens[:, columns], attention[:, columns], mask[:, :length])


@torch.no_grad()
def sample_replies(
    policy: Policy,
    model: Any,
    contexts: Sequence[DialogueContext],
    *,
    max_new_tokens: int,
    temperature: float | None,
    draw: Draw | None = None,
) -> Rollout:
    """One reply to each context, with a KV cache, ending early when every reply has ended.

    ``model``: the policy's model, adapters on where it has any; dropout is switched off. ``max_new_tokens``: a reply
    that has not ended by then is cut. ``temperature``: None takes the most likely token each time. ``draw``: what
    draws the replies in the model's place, with length and temperature of its own.
    """
    model.eval()
    prompts, attention = pad_prompts(contexts, policy.pad_id, model.device)
    if draw is not None:
        drawn = [torch.tensor(reply, device=model.device) for reply in draw(contexts)]
        replies = torch.nn.utils.rnn.pad_sequence(drawn, batch_first=True, padding_value=policy.pad_id)
        return _rollout(policy, contexts, torch.cat([prompts, replies], dim=1), attention)
    plain: dict[str, Any] = (
        {} if temperature is None else {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    )
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        **plain, max_new_tokens=max_new_tokens, eos_token_id=list(policy.eos_ids), pad_token_id=policy.pad_id
    )
    # Where each process holds a part of the weights, all go on until the last one's replies have ended.
    together = {"synced_gpus": True} if is_sharded(model) else {}
    tokens: Tensor = model.generate(input_ids=prompts, attention_mask=attention, generation_config=config, **together)
    return _rollout(policy, contexts, tokens, attention)


def _rollout(policy: Policy, contexts: Sequence[DialogueContext], tokens: Tensor, attention: Tensor) -> Rollout:
    """Replies behind their prompts [shape=(B, P + L)]; ``attention`` [shape=(B, P)] is that of the prompts."""
    replies = tokens[:, attention.shape[1] :]
    mask = reply_mask(replies, policy.eos_ids)
    texts = tuple(
        str(policy.tokenizer.decode(reply[kept], skip_special_tokens=True)).strip()
        for reply, kept in zip(replies, mask, strict=True)
    )
    histories = tuple(context.history for context in contexts)
    return Rollout(tokens, torch.cat([attention, mask.long()], dim=1), mask, texts, histories)


@contextmanager
def finite_probabilities(problem: str = RAN_AWAY) -> Iterator[None]:
    """Turn torch's refusal to draw from probabilities that are no finite numbers into a UnitError of ``problem``."""
    try:
        yield
    except RuntimeError as error:
        if "probability tensor" not in str(error):
            raise
        raise UnitError(problem) from error


def join_rollouts(parts: Sequence[Rollout], pad_id: int) -> Rollout:
    """The rows of several rollouts one after another, padded to the longest prompt and the longest response."""
    prompt = max(part.tokens.shape[1] - part.mask.shape[1] for part in parts)
    length = max(part.mask.shape[1] for part in parts)

    def padded(part: Rollout, values: Tensor, value: int) -> Tensor:
        width = part.mask.shape[1]
        left = 0 if values is part.mask else prompt - (part.tokens.shape[1] - width)
        return torch.nn.functional.pad(values, (left, length - width), value=value)

    starts = [sum(len(part.mask) for part in parts[:place]) for place in range(len(parts))]
    ends = [
        part.turn_ends + torch.tensor([start, 0], device=part.mask.device)
        for start, part in zip(starts, parts, strict=True)
    ]
    return Rollout(
        tokens=torch.cat([padded(part, part.tokens, pad_id) for part in parts]),
        attention=torch.cat([padded(part, part.attention, 0) for part in parts]),
        mask=torch.cat([padded(part, part.mask, 0) for part in parts]),
        texts=tuple(text for part in parts for text in part.texts),
        histories=tuple(history for part in parts for history in part.histories),
        ends=torch.cat(ends),
        endings=tuple(ending for part in parts for ending in part.endings),
    )


def pad_prompts(
    contexts: Sequence[DialogueContext], pad_id: int, device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """Prompts and their attention mask, each [shape=(B, P)] int64, padded on the left."""
    longest = max(len(context.prompt) for context in contexts)
    prompts = [[pad_id] * (longest - len(context.prompt)) + list(context.prompt) for context in contexts]
    attention = [[0] * (longest - len(context.prompt)) + [1] * len(context.prompt) for context in contexts]
    return torch.tensor(prompts, device=device), torch.tensor(attention, device=device)


def reply_mask(replies: Tensor, eos_ids: Sequence[int]) -> Tensor:
    """True up to and with the first end mark of each reply; ``replies`` and result have shape (B, L)."""
    ends = torch.isin(replies, torch.tensor(eos_ids, device=replies.device)).long()
    return ends.cumsum(dim=1) - ends == 0


def sample_seeded(
    policy: Policy, model: Any, contexts: Sequence[DialogueContext], window: Window, seed: Any, greedy: bool = False
) -> list[str]:
    """One reply to each context (B of them), on one line; random numbers outside are left alone.

    ``contexts``: what is answered, all at once. ``window``: how long a reply may be, and its temperature. ``seed``:
    with the prompts it decides what is drawn.
    """
    asked = canonical_json([seed, [list(context.prompt) for context in contexts]])
    device = model.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), finite_probabilities():
        torch.manual_seed(int.from_bytes(hashlib.sha256(asked.encode()).digest()[:7], "big"))
        rollout = sample_replies(
            policy,
            model,
            contexts,
            max_new_tokens=window.max_new_tokens,
            temperature=None if greedy else window.temperature,
        )
    return [" ".join(text.split()) for text in rollout.texts]
