"""The game on the core: phases, what is heard, defaults, acts that are not allowed, outcomes, copies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.actions import SILENT
from apportion.environments.deduction.events import MODERATOR
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.observation import lived
from apportion.environments.deduction.onuw.rules import (
    CHOOSING,
    PLAYERS,
    ClaimedHistory,
    Options,
    all_deals,
    dead,
    nights_of,
)
from apportion.environments.deduction.onuw.scripts import Claiming
from apportion.environments.deduction.scripts import Random as Drawn
from apportion.environments.deduction.text_rendering import DeductionRenderer
from apportion.environments.environment import Action, InvalidActionError, Observation
from apportion.environments.terminal.console import LineError
from apportion.foundation.errors import InputError
from tests.environments.deduction.onuw.playing import ONE_ROUND, at_dawn, played, talk, vote

DEAL = ("seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager")
NIGHT = {"seer": (4,), "robber": (4,), "troublemaker": (1, 3)}


def test_a_game_from_the_night_to_the_end() -> None:
    game = OneNight(ONE_ROUND, DEAL)
    assert game.acting() == ("Player 1", "Player 2", "Player 3")
    assert [game.legal(name) for name in game.agents] == [
        ("look", "centre", SILENT), ("rob", SILENT), ("swap", SILENT), (), (),
    ]  # fmt: skip
    game = at_dawn(DEAL, NIGHT)
    assert [game.follower(1), game.acting()] == ["Player 2", ("Player 1",)]
    talk(game)
    assert [game.follower(step) for step in range(1, 6)] == ["Player 2", "Player 3", "Player 4", "Player 5", None]
    assert game.acting() == game.agents
    assert game.outcome()["Player 1"] == {"win": None}
    # Robbed and swapped on, the Werewolf's card lies before Player 4.
    vote(game, (4, 4, 4, 2, 0))
    assert game.over and not game.acting()
    assert {name: one["win"] for name, one in game.outcome().items()} == {
        "Player 1": 1.0, "Player 2": 1.0, "Player 3": 1.0, "Player 4": 0.0, "Player 5": 1.0,
    }  # fmt: skip
    assert game.steps and len(game.steps) == game.most_steps == 7
    assert game.utterances(game.steps)[-6:] == [
        *((f"Player {seat}", f"[voted for Player {aim}]") for seat, aim in ((1, 4), (2, 4), (3, 4), (4, 2))),
        ("Player 5", "[abstained]"),
        (MODERATOR, "Killed: Player 4 with the Werewolf. The village wins."),
    ]


def test_who_reads_what_of_the_night() -> None:
    game = at_dawn(DEAL, NIGHT)
    secret = {name: [event.text for event in game.facts(name).events] for name in game.agents}
    assert secret == {
        "Player 1": ["looked at Player 5's card", "Player 5's card was the Werewolf."],
        "Player 2": [
            "took Player 5's card and left the Robber's there",
            "Your card is the Werewolf now, and Player 5 has the Robber.",
        ],
        "Player 3": ["swapped the cards of Player 2 and Player 4"],
        "Player 4": ["At the end of the night your card is the Werewolf."],
        "Player 5": [],
    }
    facts = [game.facts(name) for name in game.agents]
    assert [one.role for one in facts] == ["seer", "werewolf", "troublemaker", "werewolf", "werewolf"]
    assert [one.team for one in facts] == ["village", "werewolf", "village", "werewolf", "werewolf"]
    assert game.utterances(game.steps) == []


def test_what_was_lived_through_is_read_from_what_is_known() -> None:
    for deal in all_deals()[::450]:
        for world in list(nights_of(deal))[::51]:
            game = at_dawn(deal, dict(zip(CHOOSING, world.choices, strict=True)))
            for seat, name in enumerate(game.agents):
                assert lived(game.facts(name)) == world.accounts[seat]
                assert deal in game.facts(name).deals


def test_the_cards_of_the_dead_rule_deals_out() -> None:
    game = at_dawn(DEAL, NIGHT)
    talk(game)
    before = set(game.facts("Player 5").deals)
    vote(game, (4, 4, 4, 2, 0))  # Player 4 shows the Werewolf
    after = set(game.facts("Player 5").deals)
    assert DEAL in after < before
    expected = {
        world.deal
        for deal in before
        for world in nights_of(deal)
        if world.accounts[4] == ClaimedHistory("werewolf") and world.night.cards[3] == "werewolf"
    }
    assert after == expected


def test_before_the_night_one_s_card_is_all_that_is_known() -> None:
    game = OneNight(ONE_ROUND, DEAL)
    facts = game.facts("Player 2")
    assert lived(facts) == ClaimedHistory("robber")
    assert set(facts.deals) == {deal for deal in all_deals() if deal[1] == "robber"}


def test_defaults_are_named_in_the_rules_and_counted() -> None:
    game = OneNight(ONE_ROUND, DEAL)
    assert "Who does nothing at night looks at, takes or swaps no card" in game.observe("Player 1")
    while not game.over:
        game.step({name: Action(SILENT) for name in game.acting()})
    assert sum(game.counted().values()) == 3 + 5 + 5
    assert game.outcome()["Player 5"] == {"win": 1.0}  # all abstain: nobody dies
    assert [event.text for event in game.facts("Player 2").events][:1] == ["took nobody's card"]


@pytest.mark.parametrize(
    ("name", "act", "told"),
    [
        ("Player 1", Action("look", "", 1), r"may not look 1: allowed: 0, 2, 3, 4, 5"),
        ("Player 1", Action("look", "", True), "may not look True"),
        ("Player 1", Action("centre", "", 3), "it is aimed at nobody"),
        ("Player 1", Action("rob", "", 2), "may not 'rob'"),
        ("Player 2", Action("rob", "", [1, 3]), "may not rob"),
        ("Player 3", Action("swap", "", [4, 4]), "may not swap"),
        ("Player 4", Action("look", "", 1), "may not 'look'"),
    ],
)
def test_acts_of_the_night_that_are_not_allowed(name: str, act: Action, told: str) -> None:
    game = OneNight(ONE_ROUND, DEAL)
    with pytest.raises(InvalidActionError, match=told):
        game.check(name, act)


def test_deals_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="the werewolf lies in the centre"):
        OneNight(deal=("seer", "robber", "troublemaker", "insomniac", "villager", "villager", "werewolf"))
    with pytest.raises(InputError, match="5 players and the centre share 7 cards"):  # six players, two seers
        OneNight(deal=("seer", "seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager"))


@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_every_game_ends_with_one_team_s_win(seed: int, single_votes_kill: bool, rounds: int) -> None:
    rules = Options(rounds, single_votes_kill)
    game = played((Drawn(), Claiming()), seed, rules)
    assert len(game.steps) == game.most_steps
    wins = [float(one["win"] or 0) for one in game.outcome().values()]
    votes = [move.act.data - 1 if move.act.data else None for move in game.steps[-1]]
    killed = dead(votes, rules)
    final = next(event.data for event in game.events if event.kind == "killed")
    assert [seat for seat, _ in final] == [seat + 1 for seat in killed]
    # One player alone is of the werewolf's team, and either it wins or all others do.
    assert sorted(wins) in ([0.0] * 4 + [1.0], [0.0] + [1.0] * 4)
    shown = dict(final)
    assert ("werewolf" in shown.values()) == (wins.count(1.0) == 4)
    assert game.facts("Player 1").alive == tuple(seat for seat in range(1, PLAYERS + 1) if seat not in shown)


TOLD_DEAL = ("seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager")


def test_two_players_are_swapped_by_their_numbers_in_any_order() -> None:
    view, telling = Observation(OneNight(ONE_ROUND, TOLD_DEAL), "Player 3"), DeductionRenderer(OneNight)
    for line in ("4 1", "Player 4 and player 1"):
        act = telling.understood(view, Action("swap", line))
        assert act == Action("swap", "", [4, 1]) and view.problem(act) is None
    assert "may not swap" in (view.problem(telling.understood(view, Action("swap", "3 1"))) or "")
    with pytest.raises(LineError, match="which player"):
        telling.understood(view, Action("swap", "everybody"))
