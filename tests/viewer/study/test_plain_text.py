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


@given(st.text(alphabet="ab- \n"))
def test_no_word_is_lost(text):
    told = "\n".join(line for block in blocks_of(text) for line in block.lines)
    assert told.replace("-", "").split() == text.replace("-", "").split()
