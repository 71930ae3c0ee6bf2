"""Published settings of a reward model, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, PublishedValue

_E = "appendix E, reward function training"
_D = "appendix D, reward model training"

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "objective": PublishedValue(
            "direct", "section 5.2 and figure 3: each method but the language model's trains the reward function itself"
        ),
        "backbone": PublishedValue(
            "facebook/bart-large",
            "appendix E: BART of 406M parameters. Section 5.2 starts from one that was trained to summarize "
            "conversations, kabita-choudhary/finetuned-bart-for-conversation-summary, of the same shape",
        ),
        "freeze_backbone": PublishedValue(
            False, "section 5.2: BART is built on, and 19 hours of training (appendix E)"
        ),
        "trained_layers": PublishedValue(0, "not in the paper: the whole of it"),
        "scoring": PublishedValue("windowed", "section 4.2: r_theta(s_t, a_t) of history and utterance"),
        "history_turns": PublishedValue(
            10, "section 3: all that was said before; every CANDOR history that appendix H prints has 10 turns"
        ),
        "max_tokens": PublishedValue(1024, "as many as BART has positions for"),
        "batch_turns": PublishedValue(160, f"{_E}: batch size 1, 160 samples a batch"),
        "lr": PublishedValue(5e-6, _E),
        "lr_backbone": PublishedValue(5e-6, _E),
        "gradient_checkpointing": PublishedValue(
            True, "not in the paper: the same bits, and 160 histories fit into the memory of one card"
        ),
    },
    "savoir": {
        "objective": PublishedValue("distilled", "section 3.5: the values of utterances are learned, by MSE"),
        "backbone": PublishedValue(
            "Qwen/Qwen2.5-7B-Instruct",
            "section 3.5 and appendix D: a regression head on top of the base model, which is named for the policy",
        ),
        "freeze_backbone": PublishedValue(False, "section 3.5: R(c, a) = MLP(LLM([c; a])), both with parameters theta"),
        "trained_layers": PublishedValue(0, "not in the paper: the whole of it"),
        "scoring": PublishedValue(
            "one_pass", "section 3.5: context and utterance in one text, read once; the head reads its last state here"
        ),
        "max_tokens": PublishedValue(2048, "appendix D, of the SFT stage"),
        "batch_turns": PublishedValue(16, f"{_D}: batches of 16; the instances are utterances"),
        "epochs": PublishedValue(5, _D),
        "patience": PublishedValue(5, "not in the paper: no end before the last epoch"),
        "lr": PublishedValue(1e-5, _D),
        "lr_backbone": PublishedValue(1e-5, _D),
        "gradient_checkpointing": PublishedValue(True, "not in the paper: the same bits in less memory"),
    },
}
"""LLM-GELI. AdamW (appendix E) is what this package trains by; the paper gives neither epochs nor weight decay.

SAVOIR gives neither weight decay nor the width of its MLP.
"""

BESIDE_MINILM: Mapping[str, frozenset[str]] = {
    "paper": frozenset({"objective", "backbone", "scoring"}),
    "savoir": frozenset({"objective", "backbone"}),
}
"""What of a preset is taken beside a backbone that is another's stand-in: nothing that is said of training the
published one, and of SAVOIR not how it is read, which takes a causal model."""
