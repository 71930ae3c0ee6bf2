"""A session id as a part of an address, in which nothing has a meaning of its own."""

from __future__ import annotations

from apportion.foundation.files import digest

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
MOST = 80


def slug_of(session_id: str) -> str:
    """A session id as letters, digits, ``-``, ``_`` and ``~``: safe in an address and as a file's name.

    Every other byte of its UTF-8 is ``~`` and two hexadecimal digits; long ids are cut and end in a digest.

    >>> slug_of("s01"), slug_of("../etc")
    ('s01', '~2e~2e~2fetc')
    """
    raw = session_id.encode("utf-8", "surrogatepass")
    slug = "".join(chr(byte) if chr(byte) in _PLAIN else f"~{byte:02x}" for byte in raw) or "~"
    return slug if len(slug) <= MOST else f"{slug[: MOST - 17]}~{digest(raw.hex())[:16]}"
