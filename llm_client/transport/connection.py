"""One server, ready to be asked, and what its failures mean in words."""

from __future__ import annotations

import json
import logging
from functools import cache, cached_property
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any, TypeGuard

from apportion.llm_client.errors import ContextLengthError, LLMError, RequestError, SetupError
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport import retry
from apportion.llm_client.transport.attempt import ACCOUNT, Attempt, as_status
from apportion.llm_client.transport.body import KEPT, Answer
from apportion.llm_client.transport.completion import NoCompletionError, ToldError
from apportion.llm_client.transport.connection_errors import (
    Secrets,
    distrusted,
    is_distrusted,
    is_unreached,
    said_by_proxy,
    why_broken,
    why_unreached,
)
from apportion.llm_client.transport.consent import header_from, is_encrypted, read_key, readers, require_consent
from apportion.llm_client.transport.proxy import proxy_address, tls_context

if TYPE_CHECKING:
    import ssl

    from openai import APIStatusError, OpenAI, Timeout

_log = logging.getLogger(__name__)
_SHOWN_OF_AN_ERROR = 300
_CONNECTING, _LONGEST_CONNECTING_S = 0.8, 20.0
_NO_KEY = "none"
_TOO_LONG = ("context_length_exceeded", "context length", "context window", "maximum context", "too many tokens")


class Connection:
    """One server, for which consent and key are there.

    Raises ``SetupError``: no consent to send text to this host, no key for it, or a way to it that is not settled;
    nothing has been sent.
    """

    def __init__(self, settings: LLMSettings) -> None:
        require_consent(settings)
        self.settings = settings
        self._key = read_key(settings)
        self._proxy = proxy_address(settings)
        self._secrets = Secrets(self._key, self._proxy)
        # A worker's parent has said it before it made the worker.
        if not is_encrypted(settings) and readers(settings) and parent_process() is None:
            _warn_of_plain_http(settings.url)

    def post(self) -> Attempt:
        """What posts requests from an event loop; it tries once, since each try has to pass limits and budget."""
        return Attempt(self.settings, self._key or _NO_KEY, self._transport())

    def blocking(self) -> OpenAI:
        """The SDK for calls that wait, without retries of its own."""
        import openai

        for variable in ACCOUNT:
            header_from(variable)  # The SDK reads them itself.
        return openai.OpenAI(
            **self._options(), http_client=openai.DefaultHttpxClient(**self._transport()), max_retries=0
        )

    def failure(self, error: Exception, tries: int) -> LLMError:
        """What a person is told of ``error`` after the last of ``tries`` tries."""
        import openai

        settings = self.settings
        if is_status(error):
            return self._status_failure(error, tries)
        if (said := said_by_proxy(error)) is not None:
            return self._proxy_failure(said, tries)
        if (flaw := distrusted(error, settings)) is not None:
            return SetupError(flaw)
        if isinstance(error, (openai.APITimeoutError, TimeoutError)):
            return RequestError(
                f"{settings.host} gave no answer within {settings.timeout_s:g} s, {tries} times. "
                "Raise timeout_s or lower concurrency."
            )
        if isinstance(error, openai.APIConnectionError):
            if not is_unreached(error):
                why = self.clean(why_broken(error.__cause__ or error))
                return RequestError(f"the connection to {settings.url} broke off in the middle, {tries} times: {why}")
            why = why_unreached(error, settings)
            return RequestError(
                f"no connection to {settings.url} in {tries} tries: {why}. Is the server running and base_url right?"
            )
        words = self.clean(error)
        evidence = self.evidence(error.answer, words) if isinstance(error, NoCompletionError) else None
        times = f", {tries} times" if tries > 1 else ""
        return RequestError(f"{settings.host} gave an answer that is no chat completion{times}: {words}", evidence)

    def clean(self, error: Exception | str) -> str:
        """What the server said, short, fit for a terminal, and without the key should it repeat it."""
        body = getattr(error, "body", None)
        # Not every server says it in the protocol's form; a page or bare words are better than a number.
        text = str(body.get("message") or body) if isinstance(body, dict) else str(body or error)
        text = self._secrets.out_of(text)
        text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
        return text if len(text) <= _SHOWN_OF_AN_ERROR else text[: _SHOWN_OF_AN_ERROR - 1] + "…"

    def status_error(self, told: ToldError, response: Any) -> APIStatusError:
        """An error that came with status 200 as the SDK's error for the status that it stands for."""

        return as_status(told.status, str(told), response, told.error)

    def evidence(self, answer: Answer, mistake: str) -> str:
        """What came, as JSON for the quarantine: without the key should the server repeat it, at most 64 KiB."""
        body = self._secrets.out_of(answer.body.decode(errors="replace"))
        return json.dumps([{"status": answer.status, "mistake": mistake, "body": body[:KEPT]}], ensure_ascii=False)

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

    def _proxy_failure(self, said: str, tries: int) -> LLMError:
        proxy, host = self.settings.proxy, self.settings.host
        if said.startswith("407") and self._secrets.login is not None:
            return SetupError(
                f"the proxy {proxy} does not take the login (407). Check USER:PASSWORD in the environment variable "
                f"{self.settings.proxy_auth_env}."
            )
        if said.startswith("407"):
            return SetupError(
                f"the proxy {proxy} wants a login (407). Put USER:PASSWORD into an environment variable, and its name "
                "into proxy_auth_env."
            )
        if said.startswith("4"):
            return SetupError(
                f"the proxy {proxy} opens no way to {host}: {self.clean(said)}. Check proxy and base_url."
            )
        return RequestError(f"the proxy {proxy} found no way to {host} in {tries} tries: {self.clean(said)}")

    def _status_failure(self, error: APIStatusError, tries: int) -> LLMError:
        host, variable = self.settings.host, self.settings.api_key_env
        answer = f"{host} answered {error.status_code}: {self.clean(error)}"
        if error.status_code == 407 and self._proxy is not None:
            return self._proxy_failure("407", tries)
        if error.status_code in (401, 403):
            return SetupError(f"{answer}. Check the key in the environment variable {variable}.")
        if 300 <= error.status_code < 400:
            place = self.clean(error.response.headers.get("location", "")) or "no place that it names"
            return SetupError(
                f"{host} answered {error.status_code}: {self.settings.url} has moved to {place}. Redirects are not "
                "followed, since text goes only where base_url says. Check base_url."
            )
        if error.status_code == 404:
            return SetupError(f"{answer}. Check model = {self.settings.model!r} and base_url.")
        if error.code == "insufficient_quota":
            return SetupError(f"{answer}. The account needs credit.")
        if _alone_too_much(error):
            return RequestError(
                f"{answer}. This request alone is more than the account may send in a minute: send less at once, or "
                "lower max_tokens. It was not sent again."
            )
        evidence = self.evidence(Answer.of(error.response), self.clean(error))
        return RequestError(f"{answer} (after {tries - 1} retries where they help)", evidence)

    def _options(self) -> dict[str, Any]:
        return {
            "api_key": self._key or _NO_KEY,
            "base_url": self.settings.url,
            "timeout": self._timeout(),
        }

    def _timeout(self) -> Timeout:
        """Whole answers take long, a connection does not: a server that is silent is known as such soon."""
        import openai

        # Shorter than a whole try, so that it is known which of the two was over.
        connecting_s = min(_CONNECTING * self.settings.timeout_s, _LONGEST_CONNECTING_S)
        return openai.Timeout(self.settings.timeout_s, connect=connecting_s)

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return tls_context(self.settings)

    def _transport(self) -> dict[str, Any]:
        # Consent is for one way: neither a redirect nor the environment may lead the text elsewhere.
        return {
            "follow_redirects": False,
            "trust_env": False,
            "proxy": self._proxy,
            "verify": self._trusted,
            "timeout": self._timeout(),
        }


