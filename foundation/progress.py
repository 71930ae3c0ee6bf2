"""How work that takes long says how far it is; whoever shows it decides how."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, text)`` from inside the work: units, epochs or steps, with a line for a person."""


def silent(done: int, total: int, text: str) -> None:
    """Progress that nobody looks at."""
