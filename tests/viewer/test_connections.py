"""Clients that send half a request, or nothing, are sent away, and others are served meanwhile."""

import re
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager

import pytest

from apportion.viewer import connections
from apportion.viewer.connections import MOST_CONNECTIONS, bounded_server, most_connections
from apportion.viewer.serve import listening
from tests.behaviour.command import environment
from tests.viewer.study.served import study_made

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HALVES = {
    "headers": b"GET / HTTP/1.1\r\nHost: a",
    "body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    "stalled": b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
}


async def app(scope, receive, send):
    """The body that was sent; for ``/large`` more than a socket holds."""
    said, more = b"", True
    while more and (message := await receive())["type"] == "http.request":
        said, more = said + message["body"], message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said, "more_body": True})
    for _ in range(400 if scope["path"] == "/large" else 0):
        await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
    await send({"type": "http.response.body"})


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(connections, "TICK_S", 0.02)
    monkeypatch.setattr(connections, "WAITS_S", dict.fromkeys(HALVES, 0.1))


@contextmanager
def served():
    with listening("127.0.0.1", 0) as listener:
        server = bounded_server(app, lifespan="off", timeout_graceful_shutdown=0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


def asked(place, request=WHOLE):
    with closing(socket.create_connection(place, timeout=5)) as client:
        client.sendall(request)
        return client.recv(100)


@pytest.mark.parametrize("phase", HALVES)
def test_who_keeps_the_server_waiting_is_sent_away(quick, phase):
    with served() as place, closing(socket.create_connection(place, timeout=5)) as client:
        client.sendall(HALVES[phase])
        if phase == "stalled":
            time.sleep(0.2)
            with pytest.raises((ConnectionError, EOFError)):
                while True:
                    if not client.recv(1 << 20):
                        raise EOFError
        else:
            with pytest.raises(ConnectionError):
                assert client.recv(100) == b""
                raise ConnectionError
        assert asked(place).startswith(b"HTTP/1.1 200")


def test_a_new_one_takes_the_place_of_the_oldest_that_waits(monkeypatch):
    monkeypatch.setattr(connections, "most_connections", lambda: 5)
    with served() as place, ExitStack() as halves:
        for _ in range(12):
            halves.enter_context(closing(socket.create_connection(place, timeout=5))).sendall(HALVES["headers"])
        assert asked(place).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("files", "most"), [(256, 128), (1, 1), (1 << 20, MOST_CONNECTIONS), (resource.RLIM_INFINITY, MOST_CONNECTIONS)]
)
def test_half_of_the_files_that_may_be_open(monkeypatch, files, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert most_connections() == most


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["view", "study"])
def test_300_that_send_half_a_request_shut_nobody_out(viewed_run, tmp_path, what):
    made = ["view", str(viewed_run), "--no-browser"]
    if what == "study":
        made = ["study", "serve", str(study_made(tmp_path / "study", items_per_annotator=2, checks_every=0).path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "apportion", *made, "--port", "0"],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=few_files,
    )  # fmt: skip
    try:
        printed = ""
        while "Ctrl-C" not in printed:
            printed += (line := process.stdout.readline())
            assert line, printed
        port = int(re.search(r"http://[^/]*:(\d+)", printed)[1])
        with ExitStack() as halves:
            for _ in range(300):
                client = halves.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=5)))
                client.sendall(HALVES["headers"])
            began = time.monotonic()
            request = f"GET /static/tokens.css HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            assert asked(("127.0.0.1", port), request).startswith(b"HTTP/1.1 ")
            assert time.monotonic() - began < 2
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=30)
    assert "Traceback" not in said
