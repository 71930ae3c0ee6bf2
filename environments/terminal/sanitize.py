"""Strangers' words on a terminal: shown, never obeyed, and never where our own lines begin."""

from __future__ import annotations

import textwrap

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
