"""A server that speaks the OpenAI protocol, asked as its settings say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from apportion.llm_client.cache.writer import CacheWriter
from apportion.llm_client.cost.spending_limit import Budget
from apportion.llm_client.cost.tokens import estimated_tokens, used_tokens
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport import retry
from apportion.llm_client.transport.attempt import Attempt
from apportion.llm_client.transport.body import Answer
from apportion.llm_client.transport.circuit_breaker import CircuitBreaker
from apportion.llm_client.transport.completion import NoCompletionError, ToldError, read_answer
from apportion.llm_client.transport.connection import Connection, is_refusal, is_status, may_pass, never_arrived
from apportion.llm_client.transport.connection_errors import is_unreached
from apportion.llm_client.transport.embeddings import EMBEDDINGS, read_embedding
from apportion.llm_client.transport.prompt_logprobs import read_probabilities
from apportion.llm_client.transport.rate_limiting.limits import SharedLimits
from apportion.llm_client.transport.rate_limiting.pace import Sent
from apportion.llm_client.transport.server_quirks import ServerCapabilities


class Server:
    """The provider that asks a live server, ``settings.concurrency`` requests at once.

    Must be used on one event loop. Not every server takes every option; what one refuses is left out or said in
    another way from then on, and a warning tells so.

    With a ``keeper`` the limits hold for all clients on its cache that ask the same model there.

    Raises ``SetupError``: no consent to send text to this host, or no key for it; nothing has been sent.
    """

    def __init__(self, settings: LLMSettings, budget: Budget | None = None, keeper: CacheWriter | None = None) -> None:
        self._settings = settings
        self._budget = budget
        self._connection = Connection(settings)
        self._dialect = ServerCapabilities(settings.host)
        self._slots = asyncio.Semaphore(settings.concurrency)
        # One a slot: the HTTP library looks at every connection of a pool for every request.
        self._posts = [self._connection.post() for _ in range(settings.concurrency)]
        self._free = list(reversed(self._posts))
        shared = None if keeper is None else SharedLimits(keeper, settings)
        self._traffic = CircuitBreaker(self._connection, shared=shared)
        self._limits = self._traffic.limits

    async def fetch(self, request: ChatRequest) -> ChatReply:
        """The model's reply, within the limits a minute and after the retries that help (Retry-After is honoured).

        Raises ``BudgetError``: it could pass the budget, and was not sent. ``SetupError``: the server gives no
        probabilities where they are asked for, does not take the key, does not know the model, was never reached, or
        the account has no money left. ``ServerUnavailableError``: the server has taken nothing for
        `total_timeout_s`, wants to be left alone for longer, or is gone. ``ContextLengthError``: the request is too
        long for the model. ``RequestError``: this request failed: refused, no answer in time, no connection, an
        answer that is no chat completion.
        """
        async with self._slots:
            post = self._free.pop()
            self._traffic.come()
            try:
                return await self._fetch(request, post)
            finally:
                self._traffic.go()
                self._free.append(post)

    async def close(self) -> None:
        """Close the connections."""
        await self._limits.close()
        for post in self._posts:
            await post.close()

    async def _fetch(self, request: ChatRequest, post: Attempt) -> ChatReply:
        import openai

        failures = unlucky = 0
        begun_s = time.monotonic()
        while True:
            options = self._dialect.options(request)
            try:
                return await self._send(request, options, post)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                words = self._connection.clean(error)
                if not self._dialect.give_way(options, words):
                    raise self._connection.refusal(words, error.code) from None
            except (openai.APIError, ValueError, TimeoutError) as error:
                if may_pass(error) and (is_refusal(error) or is_unreached(error)):
                    # No failed try of this request: all wait for the server now.
                    unlucky += 1
                    if not self._traffic.hopeless(unlucky, begun_s):
                        continue
                failures += 1
                most = min(self._settings.max_retries, error.retries if isinstance(error, NoCompletionError) else 100)
                if failures > most or not may_pass(error):
                    raise self._connection.failure(error, most + 1) from None
                await self._wait(error, failures)

    async def _send(self, request: ChatRequest, options: dict[str, Any], post: Attempt) -> ChatReply:
        estimated = estimated_tokens(request) if self._limits.count_tokens else 0
        if self._budget is not None:
            await self._budget.reserve(request)
        sent: Sent | None = None
        try:
            sent = await self._limits.admit(estimated)
            # The SDK's own limit begins anew with every byte that trickles in; this one is for the whole answer.
            async with asyncio.timeout(self._settings.timeout_s):
                response = await post(options)
            try:
                reply = read_answer(Answer.of(response), self._reader(request))
            except ToldError as told:
                raise self._connection.status_error(told, response) from None
        except BaseException as error:
            if self._budget is not None:
                self._budget.end_try(request.key(), paid=sent is not None and not never_arrived(error))
            if sent is not None and isinstance(error, Exception):
                self._traffic.fail(error, sent)
            raise
        finally:
            if sent is not None:
                self._limits.leave()
        self._traffic.succeed(sent)
        self._limits.correct(estimated, used_tokens(reply) or estimated)
        return reply

    def _reader(self, request: ChatRequest) -> Callable[[Any], ChatReply] | None:
        host = self._settings.host
        if request.measures == EMBEDDINGS:
            return read_embedding
        return None if request.measures is None else lambda document: read_probabilities(document, request, host)

    async def _wait(self, error: Exception, failures: int) -> None:
        told_s = retry.told_wait_s(error.response.headers) if is_status(error) else None
        if told_s is None:
            await asyncio.sleep(retry.own_wait_s(failures))
            return
        self._traffic.hold(told_s)
