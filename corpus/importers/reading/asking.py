"""A question to whoever runs the import, where they sit at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

TRIES = 3
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def nobody_asked() -> Iterator[None]:
    """Whatever is asked within is as if no terminal were there."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def is_answered() -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return not _SILENT.get() and sys.stdin.isatty() and sys.stderr.isatty()


def say(question: str, usual: str) -> str | None:
    """What a person types, ``usual`` for Enter; None where no terminal is there."""
    if not is_answered():
        return None
    print(f"{question} [{usual}]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or usual


def choose(question: str, answers: Sequence[str]) -> str | None:
    """The answer that a person chose by its number; None where no terminal is there, or none was chosen."""
    if not is_answered():
        return None
    print(question, file=sys.stderr)
    for number, answer in enumerate(answers, start=1):
        print(f"  {number}  {answer}", file=sys.stderr)
    for _ in range(TRIES):
        print(f"1 to {len(answers)}, or Enter for none of them: ", end="", file=sys.stderr, flush=True)
        typed = sys.stdin.readline().strip()
        if typed.isdecimal() and 1 <= int(typed) <= len(answers):
            return answers[int(typed) - 1]
        if not typed:
            return None
    return None
