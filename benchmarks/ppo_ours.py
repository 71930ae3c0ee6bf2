"""Our PPO on the task of benchmarks/ppo.py, which runs this in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter, trained_weights
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.settings import AlarmSettings, AlignSettings
from benchmarks.ppo_task import LORA, Meter, Task, serve, tokenizer


class TextReward:
    """The reward model that TRL gets as well, read through text, as rewards are here."""

    def __init__(self, task: Task, words: Any) -> None:
        self.model = task.build("LlamaForSequenceClassification", 2, num_labels=1).eval()
        self.words = words

    @torch.no_grad()
    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        texts = [f"{history} {reply}" for history, reply in zip(histories, replies, strict=True)]
        read = self.words(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(self.model.device)
        scores: Any = self.model(input_ids=read.input_ids, attention_mask=read.attention_mask, use_cache=False)
        found: list[float] = scores.logits.squeeze(-1).float().tolist()
        return found


def run(task: Task, variant: str) -> None:
    """``variant`` is not used: there is one."""
    torch.set_num_threads(task.threads)
    meter = Meter(task)
    words = tokenizer(task)
    settings = AlignSettings(
        policy="random", device="cuda" if task.device == "cuda" else "cpu",
        dtype="bfloat16" if task.device == "cuda" else "float32", steps=task.steps + 1, batch_size=task.batch,
        mini_batch_size=task.batch, ppo_epochs=task.ppo_epochs, max_context_tokens=task.prompt,
        max_new_tokens=task.reply, temperature=0.7,
        alarms=AlarmSettings(max_kl=0, length_factor=0, repetition_rise=0, self_similarity_rise=0, entropy_share=0),
        lora=LoraSettings(r=LORA["r"], alpha=LORA["lora_alpha"], dropout=LORA["lora_dropout"],
                          targets=tuple(LORA["target_modules"])),
    )  # fmt: skip
    policy = Policy.of("random", task.build("LlamaForCausalLM", 0), words)
    contexts = [
        DialogueContext(f"s{i}", 0, (), tuple(prompt), words.decode(prompt)) for i, prompt in enumerate(task.prompts())
    ]
    model = attach_adapter(policy.model, settings.lora)
    ppo = PPO(policy, model, contexts, TextReward(task, words), settings)
    torch.manual_seed(0)
    meter.mark()
    lengths = []
    for step in range(1, settings.steps + 1):
        lengths.append(ppo.step(step)["response_tokens"])
        meter.mark()
    meter.tell(trained_weights=trained_weights(ppo.actor), reply_tokens=sum(lengths) / len(lengths))


if __name__ == "__main__":
    serve(run)
