"""An S3-compatible store on loopback, whose requests are counted and some of which are refused."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7CANARY",
    "AWS_SECRET_ACCESS_KEY": "canary/secret/5f3a9b1277aa",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""What a user has set; the secret is to be found nowhere."""


class BucketServer:
    """moto's S3 by HTTP. ``refuse`` names the status by which a request (method, path) is refused; None: it is not."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self._application = DomainDispatcherApplication(create_backend_app)
        self.requests: list[tuple[str, str]] = []
        self.refuse: Callable[[str, str], int | None] = lambda method, path: None
        self.url = ""

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path))
        status = self.refuse(method, path)
        if status is None:
            return self._application(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        code = {403: "AccessDenied", 503: "SlowDown"}.get(status, "InternalError")
        body = f"<Error><Code>{code}</Code><Message>refused</Message></Error>".encode()
        start(f"{status} refused", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]

    def called(self, method: str) -> list[str]:
        return [path for known, path in self.requests if known == method]

    def begin_anew(self) -> None:
        """One bucket, ``bucket``, with nothing in it; nothing is refused, and nobody has asked for anything."""
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].reset()
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket("bucket", "us-east-1")
        self.refuse = lambda method, path: None
        self.requests.clear()


@contextmanager
def serving() -> Iterator[BucketServer]:
    """A server with the bucket ``bucket``; the environment leads this process and its own to it."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = BucketServer()
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    application.url = f"http://127.0.0.1:{server.port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": application.url}.items():
            patch.setenv(name, value)
        application.begin_anew()
        try:
            yield application
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
