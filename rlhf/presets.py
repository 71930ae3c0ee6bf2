"""Published settings of an alignment, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from foundation.presets import Preset, Published

PAPER_LR = 1.4e-5
PAPER_KL = 0.05
_E = "appendix E"
_TRL = "not in the paper: default of the PPOConfig that has `use_score_norm` (TRL 0.6 to 0.11)"

_PPO: dict[str, Published | Mapping[str, Published]] = {
    "policy": Published(
        "meta-llama/Llama-2-7b-chat-hf",
        "section 5.3 and appendix E: LLaMA-2, 7B; the variant is not given, and the chat one has the template that "
        "prompts need",
    ),
    "algorithm": Published("ppo", "section 5.3: PPO of the TRL library"),
    "steps": Published(4167, "section 5.1: roughly 100,000 pairs, each answered once in batches of 24"),
    "batch": Published(24, _E),
    "minibatch": Published(24, "not in the paper: the whole batch"),
    "inner_epochs": Published(4, _TRL),
    "lr": Published(PAPER_LR, _E),
    "lr_schedule": Published("constant", "not in the paper: TRL's trainer has no schedule unless it is given one"),
    "clip": Published(0.2, _E),
    "value_clip": Published(0.2, _TRL),
    "value_coefficient": Published(0.1, _TRL),
    "gae_lambda": Published(0.95, _TRL),
    "kl_controller": Published("adaptive", _TRL),
    "kl_target": Published(6.0, _TRL),
    "kl_horizon": Published(10_000, _TRL),
    "score_norm": Published(True, _E),
    "context_turns": Published(10, "appendix H: every one of its CANDOR histories has 10 turns"),
    "max_context_tokens": Published(
        1024, "not in the paper: the longest history of appendix H (387 words) fits with room to spare"
    ),
    "max_new_tokens": Published(128, "not in the paper: the longest reply of appendix H has 77 words"),
    "temperature": Published(1.0, "not in the paper: as TRL's examples sample"),
    "gradient_checkpointing": Published(
        True, "not in the paper: a matter of memory alone, with which a step fits on one of its cards of 48 GB"
    ),
    "lora": {
        "r": Published(24, _E),
        "alpha": Published(48, _E),
        "dropout": Published(0.05, f"{_E}; PPO leaves it out, since a ratio compares two policies without it"),
        "targets": Published(
            ("q_proj", "v_proj"), "appendix E: 13M trained weights; on these two layers they are 12,582,912"
        ),
    },
}

PRESETS: Mapping[str, Preset] = {
    "paper": {
        **_PPO,
        "gamma": Published(0.05, "appendix E, gamma = 0.05, read as TRL's `gamma`, the discount"),
        "kl_coefficient": Published(0.2, _TRL),
    },
    "paper-kl": {
        **_PPO,
        "gamma": Published(1.0, _TRL),
        "kl_coefficient": Published(PAPER_KL, "appendix E, gamma = 0.05, read as Eq. 1's gamma, the weight of the KL"),
    },
}
"""LLM-GELI in the two readings of "gamma = 0.05".

Appendix E lists it between a learning rate and `use score norm`, which are names of TRL's PPOConfig from 0.6 to 0.11;
there ``gamma`` is the discount from token to token (default 1), and the weight of the divergence is ``init_kl_coef``
(default 0.2, adaptive). So ``paper`` has it: a reply's score, paid at its last token, then reaches the token before it
with a twentieth of its size, and hardly the one before that. Eq. 1 calls the weight of the divergence gamma, too:
``paper-kl`` has that reading, with TRL's discount. The 0.05 that later versions of TRL have as a KL weight is no
reason for it: they came with another configuration, which has no score norm. Which of the two was run, the paper does
not say; nor whether `use_score_norm`, which TRL reads with `use_score_scaling` alone, came with it. Here it is on.
"""
