"""Where a person reads and types: lines shown, lines asked for."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable

from apportion.foundation.errors import InputError

_JOINERS = "\u200c\u200d"
"""They join letters and emoji, and move nothing."""
INDENT = "    "


def printable(text: str) -> str:
    r"""The text in one line of letters that a terminal shows as they are.

    Control characters, escape sequences, marks that turn the direction of writing, and halves of surrogate pairs are
    spelled out; line breaks and other white space become single spaces.

    >>> printable("Hi\x1b[2J\x9b1m\u202e!")
    'Hi\\x1b[2J\\x9b1m\\u202e!'
    >>> printable("one\r\n two\u3000three")
    'one two three'
    """
    return "".join(letter if is_shown(letter) else _spelled(letter) for letter in " ".join(text.split()))


def paragraphs(text: str) -> list[str]:
    r"""The lines of a text, each `printable`; empty ones are left out.

    >>> paragraphs("Dear Bob,\n\n#7 You said: yes\x07")
    ['Dear Bob,', '#7 You said: yes\\x07']
    """
    return [line for line in map(printable, text.splitlines()) if line]


def block(label: str, text: str, width: int) -> str:
    """A label and a text behind it, in lines of at most ``width`` columns; all but the first are indented.

    The label is `printable` before it comes here. No line of the text begins where labels do, whatever it holds.

    >>> print(block("Ann: ", "a b c d", 9))
    Ann: a b
        c d
    """
    first, *others = paragraphs(text) or [""]
    lines = _wrapped(label + first, "", width)
    for other in others:
        lines += _wrapped(other, INDENT, width)
    return "\n".join(lines)


def _wrapped(text: str, begin: str, width: int) -> list[str]:
    wrapper = textwrap.TextWrapper(
        max(width, 2 * len(INDENT)), initial_indent=begin, subsequent_indent=INDENT, break_on_hyphens=False
    )
    return wrapper.wrap(text) or [begin]


def is_shown(letter: str) -> bool:
    """Whether a letter stands for itself on a terminal."""
    return letter.isprintable() or letter in _JOINERS


def _spelled(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


CUT_AT = 4095
"""Bytes at which a terminal cuts a line where nothing edits it (Linux, N_TTY); what comes behind is lost."""


class LineError(Exception):
    """A line that cannot be used; the text tells the person why."""


class Screen:
    """A terminal, or what stands in for one.

    ``ask``: Shows a prompt and gives the line that was typed, as ``input`` does. ``write``: Shows text at once.
    ``width``: Columns there are. ``edited``: Whether ``ask`` lets the line be edited, and so takes one of any length.
    ``live``: Whether a line may be shown that is taken back.
    """

    def __init__(
        self,
        ask: Callable[[str], str],
        write: Callable[[str], object],
        *,
        width: Callable[[], int] = lambda: 80,
        edited: bool = True,
        live: bool = False,
    ) -> None:
        self._ask, self._write, self._width = ask, write, width
        self._edited, self._live = edited, live
        self._waiting = False

    def show(self, label: str, text: str = "") -> None:
        """A label, and words of whomever behind it."""
        self.done_waiting()
        self._write(block(label, text, self._width()) + "\n")

    def wait(self, text: str) -> None:
        """Say what one waits for; the words go when something else is shown."""
        if self._live:
            self._write(text)
            self._waiting = True

    def ask(self, prompt: str) -> str:
        """The line that the person types.

        Raises EOFError: The input has ended. Raises LineError: The line is no text, or the terminal may have cut it.
        """
        self.done_waiting()
        try:
            line = self._ask(prompt)
        except UnicodeDecodeError:
            raise LineError("that line is no UTF-8 text") from None
        if not self._edited and len(line.encode("utf-8", "surrogateescape")) >= CUT_AT:
            raise LineError(f"that line fills the {CUT_AT:,} bytes that fit into one: its end may be lost. Say less")
        return line

    def done_waiting(self) -> None:
        """Take back what `wait` has said."""
        if self._waiting:
            self._write("\r\x1b[K")
            self._waiting = False


def terminal() -> Screen:
    """The terminal in which this process runs, with lines that can be edited where the system lets them.

    Raises InputError: the standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise InputError(
            "a person plays in a terminal, and the standard input is none (a file or a pipe). Run it in a terminal; "
            "agents play without one"
        )
    live = sys.stdout.isatty()
    return Screen(input, _write, width=_width, edited=live and _edits_lines(), live=live)


def _edits_lines() -> bool:
    try:
        import readline
    except ImportError:
        return False
    # Else the tabulator would list the files of the folder.
    readline.parse_and_bind("tab: self-insert")
    return True


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 100)
