"""Which failures are tried again, and when."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 8.0


def helps(status: int, code: str | None, headers: Mapping[str, str]) -> bool:
    """Whether the same request may succeed later, by an error's status, its code and the server's own word.

    An empty account (``insufficient_quota``) comes as 429, and waiting does not fill it.
    """
    word = headers.get("x-should-retry")
    if word in ("true", "false"):
        return word == "true"
    return code != "insufficient_quota" and (status in (408, 409, 429) or status >= 500)


def told_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait (``Retry-After-Ms``; ``Retry-After`` in seconds or as a date), or None."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):  # A year or a time zone of 20 digits is the latter.
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def own_wait_s(failures: int) -> float:
    """Seconds to wait after so many failed tries where the server says nothing: doubling, with jitter."""
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** min(failures - 1, 10))
    return longest * random.uniform(0.75, 1.0)
