"""What the rules of Avalon allow, and what follows from it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from apportion.environments.deduction.avalon.game import GAME
from apportion.environments.deduction.avalon.rules import (
    EVIL_WINS,
    GOES,
    TABLETOP,
    Game,
    Options,
    RuleError,
)
from apportion.environments.deduction.deals import all_deals
from apportion.foundation.errors import InputError
from tests.environments.deduction.avalon.exact import reckoned, reduced, walked
from tests.environments.deduction.avalon.peer import AvalonBench, ours, table_of
from tests.environments.deduction.avalon.plays import EVIL

DEAL = ("merlin", "servant", "minion", "assassin", "servant")  # Figure 13's.
TABLE = Path(__file__).with_name("avalonbench.json")
FOR, AGAINST = (True,) * 5, (False,) * 5


def begun(options: Options | None = None, leader: int = 0) -> Game:
    """Figure 13's game at its beginning."""
    return Game(options or Options(), DEAL, leader)


def gone(game: Game, *fails: int) -> Game:
    """The same after quests with so many fails, of evil players and as many good ones as it takes."""
    for number in fails:
        game.propose([*(2, 3)[:number], *(0, 1, 4)[: game.size - number]])
        game.vote(FOR)
        game.quest([seat not in (2, 3) for seat in game.team])
    return game


@pytest.mark.parametrize(
    ("team", "votes", "cards"),
    [
        *(((team, None, None)) for team in ((0, 1, 2), (0, 0), (0, 5), (0, -1), ())),
        *(((0, 1), votes, None) for votes in (FOR[:4], (*FOR, True))),
        *((team, FOR, cards) for team, cards in (((0, 1), (True,)), ((0, 1), (True, False)), ((0, 2), (False, True)))),
    ],
)
def test_what_the_rules_do_not_allow_is_refused_and_changes_nothing(team: Any, votes: Any, cards: Any) -> None:
    game = begun()

    def refused(do: Any, *given: Any) -> None:
        before = {name: getattr(game, name) for name in Game.__slots__}
        with pytest.raises(RuleError):
            do(*given)
        assert before == {name: getattr(game, name) for name in Game.__slots__}

    for do, untimely in ((game.vote, FOR), (game.quest, (True, True)), (game.shoot, 0)):
        refused(do, untimely)
    if votes is None:
        return refused(game.propose, team)
    game.propose(team)
    if cards is None:
        return refused(game.vote, votes)
    game.vote(votes)
    return refused(game.quest, cards)


def test_a_good_player_cannot_fail_and_who_stays_at_home_plays_no_card() -> None:
    game = begun()
    game.propose((0, 2))
    game.vote(FOR)
    game.check_card(2, False)
    for seat, passes in ((0, False), (1, True)):
        with pytest.raises(RuleError):
            game.check_card(seat, passes)


