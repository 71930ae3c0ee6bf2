"""What the rules of Avalon allow, and what follows from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.random_baseline import play_randomly
from apportion.environments.deduction.avalon.register import AVALON
from apportion.environments.deduction.avalon.role_assignments import all_deals
from apportion.environments.deduction.avalon.rules import (
    EVIL_ROLES,
    EVIL_WINS,
    GOES,
    TABLETOP,
    Game,
    Options,
    RuleError,
)
from apportion.foundation.errors import InputError
from tests.environments.deduction.avalon.peer import AvalonBench, ours, table_of

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


def test_figure_13_as_the_rules_have_it() -> None:
    game = begun()
    game.propose((0, 1))
    assert game.vote((True, True, True, False, True))
    assert game.quest((True, True)) == 0
    assert game.leader == 1
    game.propose((1, 3, 4))
    assert game.vote(FOR)
    assert game.quest((True, False, True)) == 1
    # The figure has Player 2 lead again, and a team of three: two slips.
    assert (game.leader, game.size, game.passed, game.failed) == (2, 2, 1, 1)


def test_the_leader_moves_on_whether_the_team_goes_or_not() -> None:
    game = begun(leader=4)
    game.propose((0, 1))
    assert not game.vote(AGAINST)
    assert (game.leader, game.phase, game.rejected) == (0, "team", 1)
    game.propose((0, 1))
    assert game.vote(FOR)
    assert game.leader == 1


@pytest.mark.parametrize("votes", [(True, True, False, False, False), AGAINST])
def test_less_than_half_rejects_and_half_of_four_does_too(votes: tuple[bool, ...]) -> None:
    game = begun()
    game.propose((0, 1))
    assert not game.vote(votes)
    four = Game(Options(("merlin", "servant", "servant", "assassin"), (2, 2, 2)), (*DEAL[:2], "servant", "assassin"), 0)
    four.propose((0, 1))
    assert not four.vote((True, True, False, False))


@pytest.mark.parametrize(("last_team", "phase"), [(GOES, "quest"), (EVIL_WINS, "over")])
def test_the_fifth_team_goes_or_evil_wins(last_team: str, phase: str) -> None:
    game = begun(Options(last_team=last_team))
    for _ in range(4):
        game.propose((0, 1))
        assert not game.vote(AGAINST)
    assert game.last
    game.propose((0, 1))
    assert game.vote(AGAINST) == (last_team == GOES)
    assert game.phase == phase
    assert game.winner == (None if last_team == GOES else "evil")
    assert game.ending == (None if last_team == GOES else "rejections")


def test_an_approved_fifth_team_goes_by_either_rule_and_the_next_quest_has_five_again() -> None:
    for options in (Options(), TABLETOP):
        game = begun(options)
        for _ in range(4):
            game.propose((0, 1))
            game.vote(AGAINST)
        game.propose((0, 1))
        assert game.vote(FOR)
        game.quest((True, True))
        assert game.rejected == 0


def test_three_failed_quests_end_it_and_two_do_not() -> None:
    assert gone(begun(), 1, 1).winner is None
    game = gone(begun(), 1, 2, 1)
    assert (game.winner, game.ending, game.acting()) == ("evil", "quests failed", ())


@pytest.mark.parametrize(("target", "winner", "ending"), [(0, "evil", "merlin found"), (2, "good", "merlin hidden")])
def test_after_three_passed_quests_the_assassin_names_one_player(target: int, winner: str, ending: str) -> None:
    game = gone(begun(), 0, 1, 0, 1, 0)
    assert (game.phase, game.acting()) == ("shot", (3,))
    assert game.shoot(target) == (winner == "evil")
    assert (game.winner, game.ending) == (winner, ending)


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
        ({"roles": ("merlin", "servant", "servant", "servant", "minion", "assassin")}, "6 players"),
        ({"roles": ("merlin", "assassin")}, "2 players"),
        ({"roles": ("merlin", "servant", "servant", "minion", "percival")}, "no role percival"),
        ({"roles": ("merlin", "merlin", "servant", "minion", "assassin")}, "one Merlin and one Assassin"),
        ({"roles": ("merlin", "servant", "servant", "minion", "minion")}, "one Merlin and one Assassin"),
        ({"roles": ("merlin", "servant", "minion", "minion", "assassin")}, "3 evil of 5"),
        ({"sizes": (2, 3)}, "1, 3 or 5 quests"),
        ({"sizes": (2, 3, 6)}, "1, 3 or 5 quests"),
        ({"sizes": ()}, "1, 3 or 5 quests"),
        ({"last_team": "stays"}, "the last team 'stays'"),
        ({"proposals": 6}, "one to 5 proposals"),
        ({"proposals": 0}, "one to 5 proposals"),
    ],
)
def test_games_that_there_are_not(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Options(**changed)


@given(
    seed=st.integers(0, 2**32),
    deal=st.sampled_from(all_deals(Options().roles)),
    leader=st.integers(0, 4),
    options=st.sampled_from((Options(), TABLETOP)),
    stop=st.integers(0, 60),
)
def test_any_game_ends_with_one_winner_and_a_copy_goes_its_own_way(
    seed: int, deal: tuple[str, ...], leader: int, options: Options, stop: int
) -> None:
    class Counting(Random):
        drawn = 0

        def random(self) -> float:
            self.drawn += 1
            if self.drawn > stop:
                raise StopIteration
            return super().random()

    game = Game(options, deal, leader)
    try:
        play_randomly(game, Counting(seed))
    except StopIteration:
        assert game.winner is None
    assert game.passed <= 3 and game.failed <= 3 and game.rejected < 5
    assert (game.winner is None) == (game.phase != "over")
    copied = game.copy()
    play_randomly(copied, Random(seed + 1))
    assert copied.winner in ("good", "evil")
    assert (copied.winner == "good") == (copied.ending == "merlin hidden")
    assert copied.passed + copied.failed <= 5
    if copied.winner == "good":
        assert copied.passed == 3
    assert all((role in EVIL_ROLES) == (seat in game.evil) for seat, role in enumerate(deal))


def test_games_go_as_the_table_of_avalonbenchs_results_says() -> None:
    table = json.loads(TABLE.read_text())
    assert table["games"] == 10_000
    assert table_of(ours, 10_000, table["seed"]) == table


@pytest.mark.skipif("APPORTION_AVALONBENCH" not in os.environ, reason="APPORTION_AVALONBENCH names no checkout of it")
def test_games_go_as_in_avalonbenchs_engine() -> None:
    peer = AvalonBench(Path(os.environ["APPORTION_AVALONBENCH"]))
    assert table_of(peer.course) == json.loads(TABLE.read_text())


def test_one_quest_is_a_list_of_sizes_too() -> None:
    assert AVALON.options_of(["sizes=2", "proposals=2"]) == Options(sizes=(2,), proposals=2)
    roles = AVALON.options_of(["roles = merlin, servant, assassin", "sizes=1"]).roles
    assert roles == ("merlin", "servant", "assassin")
