"""Requests to a viewer as a browser sends them, and as a page of another site would."""

import re
from urllib.parse import urlencode

from tests.viewer import runs
from tests.viewer.runs import Served


def ask(served: Served, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of an answer; the cookie of `served` is sent along unless one is given."""
    answer = runs.ask(served, path, "GET" if body is None else "POST", body, **headers)
    return answer.status, answer.text, answer.headers


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
