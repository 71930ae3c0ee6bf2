"""A link an annotator: a token that nobody guesses, of which the database has the hash alone."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from apportion.foundation.errors import InputError

PATH = "/a/"
"""Where the pages take a token."""
TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")
"""What a token looks like."""


@dataclass(frozen=True)
class Link:
    """An annotator's id, and the token that lets them in; it cannot be told again."""

    annotator: str
    token: str

    def address(self, base: str) -> str:
        """The address to send to the annotator.

        >>> Link("a001", "T0k3n").address("https://study.example/")
        'https://study.example/a/T0k3n'
        """
        return f"{base.rstrip('/')}{PATH}{self.token}"


def served_address(url: str, called: str) -> str:
    """Where pages are served, without a slash at the end; ``called`` names it in messages. Raises InputError: it is no
    address of a server, or has what belongs to a page.

    >>> served_address("https://study.example.org/", "--address")
    'https://study.example.org'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:  # A port that is none.
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or "@" in url:
        raise InputError(
            f"{called} {url}: an address such as https://study.example.org is needed, by which annotators reach the "
            "study's pages."
        )
    return url.rstrip("/")


def new_token() -> str:
    """192 bits from the system's generator, as 32 characters that need no escape in an address."""
    return secrets.token_urlsafe(24)


def hashed(token: str) -> str:
    """What is kept of a token: sha256 (64 hexadecimal digits); a token is too long to be tried out."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
