"""`--sessions`: the sessions that a command is about, by their ids or by a file that lists them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from apportion.corpus.files.textfile import read_text
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class SessionChoice:
    """What was given, and the ids that it means; ``count`` for an audit that was told a number alone."""

    text: str
    ids: tuple[str, ...] | None
    count: int | None = None

    @property
    def audited(self) -> int:
        """How many sessions an audit asks about."""
        return self.count or len(self.ids or ())

    def of_audit(self) -> SessionChoice:
        """The choice where a whole number is so many sessions, not an id.

        Raises InputError: The number 0.
        """
        if not self.text.isdecimal() or self.ids != (self.text,):
            return self
        if not int(self.text):
            raise InputError(f"--sessions {self.text}: at least 1 session.")
        return SessionChoice(self.text, None, int(self.text))


class SessionsGiven(click.ParamType[SessionChoice]):
    """A file with one id a line, or ids with commas between them."""

    name = "sessions"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SessionChoice:
        """The choice that ``value`` spells."""
        if isinstance(value, SessionChoice):
            return value
        text = str(value)
        if os.path.isfile(text):  # noqa: PTH113 (for Path.is_file a name too long for a file is an error)
            return SessionChoice(text, _unique(_lines(Path(text)), f"--sessions {text}"))
        return SessionChoice(text, _unique(text.split(","), f"--sessions {text!r}"))


def _lines(path: Path) -> list[str]:
    try:
        return read_text(path, allow_empty=True).splitlines()
    except InputError as error:
        raise InputError(f"--sessions {error} Give a text file with one id a line.") from None


def _unique(names: list[str], called: str) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not ids:
        raise InputError(f"{called}: names no session. Give ids with commas between them, or a file with one a line.")
    return ids


SESSIONS_OPTION = click.option(
    "--sessions",
    type=SessionsGiven(),
    metavar="FILE|ID,…",
    help="These sessions alone; with --only audit also a number of them.",
)
