"""A real HTTP server on loopback that speaks ``/v1/chat/completions``, with latency and faults as parameters."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One answer that is no chat completion: a status with an error body, or raw bytes under ``raw_status``.

    ``hangs`` sends the head and half of the body and then nothing more, ``trickles`` a byte every 50 ms, ``cut`` half
    of the body and the end of the connection, ``chunks`` the same in chunks. ``short`` promises half of what it sends.
    ``endless`` sends the body again and again until the client has enough.
    """

    status: int = 500
    message: str = "fault"
    code: str | None = None
    raw: bytes | None = None
    raw_status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    way: Literal["whole", "hangs", "trickles", "cut", "chunks", "short", "endless"] = "whole"


def completion(text: str, finish_reason: str = "stop", refusal: str | None = None) -> Body:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": None if refusal else text, "refusal": refusal},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def echo(body: Body) -> Body:
    return completion(f"reply to {body['messages'][-1]['content']}")


@dataclass
class OpenAIServer:
    """``answer`` makes the reply; ``faults`` come first, one a request; ``refuse`` may return a fault for a body."""

    answer: Callable[[Body], Body] = echo
    faults: Sequence[Fault] = ()
    refuse: Callable[[Body], Fault | None] = lambda body: None
    latency_s: float = 0.0
    requests: list[Body] = field(default_factory=list)
    arrivals_s: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answered: int = 0
    written: list[Body] = field(default_factory=list)
    """The bodies of requests whose reply was written to its last byte."""
    most_at_once: int = 0
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, body: Body, headers: dict[str, str]) -> Fault | Body:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.arrivals_s.append(time.monotonic())
            self.headers.append(headers)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            time.sleep(self.latency_s)
            if number < len(self.faults):
                return self.faults[number]
            refusal = self.refuse(body)
            if refusal is not None:
                return refusal
            reply = self.answer(body)
            with self._lock:
                self.answered += 1
            return reply
        finally:
            with self._lock:
                self._at_once -= 1

    def other(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: dict[str, str]) -> Fault | Body:
        """Everything but chat completions; this server has nothing else."""
        return Fault(404, f"no such path {path}")


class _Handler(BaseHTTPRequestHandler):
    """Gives the answers of ``openai``, byte by byte where a fault asks for that."""

    openai: OpenAIServer
    protocol_version = "HTTP/1.1"
    # Else the body of an answer waits for an acknowledgement of its head, 40 ms on a connection in use.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"] or 0))
        headers = {k.lower(): v for k, v in self.headers.items()}
        url = urlsplit(self.path)
        if url.path == "/v1/chat/completions":
            body = json.loads(raw)
            result = self.openai.handle(body, headers)
            self._answer(result)
            if not isinstance(result, Fault):
                self.openai.written.append(body)
        else:
            self._answer(self.openai.other(self.command, url.path, dict(parse_qsl(url.query)), raw, headers))

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        headers = {k.lower(): v for k, v in self.headers.items()}
        self._answer(self.openai.other(self.command, url.path, dict(parse_qsl(url.query)), b"", headers))

    def do_DELETE(self) -> None:
        self.do_GET()

    def _answer(self, result: Fault | Body) -> None:
        if not isinstance(result, Fault):
            return self._send(200, json.dumps(result).encode())
        if result.raw is not None:
            return self._send(result.raw_status, result.raw, result.headers, result.way)
        error = {"error": {"message": result.message, "code": result.code, "type": "fault", "param": None}}
        return self._send(result.status, json.dumps(error).encode(), result.headers)

    def _send(self, status: int, content: bytes, headers: tuple[tuple[str, str], ...] = (), way: str = "whole") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if way == "chunks":
            self.send_header("Transfer-Encoding", "chunked")
        elif way != "endless":
            self.send_header("Content-Length", str(len(content) // 2 if way == "short" else len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if way in ("whole", "short"):
            self.wfile.write(content)
        else:
            self.close_connection = True
            self._send_oddly(content, way)

    def _send_oddly(self, content: bytes, way: str) -> None:
        while way == "endless":
            self.wfile.write(content)
        half = content[: len(content) // 2]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half) if way == "chunks" else half)
        self.wfile.flush()
        rest = content[len(content) // 2 :] if way == "trickles" else b""
        for byte in rest:
            time.sleep(0.05)
            self.wfile.write(bytes([byte]))
        if way == "hangs":
            self.openai.over.wait(20)

    def log_message(self, *args: Any) -> None:
        pass


class _Listener(ThreadingHTTPServer):
    # The default of 5 turns away clients that connect all at once.
    request_queue_size = 256

    def handle_error(self, *arguments: Any) -> None:
        """A client that was killed is no news."""


@contextmanager
def serving(
    server: OpenAIServer, port: int = 0, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[OpenAIServer]:
    """Run ``server`` on a port of ``address``, a free one by default, while the block lasts; with ``tls`` by https."""

    handler = type("Handler", (_Handler,), {"openai": server})
    http = _Listener((address, port), handler)
    http.daemon_threads = True
    if tls is not None:
        # Shaking hands is for the thread of the connection: in the listener's, one client would hold up all.
        http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    server.url = f"{'http' if tls is None else 'https'}://{address}:{http.server_port}/v1"
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        http.server_close()
        thread.join()
