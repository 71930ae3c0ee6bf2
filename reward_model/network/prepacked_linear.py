"""A frozen network that multiplies by weights laid out for this processor, as quickly as single precision allows."""

from __future__ import annotations

from functools import lru_cache, partial

import torch
from torch import Tensor, nn

from apportion.reward_model.network.backbones import Backbone, load_backbone


@lru_cache(maxsize=2)
def reading_backbone(name: str, max_tokens: int) -> Backbone:
    """`load_backbone` once a process, to read single texts on the CPU: never trained, moved or saved.

    Raises
    ------
    InputError
        As `load_backbone`.
    """
    return pack(load_backbone(name, max_tokens).requires_grad_(False).eval())


def pack(backbone: Backbone) -> Backbone:
    """Let its linear layers multiply by oneDNN, with their weights in its order (where this torch has it).

    Torch hands them to Intel's MKL, which on other makers' processors leaves half of what they can do unused. Results
    differ by rounding: by about a millionth of a hidden state.
    """
    operations = torch.ops.mkldnn
    has_it: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not (has_it and hasattr(operations, "_linear_pointwise")):
        return backbone
    for layer in backbone.encoder.modules():
        if type(layer) is nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu":
            packed = operations._reorder_linear_weight(layer.weight.detach(), None)
            layer.forward = partial(_multiplied, packed, layer.bias)  # type: ignore[method-assign]
    return backbone


def _multiplied(packed: Tensor, bias: Tensor | None, states: Tensor) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(states, packed, bias, "none", [], "")
    return product
