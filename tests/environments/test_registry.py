"""Who plays a session on and who scores it, asked of the environment that made it."""

from importlib.metadata import EntryPoint

import pytest

from apportion.corpus.session import Session
from apportion.environments.registry import SIMULATORS, asked_of, identity_of, maker_of
from apportion.environments.role_assignment import BY_RULES, EpisodeScore, RoleAssignment
from apportion.foundation import registry
from apportion.foundation.errors import InputError
from tests.behaviour.simulating_method import MADE
from tests.environments.games import Countdown, take


def test_the_rules_score_what_stands() -> None:
    game = Countdown(("ann", "bob"))
    assert BY_RULES.verdict(game) == EpisodeScore(game.outcome()) and BY_RULES.called == "rules"
    while not game.over:
        game.do(take(3))
    assert {scores["points"] for scores in BY_RULES.verdict(game).scores.values()} == {0.0, 1.0}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    point = EntryPoint("haggling", "tests.behaviour.simulating_method:HAGGLING", SIMULATORS.group)
    monkeypatch.setattr(registry, "points_of", lambda group: {"haggling": point} if group == SIMULATORS.group else {})


def test_a_simulator_that_knows_no_cast_plays_on_with_who_made_the_session_alone(tmp_path) -> None:
    session = Session("s0", (), source=MADE)
    assert identity_of(session, tmp_path, RoleAssignment()) == identity_of(session, tmp_path)
    assert asked_of(session, tmp_path, RoleAssignment()) == ()
    for cast in (
        RoleAssignment(target="base"),
        RoleAssignment(partner="random"),
        RoleAssignment(judge="paper"),
        RoleAssignment(temperature=0.3),
    ):
        with pytest.raises(InputError, match=r"session s0: simulator 'haggling' plays on with who made the session"):
            maker_of(session, tmp_path, cast)
    assert maker_of(session, tmp_path, RoleAssignment(target="base").scoring()) is not None


def test_what_no_environment_made_is_asked_of_nobody(tmp_path) -> None:
    other = Session("s1", (), source="recorded")
    assert maker_of(other, tmp_path, RoleAssignment(target="base")) is None
    assert identity_of(other, tmp_path, RoleAssignment()) is None and asked_of(other, tmp_path, RoleAssignment()) == ()
