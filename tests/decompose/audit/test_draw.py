from hypothesis import given
from hypothesis import strategies as st

from decompose.audit.draw import number, one_of, shuffled


def test_numbers_are_the_same_for_ever():
    assert number(0, "turn", "s1") == 3860908169992432308
    assert number(0, "turn", "s1") != number(1, "turn", "s1") != number(1, "turn", "s2")


@given(st.lists(st.integers(0, 3), max_size=8), st.integers())
def test_a_shuffled_list_holds_the_same_and_differs_where_it_can(items, seed):
    found = shuffled(items, seed)
    assert sorted(found) == sorted(items)
    assert (found == items) == (len(set(items)) < 2)


def test_one_of_takes_every_item_sometime():
    assert {one_of("abc", seed) for seed in range(30)} == set("abc")
