"""Vectors of texts: by the embedded MiniLM, or by any model by name or folder that the reward models read with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foundation.arrays import Floats

MINILM = "minilm"
MAX_TOKENS = 256
AT_ONCE = 64


@dataclass(frozen=True)
class TextEmbedding:
    """Mean over the tokens of a text of a model's last hidden states (`reward_model.network.backbones`).

    Parameters
    ----------
    model : str
        ``minilm``, or the name or folder of a Hugging Face model.
    max_tokens : int
        Of a text; what is longer is cut.
    """

    model: str = MINILM
    max_tokens: int = MAX_TOKENS

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors [shape=(N, d)].

        Raises
        ------
        InputError
            There is no such model.
        """
        import numpy as np

        from reward_model.network.backbones import frozen_backbone

        backbone = frozen_backbone(self.model, self.max_tokens)
        half = backbone.width // 2
        parts = []
        for start in range(0, len(texts), AT_ONCE):
            # A window is a history and a reply; the second half of its embedding is the reply's own.
            made = backbone.embed([("", text) for text in texts[start : start + AT_ONCE]])
            parts.append(made[:, half:].numpy().astype(np.float64))
        stacked: Floats = np.concatenate(parts)
        return stacked
