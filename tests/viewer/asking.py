"""Requests to a viewer as a browser sends them, and as a page of another site would."""

import re
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPErrorProcessor, Request, build_opener

from tests.viewer.runs import Served


class _AsItIs(HTTPErrorProcessor):
    """Redirects and errors are answers like others."""

    def http_response(self, request, response):
        return response

    https_response = http_response


def ask(served: Served, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of an answer; the cookie of `served` is sent along unless one is given."""
    named = {"Cookie": f"{served.access.cookie}={served.access.pass_}"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(served.address + path, data=body, headers=named)
    try:
        with build_opener(_AsItIs).open(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except HTTPError as error:
        return error.code, error.read().decode(), dict(error.headers)


def send(served: Served, path: str, fields: dict[str, object], **headers: str) -> tuple[int, str, dict[str, str]]:
    """Post a form as a page of `served` does."""
    body = urlencode({name: str(value) for name, value in fields.items()}).encode()
    named = {"Origin": served.address.rstrip("/"), "Content_Type": "application/x-www-form-urlencoded", **headers}
    return ask(served, path, body, **named)


def token_of(page: str) -> str:
    """The token in a page's form."""
    found = re.search('name="token" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]
