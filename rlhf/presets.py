"""Published settings of an alignment, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.settings import Preset, PublishedValue

PAPER_LR = 1.4e-5
PAPER_KL = 0.05
_E = "appendix E"
_TRL = "not in the paper: default of the PPOConfig that has `use_score_norm` (TRL 0.6 to 0.11)"

_PPO: dict[str, PublishedValue | Mapping[str, PublishedValue]] = {
    "policy": PublishedValue(
        "meta-llama/Llama-2-7b-chat-hf",
        "section 5.3 and appendix E: LLaMA-2, 7B; the variant is not given, and the chat one has the template that "
        "prompts need",
    ),
    "algorithm": PublishedValue("ppo", "section 5.3: PPO of the TRL library"),
    "steps": PublishedValue(4167, "section 5.1: roughly 100,000 pairs, each answered once in batches of 24"),
    "batch_size": PublishedValue(24, _E),
    "mini_batch_size": PublishedValue(24, "not in the paper: the whole batch"),
    "ppo_epochs": PublishedValue(4, _TRL),
    "lr": PublishedValue(PAPER_LR, _E),
    "lr_schedule": PublishedValue("constant", "not in the paper: TRL's trainer has no schedule unless it is given one"),
    "clip": PublishedValue(0.2, _E),
    "value_clip": PublishedValue(0.2, _TRL),
    "value_coefficient": PublishedValue(0.1, _TRL),
    "gae_lambda": PublishedValue(0.95, _TRL),
    "kl_controller": PublishedValue("adaptive", _TRL),
    "kl_target": PublishedValue(6.0, _TRL),
    "kl_horizon": PublishedValue(10_000, _TRL),
    "score_norm": PublishedValue(True, _E),
    "context_turns": PublishedValue(10, "appendix H: every one of its CANDOR histories has 10 turns"),
    "max_context_tokens": PublishedValue(
        1024, "not in the paper: the longest history of appendix H (387 words) fits with room to spare"
    ),
    "max_new_tokens": PublishedValue(128, "not in the paper: the longest reply of appendix H has 77 words"),
    "temperature": PublishedValue(1.0, "not in the paper: as TRL's examples sample"),
    "gradient_checkpointing": PublishedValue(
        True, "not in the paper: a matter of memory alone, with which a step fits on one of its cards of 48 GB"
    ),
    "lora": {
        "r": PublishedValue(24, _E),
        "alpha": PublishedValue(48, _E),
        "dropout": PublishedValue(0.05, f"{_E}; PPO leaves it out, since a ratio compares two policies without it"),
        "targets": PublishedValue(
            ("q_proj", "v_proj"), "appendix E: 13M trained weights; on these two layers they are 12,582,912"
        ),
    },
}

_D = "appendix D"
_QWEN = PublishedValue("Qwen/Qwen2.5-7B-Instruct", "section 4, implementation")
_LONG = "appendix D: sequences of at most 2,048 tokens in the SFT stage, of which a reply has 128 here"
_SAVOIR: dict[str, PublishedValue | Mapping[str, PublishedValue]] = {
    "policy": _QWEN,
    "context_turns": PublishedValue(20, "appendix D: episodes of 10 to 20 turns, read whole"),
    "max_context_tokens": PublishedValue(1920, _LONG),
    "max_new_tokens": PublishedValue(128, _LONG),
    "gradient_checkpointing": PublishedValue(True, "not in the paper: a matter of memory alone"),
}

PRESETS: Mapping[str, Preset] = {
    "savoir": {
        **_SAVOIR,
        "algorithm": PublishedValue("grpo", "section 4 and appendix D: GRPO (Shao et al., 2024)"),
        "environment": PublishedValue("sotopia", "section 4: online, on SOTOPIA"),
        "batch_size": PublishedValue(64, f"{_D}: 64 rollout episodes an iteration"),
        "mini_batch_size": PublishedValue(8, f"{_D}: 8 episodes an update"),
        "micro_batch_size": PublishedValue(1, "not in the paper: a matter of memory alone"),
        "num_generations": PublishedValue(
            8, "not in the paper: TRL's default; a group is 8 episodes of one task and seat"
        ),
        "ppo_epochs": PublishedValue(1, "not in the paper: TRL's default, every episode is learned from once"),
        "steps": PublishedValue(250, f"{_D}: 2,000 training steps, read as updates, of which an iteration has 64 / 8"),
        "lr": PublishedValue(5e-7, _D),
        "lr_schedule": PublishedValue("linear", "not in the paper, which has the warm-up alone: TRL's default"),
        "warmup": PublishedValue(500, f"{_D}: linear, 500 steps, read as updates like the 2,000"),
        "beta": PublishedValue(0.05, _D),
        "scale_rewards": PublishedValue(True, f"{_D}: GRPO as Shao et al. (2024) have it"),
        "temperature": PublishedValue(0.7, _D),
        "reward_placement": PublishedValue("turn", "section 3.5: utterance-level feedback"),
    },
    "savoir-sft": {
        **_SAVOIR,
        "algorithm": PublishedValue("sft", f"{_D}, supervised fine-tuning"),
        "epochs": PublishedValue(3, f"{_D}, supervised fine-tuning"),
        "lr": PublishedValue(2e-5, f"{_D}, supervised fine-tuning"),
        "lr_schedule": PublishedValue("cosine", f"{_D}, supervised fine-tuning"),
        "batch_size": PublishedValue(32, f"{_D}, supervised fine-tuning"),
        "mini_batch_size": PublishedValue(
            32, "not read by sft: as large as the batch, which is divided by it otherwise"
        ),
        "micro_batch_size": PublishedValue(1, "not in the paper: a matter of memory alone"),
        "temperature": PublishedValue(0.7, f"{_D}: of the stage that follows"),
    },
    "paper": {
        **_PPO,
        "gamma": PublishedValue(0.05, "appendix E, gamma = 0.05, read as TRL's `gamma`, the discount"),
        "beta": PublishedValue(0.2, _TRL),
    },
    "paper-kl": {
        **_PPO,
        "gamma": PublishedValue(1.0, _TRL),
        "beta": PublishedValue(PAPER_KL, "appendix E, gamma = 0.05, read as Eq. 1's gamma, the weight of the KL"),
    },
}
"""LLM-GELI in the two readings of "gamma = 0.05", and SAVOIR's two stages.

Appendix E lists it between a learning rate and `use score norm`, which are names of TRL's PPOConfig from 0.6 to 0.11;
there ``gamma`` is the discount from token to token (default 1), and the weight of the divergence is ``init_kl_coef``
(default 0.2, adaptive). So ``paper`` has it: a reply's score, paid at its last token, then reaches the token before it
with a twentieth of its size, and hardly the one before that. Eq. 1 calls the weight of the divergence gamma, too:
``paper-kl`` has that reading, with TRL's discount. The 0.05 that later versions of TRL have as a KL weight is no
reason for it: they came with another configuration, which has no score norm. Which of the two was run, the paper does
not say; nor whether `use_score_norm`, which TRL reads with `use_score_scaling` alone, came with it. Here it is on.

`savoir` and `savoir-sft` are SAVOIR's two stages (section 4, appendix D). The adapters are LLM-GELI's, which are the
defaults: whether all weights or adapters are trained, the paper does not say.
"""
