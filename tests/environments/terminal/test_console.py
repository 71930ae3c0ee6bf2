"""Where a person reads and types."""

import sys
from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from apportion.environments.terminal import console
from apportion.environments.terminal.console import CUT_AT, LineError, Screen, terminal
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
