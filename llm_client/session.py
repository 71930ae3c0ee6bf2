"""What methods, judges and agents ask a language model by: a client made when it is first needed, and a second try.

`LLMSession` lends the client, and `ask_until_usable` shows a model its mistake and asks again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from apportion.foundation.errors import UnitError
from apportion.llm_client.cache.database import Place, may_exist
from apportion.llm_client.errors import ContextLengthError, RequestError, prefixed
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, answer_of
from apportion.llm_client.request import REASONING, ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings

if TYPE_CHECKING:
    from apportion.llm_client.client import Client

_Answer = TypeVar("_Answer")
_SENT_BACK = 32 * 1024
"""Characters of a bad reply that a model is shown, and the question pays for, at most."""
_KEPT = 64 * 1024
"""Characters of a bad reply that are kept as evidence; the cache has it whole."""

ANSWER_AGAIN = "Answer again with one JSON object of the given form."
ANOTHER_MODEL = " Use another model."


class LLMSession:
    """Lends a language model, and others of its server to requests that name them; safe to use from many threads.

    ``llm``: which model answers, and where it is. A request for another one is sent to the same server, and paid at
    that model's price. ``cache``: the SQLite file or PostgreSQL URL that keeps every reply; none keeps nothing.
    ``recorded``: the file of recorded replies, for ``provider = "recorded"``. ``record``: a file that every reply is
    added to, to serve as ``recorded`` later. ``prices``: a price table that goes before the shipped one.
    ``budget_usd``: US dollars that everything ever paid into ``cache`` may not pass. ``called``: what the caller calls
    the settings, for errors. ``too_long``: what the caller can do where a request does not fit into the model's
    context, for errors.
    """

    def __init__(
        self,
        llm: LLMSettings,
        *,
        cache: Place | None = None,
        recorded: Path | None = None,
        record: Path | None = None,
        prices: Path | None = None,
        budget_usd: float | None = None,
        called: str = "llm",
        too_long: str = "",
    ) -> None:
        self._llm = llm
        self._called, self._too_long = called, too_long
        self._cache, self._files = cache, {"recorded": recorded, "record": record, "prices": prices}
        self._budget_usd = budget_usd
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()

    def check(self, *, looks_only: bool = False, models: Collection[str] = ()) -> None:
        """Find out before any work whether requests can be made at all: key, consent, files. Sends nothing.

        Where it ``looks_only``, no file is made that was not there. ``models`` are those that will be asked; none: the
        one that is configured.

        Raises ``InputError``: what is missing, and how to give it.
        """
        for model in models or (self._llm.model,):
            if looks_only:
                self._look(model)
            else:
                self._open(model)

    def _look(self, model: str) -> None:
        from apportion.llm_client.client import Client

        with TemporaryDirectory() as folder, prefixed(self._called):
            cache = self._cache
            if cache is not None and not may_exist(cache):
                cache = Path(folder) / "cache.sqlite"
            files = {**self._files, "record": None}
            Client(self._of(model), cache=cache, **files, budget_usd=self._budget_usd).close()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The model's reply.

        Raises ``InputError``: no request can succeed until a person changes something. ``StoppedError``: the budget is
        used up. ``UnitError``: this request failed after all retries.
        """
        client = self._open(request.model)
        with prefixed(self._called), prefixed(request.subject, RequestError):
            try:
                return client.complete(request)
            except ContextLengthError as error:
                raise ContextLengthError(f"{error} {self._too_long}".rstrip(), error.evidence) from None
            except RequestError as error:
                # Whoever waits for the same reply is given the same error; each says its own subject before it.
                raise copy(error) from None

    def close(self) -> None:
        """Let go of the clients; a later request makes a new one."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def __enter__(self) -> LLMSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _of(self, model: str) -> LLMSettings:
        return self._llm if model == self._llm.model else self._llm.model_copy(update={"model": model})

    def _open(self, model: str) -> Client:
        from apportion.llm_client.client import Client

        with self._lock:
            if model not in self._clients:
                with prefixed(self._called):
                    self._clients[model] = Client(
                        self._of(model), cache=self._cache, **self._files, budget_usd=self._budget_usd
                    )
            return self._clients[model]


Complete = Callable[[ChatRequest], ChatReply]
"""Asks a model: `LLMSession.complete`, or what stands in for it."""


@dataclass(frozen=True)
class InvalidReply:
    """A reply that could not be used, whole, and why; ``request`` is the key of what was asked."""

    request: str
    model: str
    finish_reason: str
    mistake: str
    reply: str


class NoUsableReplyError(RequestError):
    """Every reply to a request was bad; ``replies`` has them, the last one last, ``evidence`` at most 64 Ki of each."""

    def __init__(self, message: str, replies: Sequence[InvalidReply] = ()) -> None:
        super().__init__(message, _evidence(replies))
        self.replies = tuple(replies)


def ask_until_usable(
    complete: Complete,
    request: ChatRequest,
    read: Callable[[ChatReply], _Answer],
    attempts: int,
    again: str = ANSWER_AGAIN,
    remedy: str = "",
) -> _Answer:
    """What ``read`` makes of the first reply that it can use, of at most ``attempts``.

    A model is shown its last reply and what is wrong with it, and is told ``again``; mistakes do not add up, so that
    the question stays as short as it can be. Every attempt is a request of its own: one whose words are those of an
    earlier one has its number in the key, so that no cache answers it by the reply that was bad. ``remedy``: what a
    person can do where the last reply's end does not say it.

    Raises ``InputError``: no request can succeed before a person changes something. ``StoppedError``: the budget is
    used up. ``NoUsableReplyError``: ``read`` has raised `ReplyMistakeError` on every reply. ``UnitError``: the server
    failed; ``evidence`` holds the bad replies before that in full, as a JSON list, and what it said.
    """
    bad: list[InvalidReply] = []
    asked = request
    while True:
        try:
            reply = complete(asked)
        except UnitError as error:
            error.evidence = _with_bad_replies(bad, error.evidence)
            raise
        try:
            return read(reply)
        except ReplyMistakeError as mistake:
            bad.append(InvalidReply(asked.key(), reply.model, reply.finish_reason, str(mistake), reply.text))
        if len(bad) == attempts:
            raise NoUsableReplyError(
                f"{request.subject}: no usable reply of {reply.model} in {attempts} attempts. "
                f"Last mistake: {bad[-1].mistake}.{_remedy(bad[-1]) or remedy}",
                bad,
            )
        asked = _with_mistake(request, bad[-1], again)
        if asked.key() in {one.request for one in bad}:
            asked = replace(asked, attempt=len(bad) + 1)


def _with_mistake(request: ChatRequest, bad: InvalidReply, again: str) -> ChatRequest:
    answer = ChatMessage("assistant", _shortened(answer_of(bad.reply)) or "(empty)")
    correction = ChatMessage("user", f"That reply cannot be used: {bad.mistake}. {again}")
    return replace(request, messages=(*request.messages, answer, correction))


def _shortened(text: str) -> str:
    left_out = len(text) - _SENT_BACK
    if left_out <= 0:
        return text
    half = _SENT_BACK // 2
    return f"{text[:half]}… ({left_out:,} characters left out) …{text[-half:]}"


def _remedy(last: InvalidReply) -> str:
    """What a person can do about a reply that asking again seldom mends."""
    if last.finish_reason == REASONING:
        return " The server took it for reasoning: start it without its reasoning parser, or switch thinking off."
    if last.finish_reason != "length":
        return ""
    if answer_of(last.reply):
        return " Raise max_tokens."
    return " The model's reasoning took all tokens: raise max_tokens, or lower reasoning_effort."


def _with_bad_replies(bad: Sequence[InvalidReply], evidence: str | None) -> str | None:
    """One JSON list of the bad replies and of what the server gave as the last answer, which is such a list, too."""
    if not bad or evidence is None:
        return _evidence(bad) or evidence
    return json.dumps([*_documents(bad), *json.loads(evidence)], ensure_ascii=False)


def _evidence(bad: Sequence[InvalidReply]) -> str | None:
    return json.dumps(_documents(bad), ensure_ascii=False) if bad else None


def _documents(bad: Sequence[InvalidReply]) -> list[dict[str, str]]:
    return [asdict(replace(reply, reply=reply.reply[:_KEPT])) for reply in bad]