@cache
def _warn_of_plain_http(url: str) -> None:
    _log.warning(
        "%s is plain http to another machine: whoever carries it can read text and key. Prefer https, or a tunnel to a "
        "port of this machine",
        url,
    )


def is_status(error: BaseException) -> TypeGuard[APIStatusError]:
    """Whether the server answered, with a status that is no success."""
    import openai

    return isinstance(error, openai.APIStatusError)


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed later."""
    import openai

    if is_status(error):
        return retry.helps(error.status_code, error.code, error.response.headers) and not _alone_too_much(error)
    if (said_by_proxy(error) or "").startswith("4") or is_distrusted(error):
        return False
    return isinstance(error, (openai.APIConnectionError, TimeoutError, NoCompletionError))


def is_refusal(error: Exception) -> TypeGuard[APIStatusError]:
    """Whether the server says that it gets too many requests now, and that the same one may come later."""
    if not is_status(error) or not may_pass(error):
        return False
    told = retry.told_wait_s(error.response.headers) is not None
    return error.status_code == 429 or (error.status_code in (503, 529) and told)


def never_arrived(error: BaseException) -> bool:
    """Whether the server cannot have begun to work: it refused, or was not reached."""
    return is_unreached(error) or is_status(error) or type(error.__cause__).__name__ == "PoolTimeout"


def _alone_too_much(error: APIStatusError) -> bool:
    return error.status_code == 429 and "request too large" in str(error).lower()
