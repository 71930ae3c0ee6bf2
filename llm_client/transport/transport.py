"""The HTTP library's transport on connections of our own kind: straight, or through a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from apportion.llm_client.transport.network_backend import Wire


class Transport:
    """Sends requests of the HTTP library as its own `AsyncHTTPTransport` does, and raises the same errors.

    Parameters
    ----------
    library : module
        The HTTP library (httpx, or httpx2).
    way : mapping
        As `Connection` tells it: ``proxy`` with its login or None, and whom to trust, ``verify``.
    limits : library.Limits
        How many connections there are, and how long one may be idle.
    """

    def __init__(self, library: ModuleType, way: Mapping[str, Any], limits: Any) -> None:
        self._library: Any = library
        self._core: Any = import_module(library.__name__.replace("httpx", "httpcore"))
        options = {
            "ssl_context": way["verify"],
            "max_connections": limits.max_connections,
            "max_keepalive_connections": limits.max_keepalive_connections,
            "keepalive_expiry": limits.keepalive_expiry,
            "network_backend": Wire(self._core),
        }
        if way["proxy"] is None:
            self._pool = self._core.AsyncConnectionPool(**options)
            return
        proxy = self._library.Proxy(way["proxy"])
        kind = self._core.AsyncSOCKSProxy if proxy.url.scheme.startswith("socks") else self._core.AsyncHTTPProxy
        self._pool = kind(proxy_url=self._url(proxy.url), proxy_auth=proxy.raw_auth, **options)

    async def handle_async_request(self, request: Any) -> Any:
        """The head of the response to ``request``; its body is still to be read, and then closed.

        Raises
        ------
        library.TransportError
            No connection, no answer in time, or one that is no HTTP.
        """
        sent = self._core.Request(
            request.method,
            self._url(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _told_by(self._library, self._core):
            answer = await self._pool.handle_async_request(sent)
        body = _Body(self._library, self._core, answer.stream)
        return self._library.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    def _url(self, url: Any) -> Any:
        return self._core.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


class _Body:
    def __init__(self, library: Any, core: Any, stream: Any) -> None:
        self._library, self._core, self._stream = library, core, stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _told_by(self._library, self._core):
            async for part in self._stream:
                yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextmanager
def _told_by(library: Any, core: Any) -> Iterator[None]:
    """What the layer below says as the HTTP library says it: by the same names."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] != core.__name__:
            raise
        raise getattr(library, type(error).__name__)(str(error)) from error
