"""Who reads which part of a published text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.sotopia_markup import seat_viewer, shown_to

HIDDEN = "canary"
PIECES = st.sampled_from(
    [
        "a",
        " ",
        "<",
        ">",
        "<p>",
        "</p>",
        "</root>",
        "<extra_info>",
        "</extra_info>",
        '<p viewer="agent_0">',
        "</strategy_hint>",
    ]
)


@pytest.mark.parametrize(
    ("text", "everybody", "first", "second"),
    [
        ("A park", "A park", "A park", "A park"),
        ('A. <p viewer="environment">B.</p> C.', "A.  C.", "A.  C.", "A.  C."),
        ("A. <p viewer='agent_1'>B.</p>", "A. ", "A. ", "A. B."),
        (
            "<root viewer='agent_0'>A (<extra_info>B<strategy_hint>C</strategy_hint></extra_info>)</root>",
            "",
            "A (BC)",
            "",
        ),
        ("A <extra_info>B", "A B", "A B", "A B"),  # 14 published goals never end a hint
        ('A <p viewer="environment">B', "A ", "A ", "A "),
        ('A <p viewer="environment">B</extra_info>C</p>D', "A D", "A D", "A D"),
        ('A <p viewer="environment"><p viewer="agent_0">B</p></p>C', "A C", "A C", "A C"),
        ("A <p>B</p> 1 < 2 > 0 <b>C</b>", *["A <p>B</p> 1 < 2 > 0 <b>C</b>"] * 3),
    ],
)
def test_a_part_is_read_by_whom_it_is_for(text: str, everybody: str, first: str, second: str) -> None:
    assert [shown_to(text), shown_to(text, seat_viewer(0)), shown_to(text, seat_viewer(1))] == [
        everybody,
        first,
        second,
    ]


@given(st.lists(PIECES), st.lists(PIECES), st.lists(PIECES))
def test_what_only_the_environment_reads_never_shows_whatever_stands_around_it(
    before: list[str], within: list[str], after: list[str]
) -> None:
    inner = "".join(piece for piece in within if piece != "</p>")
    text = f'{"".join(before)}<p viewer="environment">{inner}{HIDDEN}</p>{"".join(after)}'
    for viewer in ("", "agent_0", "agent_1"):
        assert HIDDEN not in shown_to(text, viewer)


@given(st.text())
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    assert shown_to(text.replace("<", "")) == text.replace("<", "")
