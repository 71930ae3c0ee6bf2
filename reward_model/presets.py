"""Published settings of a reward model, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from foundation.presets import Preset, Published

_E = "appendix E, reward function training"

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "objective": Published(
            "direct", "section 5.2 and figure 3: each method but the language model's trains the reward function itself"
        ),
        "backbone": Published(
            "facebook/bart-large",
            "appendix E: BART of 406M parameters. Section 5.2 starts from one that was trained to summarize "
            "conversations, kabita-choudhary/finetuned-bart-for-conversation-summary, of the same shape",
        ),
        "freeze_backbone": Published(False, "section 5.2: BART is built on, and 19 hours of training (appendix E)"),
        "trained_layers": Published(0, "not in the paper: the whole of it"),
        "scoring": Published("windowed", "section 4.2: r_theta(s_t, a_t) of history and utterance"),
        "history_turns": Published(
            10, "section 3: all that was said before; every CANDOR history that appendix H prints has 10 turns"
        ),
        "max_tokens": Published(1024, "as many as BART has positions for"),
        "batch_turns": Published(160, f"{_E}: batch size 1, 160 samples a batch"),
        "lr": Published(5e-6, _E),
        "lr_backbone": Published(5e-6, _E),
        "gradient_checkpointing": Published(
            True, "not in the paper: the same bits, and 160 histories fit into the memory of one card"
        ),
    }
}
"""LLM-GELI. AdamW (appendix E) is what this package trains by; the paper gives neither epochs nor weight decay."""

OF_THE_BACKBONE = frozenset(PRESETS["paper"]) - {"objective", "backbone", "scoring"}
"""What is said of training the published backbone, and of nothing else."""
