"""Strategist: its search on a game whose best move is known, its names, its value, and how it plays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.act_search import ActSearch, Root, searched, self_play, spread
from apportion.environments.deduction.base_game import WIN
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.learned_table import LearnedTable
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from tests.environments.deduction.test_chooser import made


@dataclass
class Guess:
    """One guesses a hidden number twice, once before and once after a hint that says its half."""

    hidden: int
    turns: int = 0
    hint: int | None = None
    winner: str | None = None
    guessed: list[int] = field(default_factory=list)

    @property
    def game(self) -> Any:
        return self

    def acting(self) -> tuple[int, ...]:
        return (1,) if self.turns == 0 else (2,) if self.hint is None else (1,)

    def habit(self, seat: int, draws: Random) -> int:
        return self.hidden // 2 if seat == 2 else draws.randrange(4)

    def do(self, moves: Mapping[int, Any], draws: Random) -> None:
        ((seat, move),) = moves.items()
        if seat == 2:
            self.hint = move
            return
        self.turns += 1
        self.guessed.append(move)
        if move == self.hidden or self.turns == 2:
            self.winner = "one" if move == self.hidden else "other"

    def key(self) -> str:
        return ""


def ended(position: Any) -> float | None:
    """Of a guess that is over, whether it was right."""
    return float(position.game.winner == "one") if position.game.winner else None


GUESSES = Root(
    [Action(str(one)) for one in range(4)], range(4), range(4), (0.1, 0.2, 0.3, 0.4), lambda deal, _: Guess(deal), 1
)


def test_more_simulations_find_the_most_probable_deal_more_often() -> None:
    # The second guess is drawn, so that the first wins p + (1 - p) / 4: 0.325, 0.4, 0.475, 0.55.
    found = [
        sum(searched(GUESSES, ended, simulations, Random(seed)) == 3 for seed in range(200)) / 200
        for simulations in (4, 32, 256)
    ]
    assert found[0] + 0.1 < found[1] < found[2] - 0.1 and found[2] > 0.85
    alone = Root(GUESSES.options[:1], (0,), range(4), (0.25,) * 4, GUESSES.at, 1)
    assert searched(alone, ended, 1, Random(0)) == 0


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.integers(1, 60), st.integers(0, 99))
def test_deals_come_as_often_as_they_are_probable(chances: list[float], count: int, seed: int) -> None:
    found = spread(range(len(chances)), chances, count, Random(seed))
    assert len(found) == count
    for number, chance in enumerate(chances):
        assert abs(found.count(number) - count * chance / sum(chances)) <= 1 + 1e-6


@pytest.mark.parametrize("made_of", ["0", "-3", "100001", "x.json#", "x.json#0", "x.json#many"])
def test_simulations_are_one_at_least(made_of: str) -> None:
    with pytest.raises(InputError, match="simulations; 1 to 100,000, as strategist@32, or strategist@FILE#32"):
        game_called("avalon").roster.scripted(f"strategist@{made_of}")


def wins(kind: str, mine: str, other: str, games: int, first: bool) -> float:
    """How often one wins that has the first team, or the other one, to itself."""
    roster, won = game_called(kind).roster, 0.0
    one, another = roster.scripted(mine), roster.scripted(other)
    for number in range(games):
        game = made(kind, f"held out/{number}")
        team = TEAMS[kind] if first else ""
        seats = {name: (game.teams[game.role(name)] == TEAMS[kind]) == first for name in game.agents}
        play(game, {name: one if own else another for name, own in seats.items()})
        assert team in (TEAMS[kind], "")
        won += next(game.outcome()[name][WIN] or 0.0 for name, own in seats.items() if own)
    return won / games


TEAMS = {"avalon": "good", "werewolf": "village"}


@pytest.mark.slow  # Some hundred games by search.
@pytest.mark.parametrize(
    ("kind", "first", "games", "rivals"),
    [("avalon", True, 60, "random claims"), ("avalon", False, 60, "claims"), ("werewolf", True, 60, "claims random"),
     ("werewolf", False, 60, "claims")],
)  # fmt: skip
def test_it_wins_more_than_random_play(kind: str, first: bool, games: int, rivals: str) -> None:
    for rival in rivals.split():
        assert wins(kind, "strategist", rival, games, first) > wins(kind, "random", rival, games, first)


@pytest.mark.parametrize("kind", TEAMS)
def test_self_play_fills_a_table_that_it_then_plays_by(kind: str, tmp_path: Any) -> None:
    told: list[float] = []
    player = game_called(kind).roster.scripted("strategist@2")
    assert isinstance(player, ActSearch)
    begun = [made(kind, f"train/{number}") for number in range(6)]
    table = self_play(player, begun, 2, lambda done, error: told.append(error))
    assert told[0] == 0.25 and len(told) == 2 and 0 < len(table.rows) < 200
    assert all(0 <= won <= visits for won, visits in table.rows.values())
    again = self_play(player, [made(kind, f"train/{number}") for number in range(6)], 2, lambda done, error: None)
    assert again == table
    table.write(tmp_path / "value.json")
    agent = game_called(kind).roster.scripted(f"strategist@{tmp_path / 'value.json'}#2")
    play(game := made(kind, "after"), dict.fromkeys(game.agents, agent))
    assert game.over


def test_its_value_is_of_one_game() -> None:
    player = game_called("avalon").roster.scripted("strategist")
    assert isinstance(player, ActSearch)
    other = type(player)(LearnedTable("strategist", "avalon", ("merlin",)))
    with pytest.raises(InputError, match="trained in avalon of merlin; this is avalon of assassin"):
        other.act(Observation(made("avalon", "1"), "Player 1"))
