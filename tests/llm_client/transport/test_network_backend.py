"""Connections against raw sockets of this machine: what comes, when it comes, and what breaks."""

import asyncio
import socket
import ssl
import struct
import threading
import time
from contextlib import contextmanager

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.transport.network_backend import _AHEAD, Arrivals, Wire
from tests.llm_client.certificates import certificate, server_context

WIRE = Wire(httpcore2)


@contextmanager
def peer(*acts):
    """A port of this machine; the how manieth connection to it is treated as that act says, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for act in acts:
                connection, _ = listener.accept()
                with connection:
                    act(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


def reset(connection):
    """End a connection as a server does that crashes, with no farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def to_the_end(line):
    parts = []
    while part := await line.read(65_536, timeout=5):
        parts.append(part)
    return b"".join(parts)


@given(st.lists(st.binary(min_size=1, max_size=30)), st.integers(1, 40), st.booleans())
def test_bytes_are_taken_in_the_order_in_which_they_came(parts, most, ends):
    async def take():
        arrivals = Arrivals()
        for part in parts:
            arrivals.data_received(part)
        if ends:
            arrivals.eof_received()
        taken = []
        while arrivals.any() and (part := arrivals.take(most)):
            assert len(part) <= most
            taken.append(part)
        assert arrivals.any() == ends
        return b"".join(taken)

    assert asyncio.run(take()) == b"".join(parts)


def test_what_is_written_arrives_and_what_is_answered_comes_back():
    question = b"x" * 3_000_000  # More than a socket takes at once.

    def answer(connection):
        heard = 0
        while heard < len(question):
            heard += len(connection.recv(65_536))
        connection.sendall(b"heard")

    async def ask(port):
        options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        line = await WIRE.connect_tcp("localhost", port, 5, local_address="127.0.0.1", socket_options=options)
        own = line.get_extra_info("socket")
        assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) and own.getsockname()[0] == "127.0.0.1"
        await line.write(question[:10], timeout=5)
        await line.write(question[10:], timeout=5)
        try:
            return await to_the_end(line)
        finally:
            await line.aclose()

    with peer(answer) as port:
        assert asyncio.run(ask(port)) == b"heard"


def test_no_more_is_held_than_is_wanted_soon():
    size = 64 * _AHEAD

    def answer(connection):
        connection.sendall(bytes(size))

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        held = taken = 0
        while part := await line.read(65_536, timeout=5):
            taken += len(part)
            await asyncio.sleep(0.002 if taken < 4 * _AHEAD else 0)  # Time for the server to send what it can.
            held = max(held, len(line._arrivals._bytes))
        await line.aclose()
        return held, taken

    with peer(answer) as port:
        held, taken = asyncio.run(ask(port))
    assert taken == size and _AHEAD / 2 < held < 2.5 * _AHEAD


def test_what_came_before_a_connection_broke_is_told_first():
    def answer(connection):
        connection.recv(4)
        connection.sendall(b"413 too large")
        time.sleep(0.1)
        reset(connection)

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        await line.write(b"much")
        await asyncio.sleep(0.3)
        first = await line.read(65_536, timeout=5)
        with pytest.raises(httpcore2.ReadError):
            await line.read(65_536, timeout=5)
        await line.write(b"more")  # No error: who reads is told.
        await line.aclose()
        return first

    with peer(answer) as port:
        assert asyncio.run(ask(port)) == b"413 too large"


def test_silence_is_too_late():
    def say_nothing(connection):
        while connection.recv(65_536):
            pass

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        with pytest.raises(httpcore2.ReadTimeout):
            await line.read(10, timeout=0.05)
        with pytest.raises(httpcore2.ConnectTimeout):
            await line.start_tls(ssl.create_default_context(), "localhost", timeout=0.05)

    with peer(say_nothing) as port:
        asyncio.run(ask(port))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), httpcore2.ConnectTimeout),
        (TimeoutError(110, "Connection timed out"), httpcore2.ConnectError),
        (socket.gaierror(-2, "Name or service not known"), httpcore2.ConnectError),
    ],
)
def test_who_is_not_reached_is_told_with_the_cause(monkeypatch, error, kind):
    async def connect():
        async def broken(*arguments, **options):
            raise error

        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", broken)
        await WIRE.connect_tcp("s.example", 80, 5)

    with pytest.raises(kind) as caught:
        asyncio.run(connect())
    assert caught.value.__cause__ is error


