"""A loopback server of raw sockets: every byte of an answer, and the time between two, is the fault's to choose."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.llm_client.openai_server import completion

Body = dict[str, Any]
_DIALOGUE = re.compile(r"customer (\d+)\b")
_TURNS = re.compile(r"(?:judge|null|once): (\[[\d, ]*\])")


@dataclass(frozen=True)
class Ask:
    """One request: the how manieth of all it is, and of those about its dialogue, both from 1."""

    number: int
    dialogue: int
    once_more: int
    body: Body
    headers: dict[str, str]
    open_at_once: int

    def usable(self) -> str:
        """A reply that can be used, as the model would write it."""
        text = "\n".join(str(message["content"]) for message in self.body["messages"])
        turns = json.loads(_TURNS.findall(text)[-1])
        return json.dumps({"turns": [{"turn": t, "value": t % 3, "evidence": None} for t in turns]})


@dataclass(frozen=True)
class Answer:
    """What goes over the line: bytes are written, a number is a rest in seconds; ``ends`` closes the connection."""

    parts: Iterable[bytes | float] = ()
    ends: bool = False


Answering = Callable[[Ask], Answer]


def http(
    status: int, content: bytes | Body, headers: Sequence[tuple[str, str]] = (), length: int | None = None
) -> Answer:
    """A whole answer; ``length`` lies about its size."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    length = len(raw) if length is None else length
    return Answer([head(status, ("Content-Length", str(length)), *headers), raw])


def head(status: int, *headers: tuple[str, str]) -> bytes:
    """Status line and headers of an answer in JSON."""
    named = {"Content-Type": "application/json", **dict(headers)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode()


def good(ask: Ask) -> Answer:
    """What a healthy server says."""
    return saying(ask.usable())


def saying(text: str, **changes: Any) -> Answer:
    """A completion with ``text``, parts of its document changed."""
    return http(200, {**completion(text), **changes})


@dataclass
class HostileServer:
    """Answers by ``answer``; ``finished`` counts answers that were written to their end, by dialogue.

    After ``dies_after`` answers nobody listens any more, or for ``away_s`` seconds.
    """

    answer: Answering = good
    tls: ssl.SSLContext | None = None
    dies_after: int | None = None
    away_s: float | None = None
    asked: Counter[int] = field(default_factory=Counter)
    finished: Counter[int] = field(default_factory=Counter)
    connections: int = 0
    port: int = 0
    _open: int = 0
    _dead: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def listen(self) -> None:
        """Accept connections on ``port`` (a free one where it is 0) in a thread."""
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self._listener.settimeout(0.2)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while not self._over.is_set():
            try:
                line, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(line,), daemon=True).start()

    def _go_away(self) -> None:
        with self._lock:
            if self._listener.fileno() == -1 or self._dead:
                return
            self._dead = self.away_s is None
            self._listener.close()
        if self.away_s is not None:
            self.dies_after = None
            self._over.wait(self.away_s)
            self.listen()

    def close(self) -> None:
        """Listen no more, and let nobody rest."""
        self._over.set()
        self._listener.close()

    def _talk(self, line: socket.socket) -> None:
        with suppress(OSError, ValueError):
            if self.tls is not None:
                line = self.tls.wrap_socket(line, server_side=True)
            with line, line.makefile("rb") as read:
                while (request := _read(read)) is not None and not self._over.is_set():
                    if self._exchange(line, *request):
                        break
                    if self.dies_after is not None and self.finished.total() >= self.dies_after:
                        break
        if self.dies_after is not None and self.finished.total() >= self.dies_after:
            self._go_away()

    def _exchange(self, line: socket.socket, body: Body, headers: dict[str, str]) -> bool:
        """One answer; whether the connection ends with it."""
        found = _DIALOGUE.search(json.dumps(body))
        dialogue = int(found[1]) if found else -1
        with self._lock:
            self.asked[dialogue] += 1
            self._open += 1
            ask = Ask(self.asked.total(), dialogue, self.asked[dialogue], body, headers, self._open)
        try:
            answer = self.answer(ask)
            for part in answer.parts:
                if isinstance(part, bytes):
                    line.sendall(part)
                elif self._over.wait(part):
                    return True
        finally:
            with self._lock:
                self._open -= 1
        with self._lock:
            self.finished[dialogue] += 1
        return answer.ends


def _read(read: Any) -> tuple[Body, dict[str, str]] | None:
    """The next request on a connection; None at its end."""
    if not read.readline():
        return None
    headers = {}
    while (row := read.readline().strip()) != b"":
        name, _, value = row.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return json.loads(read.read(int(headers.get("content-length", 0))) or b"{}"), headers


@contextmanager
def hostile(server: HostileServer) -> Iterator[HostileServer]:
    """Run ``server`` on a free loopback port while the block lasts."""
    server.listen()
    try:
        yield server
    finally:
        server.close()


class Meter:
    """What a provider lets through: ``per_s`` requests a second, ``burst`` at once."""

    def __init__(self, per_s: float, burst: float = 1.0) -> None:
        self._per_s, self._burst = per_s, burst
        self._level, self._at_s = burst, time.monotonic()
        self._lock = threading.Lock()

    def lets_through(self) -> bool:
        """Whether one more may pass now."""
        with self._lock:
            now_s = time.monotonic()
            self._level = min(self._burst, self._level + self._per_s * (now_s - self._at_s))
            self._at_s = now_s
            if self._level < 1:
                return False
            self._level -= 1
            return True
