"""A language model out of a GGUF file (llama.cpp's format): its 4-bit weights written out once, as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def convert_gguf(source: Path, folder: Path) -> None:
    """Write the causal model in ``source`` into ``folder``: float32 safetensors, configuration, tokenizer, template.

    Kept in 4 bits, or in bfloat16, it would be computed slowly on processors that multiply neither.
    """
    import torch
    from gguf import GGUFReader
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place, name = str(source.parent), source.name
    model: Any = AutoModelForCausalLM.from_pretrained(
        place, gguf_file=name, dtype=torch.float32, trust_remote_code=False
    )
    # What is saved is no GGUF any more; loaders would look for a quantiser.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    tokenizer: Any = AutoTokenizer.from_pretrained(place, gguf_file=name, trust_remote_code=False)
    tokenizer.model_max_length = model.config.max_position_embeddings
    split_as = GGUFReader(source).get_field("tokenizer.ggml.pre")
    if split_as is not None and split_as.contents() == "smollm":  # Of which transformers takes no notice.
        words = tokenizer.backend_tokenizer
        words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), words.pre_tokenizer])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
