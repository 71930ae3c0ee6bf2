"""The OpenAI SDK, set up for one server, and what its failures mean in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from llm_client.errors import ContextLengthError, LLMError, RequestError, SetupError
from llm_client.live import retry
from llm_client.live.consent import read_key, require_consent
from llm_client.settings import LLMSettings

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, OpenAI

_SHOWN_OF_AN_ERROR = 300
_TOO_LONG = ("context_length_exceeded", "context length", "context window", "maximum context", "too many tokens")


class Connection:
    """One server, for which consent and key are there.

    Raises
    ------
    SetupError
        No consent to send text to this host, or no key for it; nothing has been sent.
    """

    def __init__(self, settings: LLMSettings) -> None:
        require_consent(settings)
        self.settings = settings
        self._key = read_key(settings)

    def asynchronous(self) -> AsyncOpenAI:
        """The SDK for an event loop; it tries once, since each try has to pass limits and budget."""
        import openai

        return openai.AsyncOpenAI(
            **self._options(), http_client=openai.DefaultAsyncHttpxClient(**self._transport()), max_retries=0
        )

    def blocking(self) -> OpenAI:
        """The SDK for calls that wait, without retries of its own."""
        import openai

        return openai.OpenAI(
            **self._options(), http_client=openai.DefaultHttpxClient(**self._transport()), max_retries=0
        )

    def failure(self, error: Exception, tries: int) -> LLMError:
        """What a person is told of ``error`` after the last of ``tries`` tries."""
        import openai

        settings = self.settings
        if is_status(error):
            return self._status_failure(error, tries)
        if isinstance(error, (openai.APITimeoutError, TimeoutError)):
            return RequestError(
                f"{settings.host} gave no answer within {settings.timeout_s:g} s, {tries} times. "
                "Raise timeout_s or lower concurrency."
            )
        if isinstance(error, openai.APIConnectionError):
            return RequestError(
                f"no connection to {settings.url} in {tries} tries. Is the server running and base_url right?"
            )
        return RequestError(f"{settings.host} gave an answer that is no chat completion: {self.clean(error)}")

    def clean(self, error: Exception | str) -> str:
        """What the server said, short, and without the key should it repeat it."""
        body = getattr(error, "body", None)
        text = str(body["message"]) if isinstance(body, dict) and "message" in body else str(error)
        if self._key:
            text = text.replace(self._key, "[key]")
        text = " ".join(text.split())
        return text if len(text) <= _SHOWN_OF_AN_ERROR else text[: _SHOWN_OF_AN_ERROR - 1] + "…"

    def refusal(self, words: str, code: str | None) -> RequestError:
        """The error for a request that the server does not take, ``words`` being what it said."""
        answer = f"{self.settings.host} refused the request: {words}"
        if code == "context_length_exceeded" or any(name in words.lower() for name in _TOO_LONG):
            return ContextLengthError(
                f"{answer}. The request, with max_tokens for its reply, does not fit into the context of "
                f"{self.settings.model!r}: send less at once, lower max_tokens, or use a model (or a server setting) "
                "with a longer context. It was not sent again."
            )
        return RequestError(answer)

    def _status_failure(self, error: APIStatusError, tries: int) -> LLMError:
        host, variable = self.settings.host, self.settings.api_key_env
        answer = f"{host} answered {error.status_code}: {self.clean(error)}"
        if error.status_code in (401, 403):
            return SetupError(f"{answer}. Check the key in the environment variable {variable}.")
        if error.status_code == 404:
            return SetupError(f"{answer}. Check model = {self.settings.model!r} and base_url.")
        if error.code == "insufficient_quota":
            return SetupError(f"{answer}. The account needs credit.")
        return RequestError(f"{answer} (after {tries - 1} retries where they help)")

    def _options(self) -> dict[str, Any]:
        return {
            "api_key": self._key or "none",
            "base_url": self.settings.url,
            "timeout": self.settings.timeout_s,
        }

    def _transport(self) -> dict[str, Any]:
        # Consent is for one host: neither a redirect nor, for this machine, a proxy may carry the text on.
        return {
            "follow_redirects": False,
            "trust_env": not self.settings.is_loopback,
            "timeout": self.settings.timeout_s,
        }


def is_status(error: BaseException) -> TypeGuard[APIStatusError]:
    """Whether the server answered, with a status that is no success."""
    import openai

    return isinstance(error, openai.APIStatusError)


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    import openai

    if is_status(error):
        return retry.helps(error.status_code, error.code, error.response.headers)
    return isinstance(error, (openai.APIConnectionError, TimeoutError))


def never_arrived(error: BaseException) -> bool:
    """Whether the server cannot have begun to work: it refused, or was not reached."""
    # By name: the SDK's versions bring different HTTP libraries (httpx, httpx2).
    unreached = type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout", "PoolTimeout")
    return unreached or is_status(error)
