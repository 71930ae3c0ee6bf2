"""The Measurer at a server that tells how probable a prompt's tokens are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apportion.decompose.influence.chat_text import ChatText
from apportion.decompose.influence.scorer import LogprobResult, Prompt, TooLongError, check_replies, common_length
from apportion.environments.concurrent_rollouts import mapped
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.errors import ContextLengthError, RequestError
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.prompt_logprobs import SERVERS, PromptLogprobs, Way, told_of

_PROBE = Prompt((ChatMessage("user", "Tea or milk?"),)), "Tea."


@dataclass(frozen=True)
class ServerPromptFormat:
    """How a server is asked: which model of it, and by which of its two ways.

    ``text`` writes bare prompts (way ``completions``) in the model's own chat template; without it they are lines that
    begin with the role, for models that know no chat. ``subject`` says in errors what is measured.
    """

    llm: LLMSettings
    way: Way = "chat"
    text: ChatText | None = None
    subject: str = ""

    def probe(self) -> ChatRequest:
        """A few words whose probabilities cost next to nothing: whether the server gives any."""
        return self._request(*_PROBE, f"{self.llm.model}, whether it gives probabilities")

    def requests(self, prompts: Sequence[Prompt], replies: Sequence[str]) -> list[list[ChatRequest]]:
        """For each of N prompts 1 + M requests: the prompt alone, and with each of M replies.

        Of a user's replies the prompt alone is not asked: servers add no empty message of a user.
        """
        return [
            [self._of(prompt, reply) for reply in (*([""] if prompt.speaker == "assistant" else []), *replies)]
            for prompt in prompts
        ]

    def _of(self, prompt: Prompt, reply: str) -> ChatRequest:
        return self._request(prompt, prompt.begun + reply, self.subject)

    def _request(self, prompt: Prompt, said: str, subject: str) -> ChatRequest:
        way: Way = "user" if prompt.speaker == "user" and self.way == "chat" else self.way
        messages, speaker = prompt.messages, prompt.speaker
        if way == "completions":
            messages, said = self._bare(prompt, said)
            speaker = "assistant"
        asking = {**self.llm.asking, "max_tokens": 1, "temperature": 0.0}
        shown = (*messages, ChatMessage(speaker, said)) if said else messages
        return ChatRequest(**asking, messages=shown, measures=way, subject=subject)

    def _bare(self, prompt: Prompt, said: str) -> tuple[tuple[ChatMessage, ...], str]:
        """The text up to where the speaker begins, and what they begin with."""
        if self.text is not None:
            text, said = self.text.bare(replace(prompt, begun="")), self.text.said(said)
        else:
            text = "\n".join([*(f"{one.role}: {one.content}" for one in prompt.messages), f"{prompt.speaker}: "])
        return (ChatMessage("user", text),), said


class ServedMeasurer:
    """Asks for the probabilities of each prompt alone and with each reply; the server shares what they have in common.

    A reply's tokens are those that come after what a prompt with it and without it have in common; a user's, after what
    all replies to the prompt have in common, so that their sums are known but for one number that all share.

    - ``complete`` (callable): Asks the model: `apportion.llm_client.session.LLMSession.complete`, which keeps each
      answer before it is used.
    - ``wording`` (Wording): Which model, by which way.
    """

    def __init__(self, complete: Complete, wording: ServerPromptFormat) -> None:
        self._complete, self._wording = complete, wording
        # Recorded replies cost nothing, and say themselves which one is missing.
        self._gives = wording.llm.provider == "recorded"

    def measure(self, prompts: Sequence[Prompt], replies: Sequence[str]) -> LogprobResult:
        """log P(reply | prompt) of each of M ``replies`` after each of N ``prompts``; see `Measurer`.

        Raises InputError: The server does not give probabilities; asked before anything else, by a few words.
        """
        check_replies(prompts, replies)
        if not self._gives:
            self._check()
            self._gives = True
        asked = self._wording.requests(prompts, replies)
        first = [len(of_prompt) - len(replies) for of_prompt in asked]
        placed = [(n, m - first[n], one) for n, of_prompt in enumerate(asked) for m, one in enumerate(of_prompt)]
        told = iter(mapped(self._told, placed, self._wording.llm.concurrency))
        found = [list(_replies_of([next(told) for _ in of_prompt], len(replies))) for of_prompt in asked]
        return LogprobResult(
            np.array([[sum_ for sum_, _ in row] for row in found]),
            np.array([[count for _, count in row] for row in found], dtype=np.int64),
        )

    def _check(self) -> None:
        probe = self._wording.probe()
        try:
            reply = self._complete(probe)
            told_of(reply)
        except (RequestError, ValueError) as error:
            raise InputError(
                f"the server of {probe.model!r} cannot be asked how probable a reply is: {error} {SERVERS}. Name "
                "another server or way, or measure with a model on this machine."
            ) from None

    def _told(self, placed: tuple[int, int, ChatRequest]) -> PromptLogprobs:
        prompt, reply, request = placed
        try:
            return told_of(self._complete(request))
        except ContextLengthError as error:
            raise TooLongError(str(error), prompt, max(reply, 0)) from None
        except ValueError as error:
            raise UnitError(f"{request.subject}: {error}") from None


def _replies_of(told: Sequence[PromptLogprobs], replies: int) -> Iterator[tuple[float, int]]:
    """Sum of log-probabilities and number of tokens of each reply; where there is one more, the first has none."""
    alone, with_reply = len(told) > replies, told[-replies:]
    distinct = {one.tokens for one in told}
    shared = min(common_length(list(distinct)), min(map(len, distinct)) - 1)
    for one in with_reply:
        start = max(common_length([told[0].tokens, one.tokens]) if alone else shared, 1)
        logs = one.logs[start:] if alone or len(distinct) == replies else ()
        if not logs or any(log is None for log in logs):
            raise UnitError(
                f"the server told {len(one.tokens)} tokens of a prompt with its reply and {len(told[0].tokens)} of the "
                f"prompt {'alone' if alone else 'with another'}: what the reply's are cannot be seen. Its template may "
                f"leave out what the {'assistant' if alone else 'user'} says."
            )
        yield float(sum(log for log in logs if log is not None)), len(logs)
