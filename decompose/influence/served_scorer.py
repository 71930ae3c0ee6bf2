"""The Measurer at a server that tells how probable a prompt's tokens are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

_PROBE = (ChatMessage("user", "Tea or milk?"), ChatMessage("assistant", "Tea."))


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
        return self._request(_PROBE, f"{self.llm.model}, whether it gives probabilities")

    def requests(self, prompts: Sequence[Prompt], replies: Sequence[str]) -> list[list[ChatRequest]]:
        """For each of N prompts 1 + M requests: the prompt alone, and with each of M replies."""
        return [[self._of(prompt, ""), *(self._of(prompt, reply) for reply in replies)] for prompt in prompts]

    def _of(self, prompt: Prompt, reply: str) -> ChatRequest:
        begun = prompt.begun + reply
        messages = prompt.messages if not begun else (*prompt.messages, ChatMessage("assistant", begun))
        return self._request(messages, self.subject)

    def _request(self, messages: Sequence[ChatMessage], subject: str) -> ChatRequest:
        if self.way == "completions":
            messages = self._bare(messages)
        asking = {**self.llm.asking, "max_tokens": 1, "temperature": 0.0}
        return ChatRequest(**asking, messages=tuple(messages), measures=self.way, subject=subject)

    def _bare(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The text up to where the assistant begins, and what it begins with."""
        said = messages[-1].content if messages[-1].role == "assistant" else ""
        read = tuple(messages[:-1] if said else messages)
        if self.text is None:
            text = "\n".join([*(f"{one.role}: {one.content}" for one in read), "assistant: "])
        else:
            text, said = self.text.bare(Prompt(read)), self.text.said(said)
        return [ChatMessage("user", text), *([ChatMessage("assistant", said)] if said else [])]


class ServedMeasurer:
    """Asks for the probabilities of each prompt alone and with each reply; the server shares what they have in common.

    A reply's tokens are those that come after what a prompt with it and without it have in common.

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
        placed = [(n, m, request) for n, of_prompt in enumerate(asked) for m, request in enumerate(of_prompt)]
        told = mapped(self._told, placed, self._wording.llm.concurrency)
        width = len(replies) + 1
        found = [list(_replies_of(told[n * width : (n + 1) * width])) for n in range(len(prompts))]
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
            raise TooLongError(str(error), prompt, max(reply - 1, 0)) from None
        except ValueError as error:
            raise UnitError(f"{request.subject}: {error}") from None


def _replies_of(told: Sequence[PromptLogprobs]) -> Iterator[tuple[float, int]]:
    """Sum of log-probabilities and number of tokens of each reply, the prompt alone being the first of ``told``."""
    alone, *with_reply = told
    for one in with_reply:
        start = max(common_length([alone.tokens, one.tokens]), 1)
        logs = one.logs[start:]
        if not logs or any(log is None for log in logs):
            raise UnitError(
                f"the server told {len(one.tokens)} tokens of a prompt with its reply and {len(alone.tokens)} of the "
                "prompt alone: what the reply's are cannot be seen. Its template may leave out what the assistant says."
            )
        yield float(sum(log for log in logs if log is not None)), len(logs)
