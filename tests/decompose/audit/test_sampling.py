from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Media, Session
from apportion.decompose.audit.sampling import audited, number, one_of, shuffled


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


def corpus(recorded: int, silent: int) -> list[Session]:
    media = (Media("a", "video", "a.mp4"),)
    return [Session(f"v{n}", (), (), media) for n in range(recorded)] + [Session(f"t{n}", ()) for n in range(silent)]


@given(recorded=st.integers(0, 30), silent=st.integers(0, 30), count=st.integers(0, 70), seed=st.integers(0, 9))
def test_as_many_as_asked_for_with_recordings_among_them(recorded, silent, count, seed):
    found = audited(corpus(recorded, silent), count, seed)
    assert len(found) == len(set(found)) == min(count, recorded + silent)
    assert list(found) == sorted(found)
    assert sum(name.startswith("v") for name in found) >= min(recorded, count // 2)
    assert set(found) <= set(audited(corpus(recorded, silent), count + 1, seed))
    assert found == audited(reversed(corpus(recorded, silent)), count, seed)


def test_seeds_choose_other_sessions():
    assert len({audited(corpus(0, 50), 5, seed) for seed in range(5)}) == 5
