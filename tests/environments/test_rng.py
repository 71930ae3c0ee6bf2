"""Chance that belongs to one episode."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.rng import EpisodeRNG


@given(st.lists(st.sampled_from("abc") | st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_copies_draw_as_if_each_had_copied_the_state_at_once(events: list[object]) -> None:
    lazy = {name: EpisodeRNG(3) for name in "abc"}
    eager = {name: Random(3) for name in "abc"}
    for event in events:
        if isinstance(event, tuple):
            one, other = event
            lazy[other] = lazy[one].copy()
            state = eager[one].getstate()
            eager[other] = Random()
            eager[other].setstate(state)
        else:
            assert lazy[str(event)].draws.random() == eager[str(event)].random()


def test_the_generator_of_the_process_is_left_alone() -> None:
    import random

    before = random.getstate()
    EpisodeRNG(1).draws.random()
    assert random.getstate() == before
