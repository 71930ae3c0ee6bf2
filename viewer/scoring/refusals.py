"""What a request may be, and the error of one that is not: its status, and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Of one request: bytes, dialogues, turns in all of them, characters a turn; and how many requests may wait."""

    body: int = 4 << 20
    dialogues: int = 256
    turns: int = 4096
    text: int = 20_000
    waiting: int = 256


class RefusedError(InputError):
    """A request that gets no scores; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def unusable(message: str) -> RefusedError:
    """The error of a request that is read but cannot be scored."""
    return RefusedError(422, message)
