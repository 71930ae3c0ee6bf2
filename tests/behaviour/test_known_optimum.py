import copy
import statistics
from collections.abc import Callable
from functools import lru_cache

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.policy_settings import LoraSettings, TinySettings
from apportion.rlhf.ppo.ppo import PPO
from apportion.rlhf.settings import AlarmSettings, AlignSettings
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.tiny_policy import build_tiny
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.toy import chats, contexts, small_policy, token_contexts, train

SEEDS = range(3)
WINDOW = 5
"""Steps over which replies are averaged: 240 of them."""
REACHED = 0.95
LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
SETTINGS = AlignSettings(
    # Most runs are there within 50 steps.
    steps=300,
    batch_size=48,
    mini_batch_size=24,
    num_generations=8,
    lr=3e-3,
    lr_schedule="constant",
    beta=0.0,
    max_context_tokens=64,
    max_new_tokens=10,
    temperature=1.0,
    lora=LoraSettings(r=8, alpha=16, dropout=0.0, targets=LAYERS),
    tiny=TinySettings(hidden=64, layers=1, vocabulary=320, warmup_steps=200, warmup_batch=4),
    alarms=AlarmSettings(length_factor=0, entropy_share=0, repetition_rise=0, self_similarity_rise=0, max_kl=0),
)
TASKS: dict[str, Callable[[str], float]] = {
    # The best that a reply can earn is 1 in all of them.
    "prefer a token": lambda reply: float(reply.startswith("w")),
    "prefer short": lambda reply: 1 - len(reply) / 20,
    "prefer a polite marker": lambda reply: float("pleasure" in reply),
}


class Reached(Exception):  # noqa: N818
    """The optimum is reached; nothing more has to be seen."""


@lru_cache
def beginning(seed: int) -> Policy:
    """The policy that every task and both algorithms begin with; to be copied."""
    return build_tiny(chats(4), SETTINGS, seed)


def rewards(algorithm: str, task: str, seed: int) -> list[float]:
    """Mean reward of each step's replies, up to where the last ``WINDOW`` steps reach the optimum."""
    beta = 0.1 if algorithm == "dpo" else 0.0  # By 0 a preference teaches nothing.
    settings = SETTINGS.model_copy(update={"algorithm": algorithm, "beta": beta})
    policy = copy.deepcopy(beginning(seed))
    seen: list[float] = []

    def watch(step, metrics):
        seen.append(metrics["reward"])
        if len(seen) >= WINDOW and statistics.fmean(seen[-WINDOW:]) >= REACHED:
            raise Reached

    def reward(contexts, histories, replies):
        return [TASKS[task](reply) for reply in replies]

    torch.manual_seed(seed)
    try:
        if algorithm == "ppo":
            model = attach_adapter(policy.model, settings.lora)
            PPO(policy, model, contexts(policy), reward, settings).run(Run(settings, seed, watch=(watch,)))
        else:
            train(TrainingData(policy, contexts(policy), reward), Run(settings, seed, watch=(watch,)))
    except Reached:
        pass
    return seen


def reaches(algorithm: str, task: str, seed: int) -> None:
    seen = rewards(algorithm, task, seed)
    # It is not there at the start, so that it has been learned.
    assert statistics.fmean(seen[:2]) < 0.75
    assert statistics.fmean(seen[-WINDOW:]) >= REACHED, seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("algorithm", ["ppo", "grpo"])
def test_the_optimum_is_reached_from_every_seed(algorithm, task, seed):
    reaches(algorithm, task, seed)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["raft", "dpo"])
def test_the_optimum_is_reached_from_the_best_of_a_group(algorithm):
    reaches(algorithm, "prefer a token", 0)


def wide_policy() -> Policy:
    """Its width is above its vocabulary, so that adapters reach any distribution of a token."""
    small = small_policy()
    size = {"hidden_size": 320, "head_dim": 80, "num_attention_heads": 4, "num_hidden_layers": 1}
    config = LlamaConfig(**{**small.model.config.to_dict(), **size})
    torch.manual_seed(0)
    return Policy.of("wide", LlamaForCausalLM(config).eval(), small.tokenizer)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "grpo", "rloo"])
def test_one_beta_leads_to_one_policy(algorithm):
    """Replies of a token to one question: the best policy is reference * exp(score / beta), whoever looks for it."""
    policy, beta = wide_policy(), 0.5
    asked = token_contexts(policy)

    def worth(text: str) -> float:
        return float(any(letter in text for letter in "aeiou"))

    def reward(contexts, histories, replies):
        return [worth(reply) for reply in replies]

    def likely(model) -> torch.Tensor:
        with torch.no_grad():
            return model(torch.tensor([asked[0].prompt])).logits[0, -1].double().softmax(-1)

    sizes = {"batch_size": 64, "mini_batch_size": 64, "num_generations": 16, "ppo_epochs": 1, "max_new_tokens": 1}
    weighed = {"beta": beta, "score_norm": False, "lr_schedule": "linear", "lr": 2e-3, "steps": 150}
    settings = SETTINGS.model_copy(update={"algorithm": algorithm, **sizes, **weighed})
    texts = (policy.tokenizer.decode([token], skip_special_tokens=True) for token in range(len(policy.tokenizer)))
    scores = torch.tensor([worth(text) for text in texts], dtype=torch.double)
    reference = likely(policy.model)
    torch.manual_seed(0)
    model = train(TrainingData(policy, asked, reward), Run(settings, 0)).eval()
    best = (reference.log() + scores / beta).softmax(-1)
    assert (reference - best).abs().max() > 0.05
    assert (likely(model) - best).abs().max() < 0.01
