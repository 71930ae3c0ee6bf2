"""The transport beside the HTTP library's own: the same answers, and the same errors by the same names."""

import asyncio
import socket

import httpx2
import openai
import pytest

from apportion.llm_client.transport.network_backend import Transport
from tests.llm_client.proxy import Proxy, proxying
from tests.llm_client.transport.test_network_backend import peer, reset

TIMEOUT = {"connect": 2, "read": 0.2, "write": 2, "pool": 2}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Twice: a\r\nX-Twice: b\r\n\r\n"
ANSWERS = {
    "whole": HEAD + b"hello",
    "until the end": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "told to go on": b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"hello",
    "status alone": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "nothing": b"",
    "half a head": HEAD[:20],
    "half a body": HEAD + b"he",
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhel",
    "no http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000,
}


def hear(connection):
    while b"hello" not in (heard := connection.recv(65_536)):
        assert heard


def answering(raw, *, crash=False, stall=False):
    def act(connection):
        hear(connection)
        connection.sendall(raw)
        if crash:
            reset(connection)
        while stall and connection.recv(65_536):
            pass

    return act


async def exchange(transport, url):
    request = httpx2.Request("POST", url, content=b"hello", extensions={"timeout": TIMEOUT})
    try:
        response = await transport.handle_async_request(request)
        try:
            body = b"".join([part async for part in response.stream])
        finally:
            await response.stream.aclose()
    except httpx2.TransportError as error:
        return type(error), str(error)
    finally:
        await transport.aclose()
    return response.status_code, response.headers.raw, body


def both(act, url="http://127.0.0.1:{port}/v1", proxy=None):
    """What comes by our transport, and what by the library's own."""
    outcomes = []
    for ours in (True, False):
        with peer(act) as port:
            way = {"verify": httpx2.create_ssl_context(), "proxy": proxy and proxy.format(port=port)}
            limits = openai.DEFAULT_CONNECTION_LIMITS
            transport = (
                Transport(httpx2, way, limits)
                if ours
                else httpx2.AsyncHTTPTransport(**way, limits=limits, trust_env=False)
            )
            outcomes.append(asyncio.run(exchange(transport, url.format(port=port))))
    return outcomes


@pytest.mark.parametrize("raw", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_read_as_the_library_reads_it(raw):
    ours, theirs = both(answering(raw))
    assert ours == theirs


@pytest.mark.parametrize("raw", [HEAD[:20], HEAD + b"he"], ids=["head", "body"])
def test_a_silence_is_the_library_s_error(raw):
    ours, theirs = both(answering(raw, stall=True))
    assert ours == theirs == (httpx2.ReadTimeout, "")


def test_connections_that_break_or_are_refused_are_the_library_s_errors():
    ours, theirs = both(answering(HEAD + b"he", crash=True))
    assert ours[0] is theirs[0] is httpx2.ReadError
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    way = {"verify": httpx2.create_ssl_context(), "proxy": None}
    transport = Transport(httpx2, way, openai.DEFAULT_CONNECTION_LIMITS)
    assert asyncio.run(exchange(transport, f"http://127.0.0.1:{port}/v1"))[0] is httpx2.ConnectError


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_is_asked_as_the_library_asks_it_with_its_login(scheme):
    heard = []

    def listen(connection):
        heard.append(connection.recv(65_536).partition(b"\r\n\r\n")[0])
        connection.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")

    ours, theirs = both(listen, f"{scheme}://s.example/v1", "http://me:se%20cret@127.0.0.1:{port}")
    assert ours == theirs
    assert ours[0] == (407 if scheme == "http" else httpx2.ProxyError)
    assert sorted(heard[0].split(b"\r\n")) == sorted(heard[1].split(b"\r\n"))
    assert b"Proxy-Authorization: Basic bWU6c2UgY3JldA==" in heard[0]


def test_a_mistake_of_our_own_is_no_error_of_the_connection():
    async def broken():
        raise LookupError("no bytes")
        yield b""

    async def send(port):
        transport = Transport(httpx2, {"verify": httpx2.create_ssl_context(), "proxy": None}, httpx2.Limits())
        request = httpx2.Request("POST", f"http://127.0.0.1:{port}/", content=broken())
        try:
            await transport.handle_async_request(request)
        finally:
            await transport.aclose()

    with proxying(Proxy()) as somebody, pytest.raises(LookupError, match="no bytes"):
        asyncio.run(send(int(somebody.url.rpartition(":")[2])))
