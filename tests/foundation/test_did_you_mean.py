import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.did_you_mean import did_you_mean, nearest, slips

words = st.text("abc", max_size=6)


def test_a_slip_is_found_or_what_stands_for_it():
    assert nearest("uniforn", ("rrd", "uniform")) == "uniform"
    assert nearest("zzz", ("rrd", "uniform")) is None
    assert nearest("uniforn", ("uniform",), cutoff=1) is None
    assert did_you_mean("uniforn", ["uniform"], after=" Rename it.") == "did you mean 'uniform'? Rename it."
    assert did_you_mean("zzz", ["uniform"], "add it.") == "add it."
    assert did_you_mean("zzz", []) == ""


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("rdd", "rrd"), ("rudde", "rudder"), ("metohds", "methods"), ("unifrom", "uniform"), ("sgd", None)],
)
def test_the_fewest_slips_win(slip, meant):
    assert nearest(slip, ["rudder", "rrd", "uniform", "methods", "llm", "shapley"]) == meant


@given(words, words, words)
def test_slips_are_a_distance_between_neighbours(one, other, third):
    assert slips(one, other) == slips(other, one)
    assert (slips(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= slips(one, other) <= max(len(one), len(other))
    assert slips(one + third, other + third) <= slips(one, other)


@given(words, st.integers(0, 4))
def test_a_swap_is_one_slip(word, at):
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    assert slips(word, swapped) == (word != swapped)
