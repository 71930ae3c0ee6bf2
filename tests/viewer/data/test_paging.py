from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.data.listing import Page


@given(st.integers(0, 300), st.integers(1, 60))
def test_every_row_is_on_one_page(found, size):
    rows = list(range(found))
    pages = [Page.of(found, number, size) for number in range(1, Page.of(found, 1, size).pages + 1)]
    assert [row for page in pages for row in page.cut(rows)] == rows
    assert all(page.cut(rows) for page in pages) or not found


@given(st.integers(0, 300), st.integers(-10, 10**9), st.integers(1, 60))
def test_a_number_that_there_is_not_is_the_first_or_the_last(found, wanted, size):
    page = Page.of(found, wanted, size)
    assert 1 <= page.number <= page.pages and page.number == min(max(1, wanted), page.pages)


def test_a_range_in_words():
    assert [Page.of(120, number, 50).range for number in (1, 3)] == ["1–50 of 120", "101–120 of 120"]
    assert Page.of(0, 1, 50).range == "0 of 0"
