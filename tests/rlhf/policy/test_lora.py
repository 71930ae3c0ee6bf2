from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.lora import attach_adapter, trained_weights
from apportion.rlhf.policy_settings import LoraSettings
from apportion.rlhf.settings import PAPER
from tests.rlhf.toy import small_policy


def test_the_papers_adapters_on_llama_2_7b_have_12_582_912_weights():
    # LLaMA-2-7B: 32 layers, width 4096, no grouped attention. Shapes alone: nothing is allocated.
    with torch.device("meta"):
        model = LlamaForCausalLM(
            LlamaConfig(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32)
        )
        adapted = attach_adapter(model, PAPER.lora)
    assert trained_weights(adapted) == 12_582_912


def test_an_unknown_layer_is_named_with_those_there_are():
    with pytest.raises(InputError, match=r"no linear layer 'c_attn'. It has: .*q_proj.*v_proj"):
        attach_adapter(small_policy().model, LoraSettings(targets=("q_proj", "c_attn")))