@pytest.mark.parametrize("target", [3, 5, -1])
def test_the_assassin_names_somebody_else_who_plays(target: int) -> None:
    game = gone(begun(), 0, 0, 0)
    with pytest.raises(RuleError):
        game.shoot(target)
    assert game.phase == "shot"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"roles": ("merlin", *["servant"] * 6, *["minion"] * 3, "assassin")},
            "11 players; 5 to 10 play, 3 or 4 a red",
        ),
        (
            {"roles": ("merlin", "servant", "servant", "minion", "lancelot")},
            "no role lancelot; there are merlin, perciv",
        ),
        ({"roles": ("merlin", "percival", "percival", "minion", "assassin")}, "but servant and minion one at most"),
        ({"roles": ("merlin", *["servant"] * 4, "minion", "assassin")}, "2 evil of 7; .*are 2 of 5, 2 of 6, 3 of 7"),
        ({"players": 4}, "players = 4; 5 to 10 play"),
        ({"players": 6, "roles": DEAL}, "players = 6; 5 to 10 play, and 5 roles are dealt"),
        ({"roles": ("merlin", "merlin", "servant", "minion", "assassin")}, "one Merlin and one Assassin"),
        ({"roles": ("merlin", "servant", "minion", "minion", "assassin")}, "3 evil of 5"),
        ({"sizes": (2, 3)}, "1, 3 or 5 quests"),
        ({"sizes": (2, 3, 6)}, "1, 3 or 5 quests"),
        ({"last_team": "stays"}, "the last team 'stays'"),
        ({"proposals": 6}, "one to 5 proposals"),
    ],
)
def test_games_that_there_are_not(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Options(**changed)


@pytest.mark.parametrize("games", [2_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_games_go_as_the_table_of_avalonbenchs_results_says(games: int) -> None:
    table = json.loads(TABLE.read_text())
    found = table_of(ours, games, table["seed"])
    assert table["games"] == 10_000 and found["letters"] == table["letters"][:games]
    assert games < 10_000 or found == table  # The digest is of the whole.


@pytest.mark.skipif("APPORTION_AVALONBENCH" not in os.environ, reason="APPORTION_AVALONBENCH names no checkout of it")
def test_games_go_as_in_avalonbenchs_engine() -> None:
    peer = AvalonBench(Path(os.environ["APPORTION_AVALONBENCH"]))
    assert table_of(peer.course) == json.loads(TABLE.read_text())


def test_one_quest_is_a_list_of_sizes_too() -> None:
    assert GAME.options_of(["sizes=2", "proposals=2"]) == Options(sizes=(2,), proposals=2)
    roles = GAME.options_of(["roles = merlin, servant, assassin", "sizes=1"]).roles
    assert roles == ("merlin", "servant", "assassin")


@pytest.mark.parametrize(
    ("players", "evil", "sizes"),
    [
        (5, 2, (2, 3, 2, 3, 3)),
        (6, 2, (2, 3, 4, 3, 4)),
        (7, 3, (2, 3, 3, 4, 4)),
        (8, 3, (3, 4, 4, 5, 5)),
        (9, 3, (3, 4, 4, 5, 5)),
        (10, 4, (3, 4, 4, 5, 5)),
    ],
)
def test_players_are_dealt_as_on_the_table_and_a_log_says_their_roles(
    players: int, evil: int, sizes: tuple[int, ...]
) -> None:
    options = GAME.options_of([f"players={players}"])
    assert (len(options.roles), sum(role in EVIL for role in options.roles), options.sizes) == (players, evil, sizes)
    assert options == Options(options.roles) and (players > 5 or options == Options())
    about = GAME.about(options)
    assert list(about["rules"]) == ["roles", "sizes", "last_team", "proposals"]
    assert GAME.of_log(about).rules == options


@pytest.mark.parametrize(("players", "failed"), [(6, 1), (7, 0), (10, 0)])
def test_from_seven_players_on_the_fourth_quest_fails_by_two_cards(players: int, failed: int) -> None:
    roles = Options(players=players).roles
    for cards, more in ((1, failed), (2, 1)):
        game = Game(Options(roles), roles, 0)
        for quest in range(4):
            game.propose(range(players - game.size, players))  # The evil ones sit last.
            game.vote((True,) * players)
            game.quest([number >= (0, 1, 0, cards)[quest] for number in range(len(game.team))][::-1])
        assert (game.failed, game.passed) == (1 + more, 3 - more)


SMALL = [
    Options(reduced(players), sizes, last_team, proposals)
    for players, sizes, proposals in ((3, (1, 2, 2), 1), (3, (1, 2, 2), 3), (3, (2, 2, 1, 2, 2), 2), (4, (2, 3, 2), 2))
    for last_team in (GOES, EVIL_WINS)
]


@pytest.mark.parametrize("options", SMALL)
def test_reduced_games_have_as_many_courses_of_each_ending_as_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    for number, deal in enumerate(all_deals(options.roles)):
        assert walked(options, deal, number % len(deal)) == expected


SEVEN = Options(("merlin", "percival", "servant", "servant", "morgana", "mordred", "assassin"), proposals=1)


@pytest.mark.parametrize("options", [Options(), TABLETOP, SEVEN])
def test_the_whole_game_has_the_chances_that_arithmetic_says(options: Options) -> None:
    expected = reckoned(options)
    assert sum(expected[1].values()) == 1
    for deal, leader in ((all_deals(options.roles)[7], 2),):
        assert walked(options, deal, leader) == expected
