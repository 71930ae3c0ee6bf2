"""A web server on loopback whose answers a test spoils."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Web:
    """Files by path; ``spoil`` may answer instead (a status), ``ranges`` says whether parts are given out."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.ranges = True
        self.said = True
        self.cut: list[int] = []
        """For each answer in turn, how many bytes of it come before the line goes dead."""
        self.spoil: Callable[[str, int], int | None] = lambda path, count: None
        self.redirects: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.sent = 0
        self.url = ""


@contextmanager
def serve() -> Iterator[Web]:
    """The server while the context is open."""
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append((self.path, self.headers.get("Range", "")))
            status = web.spoil(self.path, len(web.asked))
            if self.path in web.redirects:
                self.send_response(302)
                self.send_header("Location", web.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = web.files.get(self.path)
            if status or content is None:
                self.send_response(status or 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            body, code = content, 200
            if web.ranges and wanted:
                start, end = int(wanted[1]), min(int(wanted[2]) + 1, len(content))
                body, code = content[start:end], 206 if start < len(content) else 416
            length = len(body)
            if length > 1 and web.cut:
                body = body[: web.cut.pop(0)]
            web.sent += len(body)
            self.send_response(code)
            if code == 206:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            if web.said:
                self.send_header("Content-Length", str(length))
                self.send_header("ETag", web.tags.get(self.path, '"one"'))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *told: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    web.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