def test_an_idle_connection_that_the_server_has_closed_is_known_before_the_event_loop_comes_to_it():
    gone = threading.Event()

    def answer(connection):
        gone.wait(5)

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        before = line.get_extra_info("is_readable")
        gone.set()
        time.sleep(0.2)  # On purpose: the loop sees nothing meanwhile.
        at_once = line.get_extra_info("is_readable")
        await asyncio.sleep(0.05)
        later = line.get_extra_info("is_readable")
        await line.aclose()
        return before, at_once, later

    with peer(answer) as port:
        assert asyncio.run(ask(port)) == (False, True, True)


def test_without_poll_the_end_is_known_once_the_loop_has_seen_it(monkeypatch):
    monkeypatch.delattr("select.poll")

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        await asyncio.sleep(0.2)
        return line.get_extra_info("is_readable")

    with peer(lambda connection: None) as port:
        assert asyncio.run(ask(port)) is True


def echo_by_tls(context, tunnels=0):
    """Speak TLS, so many times TLS within TLS first, and say again what is said."""

    def answer(connection):
        inside, outside, encrypted = ssl.MemoryBIO(), ssl.MemoryBIO(), None
        with context.wrap_socket(connection, server_side=True) as outer:
            if not tunnels:
                return outer.sendall(outer.recv(100))
            encrypted = context.wrap_bio(inside, outside, server_side=True)

            def through(act):
                while True:
                    try:
                        done = act()
                    except ssl.SSLWantReadError:
                        done = None
                    if outside.pending:
                        outer.sendall(outside.read())
                    if done is not None:
                        return done
                    inside.write(outer.recv(65_536))

            through(lambda: encrypted.do_handshake() or True)
            said = through(lambda: encrypted.read(100))
            return through(lambda: encrypted.write(said))

    return answer


@pytest.mark.parametrize("tunnels", [0, 1])
def test_a_connection_is_encrypted_even_through_one_that_is(tmp_path, tunnels):
    path = certificate(tmp_path, "DNS:localhost")
    trusting = ssl.create_default_context(cafile=path)

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        for _ in range(1 + tunnels):
            line = await line.start_tls(trusting, "localhost", timeout=5)
        assert line.get_extra_info("ssl_object").version() == "TLSv1.3"
        await line.write(b"hello")
        said = await line.read(100, timeout=5)
        await line.aclose()
        return said

    with peer(echo_by_tls(server_context(path), tunnels)) as port:
        assert asyncio.run(ask(port)) == b"hello"


def test_who_is_not_trusted_is_not_spoken_to(tmp_path):
    context = server_context(certificate(tmp_path, "DNS:localhost"))

    def answer(connection):
        with pytest.raises(ssl.SSLError):
            context.wrap_socket(connection, server_side=True)

    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        await line.start_tls(ssl.create_default_context(), "localhost", timeout=5)

    with peer(answer) as port, pytest.raises(httpcore2.ConnectError) as caught:
        asyncio.run(ask(port))
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


def end_in_the_middle(connection):
    connection.recv(10)


@pytest.mark.parametrize("rest_s", [0, 0.2])
def test_a_handshake_that_the_other_side_ends_is_no_connection(rest_s):
    async def ask(port):
        line = await WIRE.connect_tcp("127.0.0.1", port, 5)
        await asyncio.sleep(rest_s)
        begun_s = time.monotonic()
        with pytest.raises(httpcore2.ConnectError):
            await line.start_tls(ssl.create_default_context(), "localhost", timeout=5)
        return time.monotonic() - begun_s

    with peer(end_in_the_middle if not rest_s else lambda connection: None) as port:
        assert asyncio.run(ask(port)) < 4
