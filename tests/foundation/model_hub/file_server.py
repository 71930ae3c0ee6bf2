"""A real HTTP server on loopback that gives a file well, or in one of the ways in which servers fail."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import pytest


class FileServer(ThreadingHTTPServer):
    """``content`` (or what is ``named``) at every address whose first part names the behaviour: /plain, /short,
    /redirect/plain, ...

    /index/short/PACKAGE/ is a page of a package index with the files ``listed``, each of which is given as /short.
    """

    content: bytes
    named: Mapping[str, bytes] = MappingProxyType({})
    """Other contents by the last part of their address."""
    listed: tuple[str, ...] = ()
    asked: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: FileServer

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        behaviour = self.path.strip("/").split("/")[0]
        getattr(self, f"_{behaviour}")(self.server.named.get(self.path.rpartition("/")[2], self.server.content))

    def _headers(self, code: int, *headers: tuple[str, str]) -> None:
        self.send_response(code)
        for header in headers:
            self.send_header(*header)
        self.end_headers()

    def _plain(self, content: bytes) -> None:
        self._headers(200, ("Content-Length", str(len(content))))
        self.wfile.write(content)

    def _unsized(self, content: bytes) -> None:
        self._headers(200)
        self.wfile.write(content)

    def _wrong(self, content: bytes) -> None:
        self._plain(content[:-1] + b"?")

    def _missing(self, content: bytes) -> None:
        self.send_error(404, "Not Found")

    def _broken(self, content: bytes) -> None:
        self.send_error(503, "Busy")

    def _short(self, content: bytes) -> None:
        """Half of what was promised, and a proper end."""
        self._headers(200, ("Content-Length", str(len(content))))
        self.wfile.write(content[: len(content) // 2])

    def _hangup(self, content: bytes) -> None:
        """Half, and then a reset as of a killed server."""
        self._headers(200, ("Content-Length", str(len(content))))
        self.wfile.write(content[: len(content) // 2])
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _chunked(self, content: bytes) -> None:
        """A chunk that is not finished."""
        self.protocol_version = "HTTP/1.1"
        self._headers(200, ("Transfer-Encoding", "chunked"))
        self.wfile.write(b"%x\r\n%s" % (len(content), content[:100]))

    def _silent(self, content: bytes) -> None:
        self._headers(200, ("Content-Length", str(len(content))))
        self.wfile.write(content[:100])
        self.wfile.flush()
        self.connection.recv(1)  # until the client has had enough

    def _noise(self, content: bytes) -> None:
        self.wfile.write(b"this is no HTTP\r\n\r\n")

    def _huge(self, content: bytes) -> None:
        self._headers(200, ("Content-Length", str(2**40)))

    def _index(self, content: bytes) -> None:
        behaviour = self.path.split("/")[2]
        links = "".join(f'<a href="/{behaviour}/{name}#sha256=0">\n{name}</a><br/>' for name in self.server.listed)
        page = f"<!DOCTYPE html><html><body>{links}<a>no address</a></body></html>".encode()
        self._headers(200, ("Content-Length", str(len(page))), ("Content-Type", "text/html"))
        self.wfile.write(page)

    def _redirect(self, content: bytes) -> None:
        self._headers(302, ("Location", "/" + self.path.split("/", 2)[2]))

    def _loop(self, content: bytes) -> None:
        self._headers(302, ("Location", self.path))

    def _tofile(self, content: bytes) -> None:
        self._headers(302, ("Location", "file:///etc/passwd"))


@contextmanager
def file_server(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "*")
    server = FileServer(("127.0.0.1", 0), Handler)
    server.content, server.asked = content, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
