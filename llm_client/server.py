"""A server that speaks the OpenAI protocol, asked through the OpenAI SDK; keys and consent are checked first."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from llm_client import retry
from llm_client.errors import RequestError, SetupError
from llm_client.limits import RateLimits
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings
from llm_client.tokens import estimated_tokens, used_tokens

if TYPE_CHECKING:
    from openai import APIStatusError
    from openai.types.chat import ChatCompletion

_log = logging.getLogger(__name__)
_SHOWN_OF_AN_ERROR = 300
_LONGEST_PAUSE_S = 600.0


class Server:
    """The provider that asks a live server, ``settings.concurrency`` requests at once.

    Must be used on one event loop. Not every server takes every option; what one refuses is left out or said in
    another way from then on, and a warning tells so.

    Raises
    ------
    SetupError
        No consent to send text to this host, or no key for it; nothing has been sent.
    """

    def __init__(self, settings: LLMSettings) -> None:
        self._settings = settings
        _require_consent(settings)
        self._key = _read_key(settings)
        self._dialect = _Dialect(settings.host)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._limits = RateLimits(settings.requests_per_minute, settings.tokens_per_minute)
        self._sdk = self._make_sdk()

    async def fetch(self, request: ChatRequest) -> ChatReply:
        """The model's reply, within the limits a minute and after the retries that help (Retry-After is honoured).

        Raises
        ------
        SetupError
            The server does not take the key, does not know the model, wants to be left alone for long, or the account
            has no money left.
        RequestError
            This request failed: refused, no answer in time, no connection, an answer that is no chat completion.
        """
        import openai

        failures = 0
        async with self._slots:
            while True:
                options = self._dialect.options(request)
                try:
                    return await self._send(request, options)
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    if not self._dialect.give_way(options, self._clean(error)):
                        raise RequestError(f"{self._settings.host} refused the request: {self._clean(error)}") from None
                except (openai.APIError, ValueError) as error:
                    failures += 1
                    if failures > self._settings.max_retries or not _may_pass(error):
                        self._fail(error)
                    await self._wait(error, failures)

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    def _make_sdk(self) -> Any:
        import openai

        settings = self._settings
        transport = openai.DefaultAsyncHttpxClient(
            # Consent is for one host: neither a redirect nor, for this machine, a proxy may carry the text on.
            follow_redirects=False,
            trust_env=not settings.is_loopback,
            timeout=settings.timeout_s,
        )
        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=settings.url,
            timeout=settings.timeout_s,
            # Retries are ours: each has to pass the limits, and the SDK leaves a Retry-After above 60 s aside.
            max_retries=0,
            http_client=transport,
        )

    async def _send(self, request: ChatRequest, options: dict[str, Any]) -> ChatReply:
        estimated = estimated_tokens(request)
        await self._limits.admit(estimated)
        reply = _read(await self._sdk.chat.completions.create(**options))
        self._limits.correct(estimated, used_tokens(reply) or estimated)
        return reply

    async def _wait(self, error: Exception, failures: int) -> None:
        told_s = retry.told_wait_s(error.response.headers) if _is_status(error) else None
        if told_s is None:
            await asyncio.sleep(retry.own_wait_s(failures))
            return
        if told_s > _LONGEST_PAUSE_S:
            raise SetupError(
                f"{self._settings.host} asks to come back in {told_s:.0f} s: {self._clean(error)}. Replies received "
                "are kept; run the same command again then."
            ) from None
        # It is meant for the whole client: more requests would only prolong the storm.
        self._limits.hold(told_s)

    def _fail(self, error: Exception) -> NoReturn:
        import openai

        settings = self._settings
        tries = settings.max_retries + 1
        if isinstance(error, openai.APIStatusError):
            self._fail_by_status(error)
        if isinstance(error, openai.APITimeoutError):
            raise RequestError(
                f"{settings.host} gave no answer within {settings.timeout_s:g} s, {tries} times. "
                "Raise timeout_s or lower concurrency."
            ) from None
        if isinstance(error, openai.APIConnectionError):
            raise RequestError(
                f"no connection to {settings.url} in {tries} tries. Is the server running and base_url right?"
            ) from None
        raise RequestError(f"{settings.host} gave an answer that is no chat completion: {self._clean(error)}") from None

    def _fail_by_status(self, error: APIStatusError) -> NoReturn:
        host, variable = self._settings.host, self._settings.api_key_env
        told = f"{host} answered {error.status_code}: {self._clean(error)}"
        if error.status_code in (401, 403):
            raise SetupError(f"{told}. Check the key in the environment variable {variable}.") from None
        if error.status_code == 404:
            raise SetupError(f"{told}. Check model = {self._settings.model!r} and base_url.") from None
        if error.code == "insufficient_quota":
            raise SetupError(f"{told}. The account needs credit.") from None
        raise RequestError(f"{told} (after {self._settings.max_retries} retries where they help)") from None

    def _clean(self, error: Exception) -> str:
        """What the server said, short, and without the key should it repeat it."""
        body = getattr(error, "body", None)
        text = str(body["message"]) if isinstance(body, dict) and "message" in body else str(error)
        if self._key:
            text = text.replace(self._key, "[key]")
        text = " ".join(text.split())
        return text if len(text) <= _SHOWN_OF_AN_ERROR else text[: _SHOWN_OF_AN_ERROR - 1] + "…"


class _Dialect:
    """How a server wants its options: learnt from what it refuses, so that each refusal happens once."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._formats: Iterator[str] = iter(("json_object", "none"))
        self._format = "json_schema"
        self._tokens = "max_tokens"
        self._temperature = True

    def options(self, request: ChatRequest) -> dict[str, Any]:
        """The SDK's arguments for ``request``."""
        options: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if self._temperature:
            options["temperature"] = request.temperature
        if request.max_tokens is not None:
            options[self._tokens] = request.max_tokens
        if request.schema is not None and self._format == "json_schema":
            schema = {"name": "reply", "schema": dict(request.schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and self._format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def give_way(self, tried: dict[str, Any], refusal: str) -> bool:
        """Change what the server's words name as refused; False where they name nothing that can be changed."""
        words = refusal.lower()
        if "response_format" in tried and any(name in words for name in ("response_format", "schema", "grammar")):
            if tried["response_format"]["type"] == self._format:
                self._format = next(self._formats, "none")
                _log.warning("%s does not take this response_format; going on with %s", self._host, self._format)
            return True
        if "max_tokens" in tried and "max_completion_tokens" in words:
            self._tokens = "max_completion_tokens"
            return True
        if "temperature" in tried and "temperature" in words:
            if self._temperature:
                self._temperature = False
                _log.warning("%s does not take this temperature; going on with the model's own", self._host)
            return True
        return False


def _is_status(error: Exception) -> TypeGuard[APIStatusError]:
    import openai

    return isinstance(error, openai.APIStatusError)


def _may_pass(error: Exception) -> bool:
    import openai

    if _is_status(error):
        return retry.helps(error.status_code, error.code, error.response.headers)
    return isinstance(error, openai.APIConnectionError)


def _require_consent(settings: LLMSettings) -> None:
    if settings.is_loopback or (settings.send_to or "").lower() == settings.host:
        return
    given = f"consent was given for {settings.send_to!r} only" if settings.send_to else "you have not agreed to that"
    raise SetupError(
        f"the text of your sessions would leave this machine for {settings.host}, and {given}. If the data's licence "
        f"allows it, set send_to = {settings.host!r}; otherwise use a server on this machine. Nothing was sent."
    )


def _read_key(settings: LLMSettings) -> str | None:
    key = os.environ.get(settings.api_key_env, "").strip() or None
    if key is None and not settings.is_loopback:
        raise SetupError(
            f"no key for {settings.host}: the environment variable {settings.api_key_env} is not set. "
            f"Run `export {settings.api_key_env}=…`, or name another variable with api_key_env."
        )
    return key


def _read(completion: ChatCompletion) -> ChatReply:
    # The SDK does not check what a server sends, so nothing is taken for granted here.
    try:
        choice, usage = completion.choices[0], completion.usage
        refusal = getattr(choice.message, "refusal", None)
        reply = ChatReply(
            text=choice.message.content or refusal or "",
            model=completion.model or "",
            prompt_tokens=_count(usage, "prompt_tokens"),
            completion_tokens=_count(usage, "completion_tokens"),
            cached_tokens=_count(getattr(usage, "prompt_tokens_details", None), "cached_tokens"),
            finish_reason="refusal" if refusal else choice.finish_reason or "stop",
        )
    except (AttributeError, IndexError, TypeError):
        raise ValueError(f"it has no usable choice ({getattr(completion, 'error', None) or completion!r})") from None
    if not isinstance(reply.text, str) or not isinstance(reply.model, str):
        raise ValueError("its text is no string")
    return reply


def _count(counts: object, name: str) -> int | None:
    value = getattr(counts, name, None)
    return value if isinstance(value, int) and value >= 0 else None
