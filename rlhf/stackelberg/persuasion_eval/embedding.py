"""Vectors of texts: by the embedded MiniLM, by any model that the reward models read with, or by a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.environments.concurrent_rollouts import mapped
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.embeddings import EMBEDDINGS, vector_of

MINILM = "minilm"
MAX_TOKENS = 256
AT_ONCE = 64


@dataclass(frozen=True)
class TextEmbedding:
    """Mean over the tokens of a text of a model's last hidden states (`apportion.reward_model.network.backbones`).

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

        from apportion.reward_model.network.backbones import frozen_backbone

        backbone = frozen_backbone(self.model, self.max_tokens)
        half = backbone.width // 2
        parts = []
        for start in range(0, len(texts), AT_ONCE):
            # A window is a history and a reply; the second half of its embedding is the reply's own.
            made = backbone.embed([("", text) for text in texts[start : start + AT_ONCE]])
            parts.append(made[:, half:].numpy().astype(np.float64))
        stacked: Floats = np.concatenate(parts)
        return stacked


@dataclass(frozen=True)
class ServedEmbedding:
    """A server's embeddings, a text a request; each vector is kept before it is used.

    Parameters
    ----------
    settings : LLMSettings
        The model and its server.
    complete : callable
        Asks it (`apportion.llm_client.session.LLMSession.complete`).
    """

    settings: LLMSettings
    complete: Complete

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors [shape=(N, d)].

        Raises
        ------
        InputError, StoppedError
            As `apportion.llm_client.session.LLMSession.complete`.
        UnitError
            The server failed, or gave vectors of several lengths.
        """
        import numpy as np

        made = mapped(self._vector, list(texts), self.settings.concurrency)
        lengths = sorted({len(vector) for vector in made})
        if len(lengths) > 1:
            raise UnitError(
                f"the embeddings of {self.settings.model!r} have {lengths} numbers; they must be of one length. Name "
                "another model."
            )
        stacked: Floats = np.array(made, dtype=np.float64)
        return stacked

    def _vector(self, text: str) -> list[float]:
        request = ChatRequest(
            self.settings.model, (ChatMessage("user", text),), measures=EMBEDDINGS, subject="the vector of an answer"
        )
        try:
            return vector_of(self.complete(request))
        except ValueError as error:
            raise UnitError(f"{request.subject}: {error}") from None
