"""Who answers a leader in the follower's own prompt, outside of a game: a model of this machine, or one at a server."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.questions import speech_chat, spoken_words

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy

AT_ONCE = 8
"""Answers that a local model gives together."""


class Follower(Protocol):
    """Answers speeches."""

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """What the follower of each turn answers to what was ``said`` in it (N of each)."""
        ...


@dataclass(frozen=True)
class LocalFollower:
    """A causal language model of this machine; what it draws is decided by the seed and by what it reads."""

    policy: Policy
    window: Window
    seed: int = 0

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """As `Follower.answers`.

        Raises
        ------
        UnitError
            Probabilities that are no finite numbers.
        """
        from apportion.rlhf.policy.contexts import DialogueContext, render, speaker_messages
        from apportion.rlhf.sampling.seeded_sampling import drawn_replies
        from apportion.rlhf.stackelberg.dialogues import prompt_episode

        contexts = []
        for one, words in zip(instances, said, strict=True):
            episode = prompt_episode(one.name, speech_chat(one.after(words)))
            messages = speaker_messages(episode.turns, episode)
            prompt = render(messages, self.policy.tokenizer, reply_follows=True)
            contexts.append(DialogueContext(one.name, 1, messages, prompt, ""))
        found: list[str] = []
        for start in range(0, len(contexts), AT_ONCE):
            part: list[Any] = contexts[start : start + AT_ONCE]
            seed = [self.seed, start]
            found += map(spoken_words, drawn_replies(self.policy, self.policy.model, part, self.window, seed))
        return found


@dataclass(frozen=True)
class AskedFollower:
    """A language model at a server; every reply is kept before it is used."""

    settings: LLMSettings
    complete: Complete
    seed: int = 0
    concurrency: int = 1

    def answers(self, instances: Sequence[Instance], said: Sequence[str]) -> list[str]:
        """As `Follower.answers`; a reply that was declined or cut off is no answer.

        Raises
        ------
        InputError, StoppedError, UnitError
            As `apportion.llm_client.session.LLMSession.complete`.
        """
        requests = self.requests(instances, said)
        with ThreadPoolExecutor(max(1, min(self.concurrency, len(requests)))) as pool:
            try:
                return list(pool.map(self._answer, requests))
            finally:
                pool.shutdown(cancel_futures=True)

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
