"""A real HTTP proxy on loopback that counts what comes through it: whole requests, or tunnels to a host."""

from __future__ import annotations

import base64
import http.client
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """``login`` (USER:PASSWORD) is asked for where it is given, ``answer`` is its only one unless it is 200.

    ``seen`` are the request lines, ``texts`` the bodies that it could read.
    """

    login: str | None = None
    answer: int = 200
    seen: list[str] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    url: str = ""


@contextmanager
def proxying(proxy: Proxy) -> Iterator[Proxy]:
    """Run ``proxy`` on a free loopback port while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            proxy.seen.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            if not self._welcome():
                return
            proxy.texts.append(body)
            url = urlsplit(self.path)
            onward = http.client.HTTPConnection(url.hostname or "", url.port or 80)
            headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
            onward.request("POST", url.path, body, headers)
            answer = onward.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            onward.close()

        def do_CONNECT(self) -> None:
            proxy.seen.append(f"{self.command} {self.path}")
            if not self._welcome():
                return
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host, int(port))) as onward:
                self.send_response(200)
                self.end_headers()
                _tunnel(self.connection, onward)
            self.close_connection = True

        def _welcome(self) -> bool:
            wanted = proxy.login and f"Basic {base64.b64encode(proxy.login.encode()).decode()}"
            known = wanted is None or self.headers["Proxy-Authorization"] == wanted
            if known and proxy.answer == 200:
                return True
            self.send_response(proxy.answer if known else 407)
            self.send_header("Proxy-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False

        def log_message(self, *args: Any) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    proxy.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield proxy
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _tunnel(one: socket.socket, other: socket.socket) -> None:
    while True:
        for ready in select.select([one, other], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (other if ready is one else one).sendall(data)
