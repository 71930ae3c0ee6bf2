"""Every door that needs no foreign package, on every world."""

import pytest

pytest.importorskip("pettingzoo", reason="the extra pettingzoo is not installed")

from tests.environments.wrappers.conformance import EVERY, LARGER, TESTS, every_world, reaches_every_kind

every_door = pytest.mark.parametrize("door", ["tool", "gymnasium", "pettingzoo"])


@every_door
@every_world
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_it_conforms(test, door, world):
    test(door, world)


@every_door
@pytest.mark.parametrize("world", [*EVERY, *LARGER])
def test_random_play_reaches_every_kind_of_act(door, world):
    reaches_every_kind(door, world, 10, 400)


@pytest.mark.slow
@every_door
@every_world
def test_hundreds_of_random_episodes_end_and_none_does_what_is_not_allowed(door, world):
    assert reaches_every_kind(door, world, 300, 300)["episodes"] == 300
