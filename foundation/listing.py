"""Long lists of messages, cut short."""

from __future__ import annotations

from collections.abc import Sequence


def some(title: str, messages: Sequence[str], most: int = 10) -> list[str]:
    """``title: message`` for the first ``most`` messages, and a line with how many more there are."""
    more = [f"{title}: {len(messages) - most:,} more"] if len(messages) > most else []
    return [f"{title}: {message}" for message in messages[:most]] + more
