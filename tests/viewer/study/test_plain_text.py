"""Plain text becomes paragraphs and lists, and nothing is lost or read as markup."""

from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.study.views import Block, blocks_of


def test_paragraphs_and_lists():
    text = "First line,\nsecond.\n\n- one\n- two\n\n- apart\nAfter.\n"
    assert blocks_of(text) == (
        Block(False, ("First line,\nsecond.",)),
        Block(True, ("one", "two")),
        Block(True, ("apart",)),
        Block(False, ("After.",)),
    )


def test_markup_stays_text():
    assert blocks_of("<b>x</b> *y*") == (Block(False, ("<b>x</b> *y*",)),)


@given(st.text(alphabet="ab- \n"))
def test_no_word_is_lost(text):
    told = "\n".join(line for block in blocks_of(text) for line in block.lines)
    assert told.replace("-", "").split() == text.replace("-", "").split()
