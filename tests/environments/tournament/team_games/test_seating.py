"""Who sits where: drawn from the pool, or one agent a team."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.tournament.team_games.matches import POOL, TEAMS, seated
from apportion.foundation.errors import InputError

SIDES = ("village", "werewolves")
AGENTS = {"a": "a", "b": "b@m", "c": "c"}


def test_every_seat_is_drawn_from_the_pool_alike() -> None:
    matches = list(seated(POOL, AGENTS, SIDES, 7, 2000, 0))
    counts = Counter(agent for one in matches for agent in one.seats)
    assert set(counts) == set(AGENTS) and all(abs(n - 14000 / 3) < 300 for n in counts.values())
    assert len({one.name for one in matches}) == len({one.seed for one in matches}) == 2000
    together = sum(one.seats[0] == one.seats[6] for one in matches)
    assert abs(together - 2000 / 3) < 100


@given(st.integers(1, 20), st.integers(0, 5))
def test_deals_are_those_of_the_number_whoever_plays(matches: int, seed: int) -> None:
    pool = list(seated(POOL, AGENTS, SIDES, 5, matches, seed))
    other = list(seated(POOL, {"z": "z"}, SIDES, 5, matches, seed))
    teams = list(seated(TEAMS, AGENTS, SIDES, 5, matches, seed))
    assert [one.seed for one in pool] == [one.seed for one in other]
    assert len(teams) == 9 * matches and len({one.name for one in teams}) == len(teams)
    for number, one in enumerate(pool):
        same = [two for two in teams if two.seed == one.seed]
        assert len(same) == 9 and {tuple(two.seats.values()) for two in same} == {(x, y) for x in "abc" for y in "abc"}
        assert one.name == f"match-{number}"
    assert list(seated(POOL, AGENTS, SIDES, 5, matches, seed)) == pool


def test_nothing_to_play_is_refused() -> None:
    for agents, matches in (({}, 3), (AGENTS, 0)):
        with pytest.raises(InputError, match="nothing to play"):
            list(seated(POOL, agents, SIDES, 5, matches, 0))
