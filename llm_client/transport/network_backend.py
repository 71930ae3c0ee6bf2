"""Connections as the HTTP library wants them (`AsyncNetworkBackend`), served by asyncio itself.

The library's own way to the network fits several kinds of event loop, which costs a fifth of a try.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_AHEAD = 256 * 1024
"""Bytes that come before anybody wants them; more wait at the server, so that no answer fills the memory."""
_NEXT_ADDRESS_S = 0.25
"""After so long the name's next address is tried as well (RFC 8305, section 5)."""


class Wire:
    """Opens connections for the HTTP library whose module is ``core`` (httpcore, or httpcore2)."""

    def __init__(self, core: ModuleType) -> None:
        self._core = core

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Line:
        """A connection to ``host``.

        Raises ``core.ConnectTimeout, core.ConnectError``: nobody answered within ``timeout`` seconds; the name is
        unknown, or the connection was refused.
        """
        local = None if local_address is None else (local_address, 0)
        with _as_the_library_s(self._core.ConnectTimeout, self._core.ConnectError):
            async with asyncio.timeout(timeout):
                transport, arrivals = await asyncio.get_running_loop().create_connection(
                    Arrivals, host, port, local_addr=local, happy_eyeballs_delay=_NEXT_ADDRESS_S
                )
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return Line(self._core, transport, arrivals)


class Line:
    """One connection (`AsyncNetworkStream`), plain or encrypted."""

    def __init__(self, core: ModuleType, transport: asyncio.Transport, arrivals: Arrivals) -> None:
        self._core = core
        self._transport = transport
        self._arrivals = arrivals

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """At most ``max_bytes`` bytes as soon as there are any; none at the end.

        Raises ``core.ReadTimeout, core.ReadError``: nothing came for ``timeout`` seconds; the connection broke off.
        """
        with _as_the_library_s(self._core.ReadTimeout, self._core.ReadError):
            if not self._arrivals.any():
                async with asyncio.timeout(timeout):
                    await self._arrivals.wait()
            return self._arrivals.take(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send ``buffer``; what the system does not take at once goes out while the answer is waited for.

        A connection that has broken off is told by `read`: the server may have said why before.
        """
        self._transport.write(buffer)

    async def aclose(self) -> None:
        """Close the connection without a farewell, which a server that is gone would not answer."""
        self._transport.abort()
        await asyncio.sleep(0)  # The loop lets go of the socket in its next round.

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> Line:
        """The same connection, encrypted from now on.

        Raises ``core.ConnectTimeout, core.ConnectError``: the other side did not end its part of the handshake, or is
        not trusted.
        """
        try:
            with _as_the_library_s(self._core.ConnectTimeout, self._core.ConnectError):
                async with asyncio.timeout(timeout):
                    if self._transport.is_closing():  # Nobody would tell the handshake.
                        raise ConnectionResetError("the other side closed the connection before the handshake")
                    encrypted = await asyncio.get_running_loop().start_tls(
                        self._transport, self._arrivals, ssl_context, server_hostname=server_hostname
                    )
        except BaseException:
            await self.aclose()
            raise
        assert encrypted is not None
        self._arrivals.connection_made(encrypted)
        return Line(self._core, encrypted, self._arrivals)

    def get_extra_info(self, info: str) -> Any:
        """``"is_readable"``: whether something came, or the end, while nobody waited; else as asyncio names it."""
        if info == "is_readable":
            return self._arrivals.any() or self._transport.is_closing() or _holds_something(self._transport)
        return self._transport.get_extra_info(info)


class Arrivals(asyncio.Protocol):
    """What came over one connection and has not been taken yet."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._over = False
        self._error: Exception | None = None
        self._paused = False
        self._waiting: asyncio.Future[None] | None = None
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Read from ``transport``; called again where it is encrypted from now on."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hold ``data`` for who waits."""
        self._bytes += data
        if len(self._bytes) > _AHEAD and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Nothing more comes; the connection closes itself."""
        self._over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes, because of ``exc``."""
        self._over, self._error = True, exc
        self._wake()

    def any(self) -> bool:
        """Whether there is something to take, the end among it."""
        return bool(self._bytes) or self._over

    async def wait(self) -> None:
        """Wait until there is; for one at a time."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def take(self, most: int) -> bytes:
        """The next bytes, at most ``most``; none at the end, and what broke the connection only after all that came."""
        if not self._bytes and self._error is not None:
            raise self._error
        taken = bytes(self._bytes[:most])
        del self._bytes[:most]
        if self._paused and len(self._bytes) <= _AHEAD and not self._over:
            self._paused = False
            self._transport.resume_reading()
        return taken

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def _holds_something(transport: asyncio.Transport) -> bool:
    """Whether the system holds something of the connection that the event loop has not come to yet: its end, mostly."""
    if not hasattr(select, "poll"):  # Not everywhere; then a request on a closed connection is one more try.
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLIN)
    return bool(poll.poll(0))


@contextmanager
def _as_the_library_s(too_late: type[Exception], broken: type[Exception]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The system's own patience is no limit of ours, and has a number.
        kind = too_late if isinstance(error, TimeoutError) and error.errno is None else broken
        raise kind(str(error)) from error


class Transport:
    """Sends requests of the HTTP library as its own `AsyncHTTPTransport` does, and raises the same errors.

    ``library``: the HTTP library (httpx, or httpx2). ``way``: as `Connection` tells it: ``proxy`` with its login or
    None, and whom to trust, ``verify``. ``limits``: how many connections there are, and how long one may be idle.
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

        Raises ``library.TransportError``: no connection, no answer in time, or one that is no HTTP.
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
