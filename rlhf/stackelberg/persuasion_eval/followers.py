"""Followers that answer outside of a game, and vectors of what they answer: by models here or at a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from apportion.environments.concurrent_rollouts import mapped
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.embeddings import EMBEDDINGS, vector_of
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import speech_chat, spoken_words

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy


ANSWERS_AT_ONCE = 8


class Follower(Protocol):
    """Answers speeches."""

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """What the follower of each turn answers to what was ``said`` in it (N of each)."""


@dataclass(frozen=True)
class LocalFollower:
    """A causal language model of this machine; what it draws is decided by the seed and by what it reads."""

    policy: Policy
    window: Window
    seed: int = 0

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """As `Follower.answers`."""
        from apportion.rlhf.sampling.rollout import sample_seeded
        from apportion.rlhf.stackelberg.dialogues import prompt_context

        contexts = [
            prompt_context(self.policy, one.name, speech_chat(one.after(words)))
            for one, words in zip(instances, said, strict=True)
        ]
        found: list[str] = []
        for start in range(0, len(contexts), ANSWERS_AT_ONCE):
            part: list[Any] = contexts[start : start + ANSWERS_AT_ONCE]
            seed = [self.seed, start]
            found += map(spoken_words, sample_seeded(self.policy, self.policy.model, part, self.window, seed))
        return found


@dataclass(frozen=True)
class PromptedFollower:
    """A language model at a server; every reply is kept before it is used."""

    settings: LLMSettings
    complete: Complete
    seed: int = 0
    concurrency: int = 1

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """As `Follower.answers`; a reply that was declined or cut off is no answer."""
        return mapped(self._answer, self.requests(instances, said), self.concurrency)

    def requests(self, instances: Sequence[Instance], said: Sequence[str]) -> list[ChatRequest]:
        """What is asked."""
        return [
            ChatRequest(
                **self.settings.asking,
                messages=speech_chat(one.after(words)),
                sample=self.seed,
                subject=f"the follower's answer, turn {one.name}",
            )
            for one, words in zip(instances, said, strict=True)
        ]

    def _answer(self, request: ChatRequest) -> str:
        reply = self.complete(request)
        try:
            check_finished(reply, "say less")
        except ReplyMistakeError:
            return ""
        return spoken_words(reply.text)


MINILM = "minilm"
MAX_TOKENS = 256
TEXTS_AT_ONCE = 64


@dataclass(frozen=True)
class TextEmbedding:
    """Mean over the tokens of a text of a model's last hidden states (`apportion.reward_model.network.backbones`).

    ``model``: ``minilm``, or the name or folder of a Hugging Face model. ``max_tokens``: of a text; what is longer is
    cut.
    """

    model: str = MINILM
    max_tokens: int = MAX_TOKENS

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors [shape=(N, d)]."""
        import numpy as np

        from apportion.reward_model.network.backbones import frozen_backbone

        backbone = frozen_backbone(self.model, self.max_tokens, exact=True)
        half = backbone.width // 2
        parts = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            # A window is a history and a reply; the second half of its embedding is the reply's own.
            made = backbone.embed([("", text) for text in texts[start : start + TEXTS_AT_ONCE]])
            parts.append(made[:, half:].numpy().astype(np.float64))
        stacked: Floats = np.concatenate(parts)
        return stacked


@dataclass(frozen=True)
class ServedEmbedding:
    """A server's embeddings, a text a request; each vector is kept before it is used.

    ``complete``: asks it (`apportion.llm_client.session.LLMSession.complete`).
    """

    settings: LLMSettings
    complete: Complete

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Vectors [shape=(N, d)]."""
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
