"""Strangers' words on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.terminal.console import INDENT, block, paragraphs, printable

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
