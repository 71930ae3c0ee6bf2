from collections import Counter

import pytest

from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.human_study.design import PRACTICE, check_participant, games_of
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.foundation.errors import InputError

STUDY = StudySettings(title="t", consent="c", agents=("greedy", "fair", "conceding"), practice="random", games=2)


def test_everybody_plays_every_agent_in_an_order_of_their_own():
    orders = set()
    for number in range(30):
        games = games_of(STUDY, f"p{number}")
        assert games == games_of(STUDY, f"p{number}")
        assert (games[0].number, games[0].agent) == (PRACTICE, "random")
        assert [game.number for game in games] == list(range(7))
        assert Counter(game.agent for game in games[1:]) == dict.fromkeys(STUDY.agents, 2)
        assert len({game.seed for game in games}) == 7
        orders.add(tuple(game.agent for game in games[1:]))
    assert len(orders) > 10


def test_another_seed_or_given_contexts():
    other = STUDY.model_copy(update={"seed": 1})
    assert games_of(other, "p1") != games_of(STUDY, "p1")
    given = STUDY.model_copy()
    given.__dict__["given_contexts"] = (Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))),)
    assert {game.context.counts for game in games_of(given, "p1")} == {(1, 3, 1)}


def test_an_id_and_no_name():
    assert check_participant("p-01_a") == "p-01_a"
    for name in ("", "Ann Lee", "../p", "a" * 41, "ä"):
        with pytest.raises(InputError, match="an id of 1 to 40"):
            check_participant(name)
