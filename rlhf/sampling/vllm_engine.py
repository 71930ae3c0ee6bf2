"""Replies drawn by vLLM on the policy's own card: the engine that TRL makes for GRPO, asked by PPO. Not run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import torch
from accelerate import Accelerator
from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor
from trl.generation import vllm_generation

from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.rng_state import seeded_rng

SHARE = 0.3
"""Of the card's memory, for the engine's own copy of the weights and its cache: TRL's default."""


def merged_weights(model: PeftModel) -> Iterator[tuple[str, Tensor]]:
    """Every weight of the base model under its own name, its adapters added; ``model`` stays as it is.

    TRL merges the adapters into the model and takes them off again. In bfloat16 that rounds the frozen weights anew
    at every step, and they are the reference policy, too.
    """
    base: Any = model.get_base_model()
    layers = {name: layer for name, layer in base.named_modules() if isinstance(layer, BaseTunerLayer)}
    for name, weight in base.named_parameters():
        if model.prefix in name:
            continue
        place, _, kind = name.rpartition(".")
        value = weight.data
        layer: Any = layers.get(place.removesuffix(".base_layer"))
        if layer is not None and kind == "weight":
            delta = sum(layer.get_delta_weight(adapter).float() for adapter in layer.active_adapters)
            value = (value.float() + delta).to(value.dtype)
        yield name.replace(".base_layer", ""), value


def hand_merged(engine: Any, model: PeftModel) -> None:
    """Let TRL's ``engine`` take `merged_weights` of ``model`` whenever it brings its weights up to date."""
    engine._iter_named_params = partial(merged_weights, model)


class VLLMReplies:
    """Draws replies of the policy as ``model`` is at each call; the seeds come from torch's global generator."""

    def __init__(self, policy: Policy, model: PeftModel, settings: AlignSettings) -> None:
        self._params = {
            "temperature": settings.temperature, "top_p": 1.0, "top_k": 0, "max_tokens": settings.max_new_tokens,
            "stop_token_ids": list(policy.eos_ids),
        }  # fmt: skip
        with seeded_rng(0):  # In this process vLLM seeds the generators, and the run's go on as they were.
            self._engine = vllm_generation.VLLMGeneration(
                model=model,
                accelerator=Accelerator(),
                processing_class=policy.tokenizer,
                gpu_memory_utilization=SHARE,
                max_model_length=settings.window.tokens,
                max_num_seqs=settings.batch_size,
            )
        hand_merged(self._engine, model)

    def __call__(self, contexts: Sequence[DialogueContext]) -> list[list[int]]:
        """The token ids of one reply to each context, the end mark among them where it has one."""
        self._engine.sync_weights()
        params = import_module("vllm").SamplingParams
        seeds = torch.randint(2**31, (len(contexts),)).tolist()
        # A seed each: requests with the same one would draw the same noise.
        found = self._engine.llm.generate(
            [{"prompt_token_ids": list(context.prompt)} for context in contexts],
            sampling_params=[params(**self._params, seed=seed) for seed in seeds],
            use_tqdm=False,
        )
        return [list(request.outputs[0].token_ids) for request in found]
