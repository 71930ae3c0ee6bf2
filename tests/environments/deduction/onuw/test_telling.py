"""What a person at a terminal types at night: two numbers for the Troublemaker, one for others."""

from __future__ import annotations

import pytest

from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.text_rendering import DeductionRenderer
from apportion.environments.environment import Action, Observation
from apportion.environments.terminal.console import LineError
from tests.environments.deduction.onuw.playing import ONE_ROUND

DEAL = ("seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager")


def test_the_words_behind_each_command() -> None:
    game, telling = OneNight(ONE_ROUND, DEAL), DeductionRenderer(OneNight)
    words = [
        {name: one.words for name, one in telling.commands(Observation(game, seat)).items()} for seat in game.agents[:3]
    ]
    assert words == [
        {"look": "NUMBER", "centre": "", "nothing": ""},
        {"rob": "NUMBER", "nothing": ""},
        {"swap": "NUMBERS", "nothing": ""},
    ]


def test_two_players_are_swapped_by_their_numbers_in_any_order() -> None:
    view, telling = Observation(OneNight(ONE_ROUND, DEAL), "Player 3"), DeductionRenderer(OneNight)
    for line in ("4 1", "Player 4 and player 1"):
        act = telling.understood(view, Action("swap", line))
        assert act == Action("swap", "", [4, 1]) and view.problem(act) is None
    assert "may not swap" in (view.problem(telling.understood(view, Action("swap", "3 1"))) or "")
    with pytest.raises(LineError, match="which player"):
        telling.understood(view, Action("swap", "everybody"))
