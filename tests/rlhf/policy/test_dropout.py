from __future__ import annotations

import pytest
import torch
import transformers

from apportion.rlhf.policy.loading import without_dropout

SIZES = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
MODELS = {
    "OPT": {
        **SIZES, "ffn_dim": 32, "word_embed_proj_dim": 32, "dropout": 0.5, "attention_dropout": 0.5, "layerdrop": 0.5,
    },
    "Llama": {**SIZES, "intermediate_size": 32, "attention_dropout": 0.5},
    "GPT2": {
        "vocab_size": 50, "n_embd": 32, "n_layer": 2, "n_head": 2,
        "resid_pdrop": 0.5, "embd_pdrop": 0.5, "attn_pdrop": 0.5,
    },
    "GPTNeoX": {**SIZES, "intermediate_size": 32, "hidden_dropout": 0.5, "attention_dropout": 0.5},
    "Bloom": {"vocab_size": 50, "hidden_size": 32, "n_layer": 2, "n_head": 2, "hidden_dropout": 0.5},
    "Phi": {**SIZES, "intermediate_size": 32, "resid_pdrop": 0.5, "embd_pdrop": 0.5, "attention_dropout": 0.5},
    "Gemma2": {**SIZES, "intermediate_size": 32, "num_key_value_heads": 1, "head_dim": 16, "attention_dropout": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_in_training_says_what_it_says_in_evaluation(kind: str) -> None:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{kind}Config")(**MODELS[kind]))
    tokens = torch.arange(24).reshape(2, 12)
    expected = model.eval()(tokens).logits
    assert not torch.allclose(model.train()(tokens).logits, expected, atol=1e-3)
    without_dropout(model)
    for _ in range(3):
        torch.testing.assert_close(model(tokens).logits, expected)
