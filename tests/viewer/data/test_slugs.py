"""A session id in an address and as a file's name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.data.index import MOST, slug_of


@given(st.text(), st.text())
def test_it_is_safe_and_tells_ids_apart(one, other):
    assert re.fullmatch(r"[A-Za-z0-9_~-]+", slug_of(one)) and len(slug_of(one)) <= MOST
    assert (slug_of(one) == slug_of(other)) == (one == other)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a" * 5000, "<script>alert(1)</script>", "a\0b", "\u202egnp.exe", "~"]
)
def test_hostile_ids_stay_one_part_of_an_address(name):
    assert "/" not in slug_of(name) and "." not in slug_of(name) and "%" not in slug_of(name)
    assert slug_of(name) != slug_of(name + "x")
