import re

from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.data.index import MOST, slug_of


@given(st.text(), st.text())
def test_it_is_safe_and_tells_ids_apart(one, other):
    assert re.fullmatch(r"[A-Za-z0-9_~-]+", slug_of(one)) and len(slug_of(one)) <= MOST
    assert (slug_of(one) == slug_of(other)) == (one == other)
