"""One try: a body goes to the server, and a response or one of the SDK's errors comes back.

The SDK's own way makes a request anew from many parts each time, which costs as much as sending it; and the HTTP
library's client sees to redirects, cookies and logins, of which there are none here.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.body import ENCODINGS, keeper_of_bodies, library_of
from apportion.llm_client.transport.consent import header_from

if TYPE_CHECKING:
    from openai import APIStatusError

ACCOUNT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
"""Variables that the SDK reads, too, and the headers that they are sent in."""

CHAT, BARE, VECTORS = "chat/completions", "completions", "embeddings"
"""Where messages go, where a bare prompt does, and where vectors are asked for."""


class Attempt:
    """Posts bodies to the server's chat completions (those with a bare prompt to its completions), over connections of
    its own.

    ``settings``: where the server is, how long a try takes, and how much of an answer is read. ``key``: what is sent as
    the key. ``transport``: how the HTTP client is made: its way to the server, whom it trusts, its time limits. Raises
    ``SetupError``: one of the variables that name the account cannot be sent.
    """

    def __init__(self, settings: LLMSettings, key: str, transport: Mapping[str, Any]) -> None:
        import openai

        self._library: Any = library_of(openai.DefaultAsyncHttpxClient)
        self._transport = self._library.AsyncHTTPTransport(
            verify=transport["verify"],
            proxy=transport["proxy"],
            limits=openai.DEFAULT_CONNECTION_LIMITS,
            trust_env=False,
        )
        self._hold_body = keeper_of_bodies(settings.max_reply_bytes)
        self._urls = {path: self._library.URL(place_of(settings.url, path)) for path in (CHAT, BARE, VECTORS)}
        named = {header: header_from(variable) for variable, header in ACCOUNT.items()}
        self._headers = self._library.Headers(
            {
                "Authorization": f"Bearer {key}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": ENCODINGS,
                "User-Agent": "apportion",
                **{header: value for header, value in named.items() if value},
            }
        )
        self._extensions = {"timeout": transport["timeout"].as_dict()}

    async def __call__(self, body: Mapping[str, Any]) -> Any:
        """The response to ``body``, read to its end.

        Raises ``openai.APIError``: no connection, no answer in time, or a status that is no success.
        """
        import openai

        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        request = self._library.Request(
            "POST", self._urls[path_of(body)], headers=self._headers, content=content, extensions=self._extensions
        )
        try:
            response = await self._send(request)
        except self._library.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except (self._library.RequestError, ssl.SSLError) as error:  # What TLS says after its handshake comes as it is.
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            raise _status_error(response)
        return response

    async def _send(self, request: Any) -> Any:
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            await self._hold_body(response)
            await response.aread()
        except BaseException:
            await response.stream.aclose()  # Else a try that was given up keeps its connection.
            raise
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def path_of(body: Mapping[str, Any]) -> str:
    """Where at the server a body goes."""
    if "input" in body:
        return VECTORS
    return BARE if "prompt" in body else CHAT


def place_of(url: str, path: str) -> str:
    """The whole address of ``path`` at a server."""
    return f"{url.rstrip('/')}/{path}"


def as_status(status: int, message: str, response: Any, body: Any) -> APIStatusError:
    """The SDK's error for ``status``, with what the server said in ``body``."""
    import openai

    kinds: dict[int, type[APIStatusError]] = {
        400: openai.BadRequestError,
        422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
    }
    response.status_code = status
    return kinds.get(status, openai.APIStatusError)(message, response=response, body=body)


def _status_error(response: Any) -> APIStatusError:
    text = response.text.strip()
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    body = said.get("error", said) if isinstance(said, dict) else said
    words = body.get("message") if isinstance(body, dict) else None
    message = f"Error code: {response.status_code}" + (f" - {words}" if isinstance(words, str) and words else "")
    return as_status(response.status_code, message, response, body)
