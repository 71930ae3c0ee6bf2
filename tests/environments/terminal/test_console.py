"""Where a person reads and types."""

import sys
from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.terminal import console
from apportion.environments.terminal.console import (
    CUT_AT,
    INDENT,
    LineError,
    Screen,
    block,
    paragraphs,
    printable,
    terminal,
)
from apportion.foundation.errors import InputError


def typed(line: str) -> Callable[[str], str]:
    return lambda prompt: line


def test_what_one_waits_for_goes_when_something_else_is_shown() -> None:
    shown: list[str] = []
    live = Screen(typed("x"), shown.append, live=True)
    live.wait("(wait)")
    live.show("Ann: ", "Hi")
    live.wait("(wait)")
    assert live.ask("> ") == "x" and "".join(shown) == "(wait)\r\x1b[KAnn: Hi\n(wait)\r\x1b[K"
    shown.clear()
    Screen(typed("x"), shown.append).wait("(wait)")
    assert shown == []


def test_a_line_that_the_terminal_may_have_cut_is_refused_and_an_edited_one_is_not() -> None:
    longest = "é" * (CUT_AT // 2) + "a"
    with pytest.raises(LineError, match="fills the 4,095 bytes"):
        Screen(typed(longest), print, edited=False).ask("> ")
    assert Screen(typed(longest[:-1]), print, edited=False).ask("> ") and Screen(typed(longest), print).ask("> ")


def test_a_line_that_is_no_text_is_refused() -> None:
    def ask(prompt: str) -> str:
        return b"\xff".decode()

    with pytest.raises(LineError, match="no UTF-8"):
        Screen(ask, print).ask("> ")


def test_without_a_terminal_nobody_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("hello"))
    with pytest.raises(InputError, match="the standard input is none"):
        terminal()


def test_letters_that_the_terminal_lacks_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    out = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(out, encoding="ascii"))
    console._write("caf\u00e9")
    assert out.getvalue() == b"caf\\xe9"


NASTY = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp\x00\ud800\x7f"


def test_what_drives_a_terminal_is_spelled_out() -> None:
    assert printable(NASTY) == "\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\u202egnp\\x00\\ud800\\x7f"
    assert printable("caf\u00e9 \U0001f469\u200d\U0001f52c \u0643") == "caf\u00e9 \U0001f469\u200d\U0001f52c \u0643"


@given(st.text(st.characters(), max_size=200))
def test_whatever_is_said_a_terminal_shows_it(text: str) -> None:
    shown = printable(text)
    assert all(letter.isprintable() or letter in "\u200c\u200d" for letter in shown)
    assert printable(shown) == shown


@given(st.text(max_size=300), st.integers(8, 60))
def test_no_words_stand_where_our_lines_begin(text: str, width: int) -> None:
    first, *others = block("Ann: ", text, width).split("\n")
    assert first.startswith("Ann:") and all(line.startswith(INDENT) for line in others)
    assert all(len(line) <= width for line in (first, *others))
    shown = "".join("".join(line.split()) for line in (first, *others))
    assert shown == "Ann:" + "".join("".join(line.split()) for line in paragraphs(text))
