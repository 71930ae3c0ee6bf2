"""A language model in this game: what its replies mean, what it is asked, and what stands for it in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion.environments.agents.agent import SILENT
from apportion.environments.agents.language_model import LanguageModelAgent, read_act
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.language_model import FORM, STYLES
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.environment import Action, Observation
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.environments.deduction.onuw.playing import ONE_ROUND

DEAL = ("seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager")
SETTINGS = LLMSettings(model="m", temperature=1.0)


def reply(**fields: Any) -> ChatReply:
    return ChatReply(json.dumps(fields), "m")


@pytest.mark.parametrize(
    ("seat", "fields", "act"),
    [
        (1, {"act": "look", "players": [4], "text": ""}, Action("look", "", 4)),
        (1, {"act": "look", "players": [0], "text": ""}, Action("look", "", 0)),
        (1, {"act": "centre", "players": None, "text": ""}, Action("centre")),
        (2, {"act": "rob", "players": [5], "text": "mine!"}, Action("rob", "mine!", 5)),
        (3, {"act": "swap", "players": [5, 1], "text": ""}, Action("swap", "", [5, 1])),
        (3, {"act": "swap", "players": [0], "text": ""}, Action("swap", "", 0)),
        (3, {"act": SILENT, "players": None, "text": ""}, Action(SILENT)),
    ],
)
def test_what_a_reply_means_at_night(seat: int, fields: dict[str, Any], act: Action) -> None:
    view = Observation(OneNight(ONE_ROUND, DEAL), f"Player {seat}")
    assert read_act(reply(**fields), view, FORM) == act


@pytest.mark.parametrize(
    ("seat", "fields", "told"),
    [
        (1, {"act": "look", "players": [1], "text": ""}, "may not look 1"),
        (1, {"act": "look", "players": None, "text": ""}, "needs a list of numbers"),
        (1, {"act": "rob", "players": [2], "text": ""}, "allowed are look, centre, none"),
        (2, {"act": "rob", "players": [1, 3], "text": ""}, "may not rob"),
        (3, {"act": "swap", "players": [3, 4], "text": ""}, "may not swap"),
        (3, {"act": "swap", "players": ["Player 1", "Player 2"], "text": ""}, "needs a list of numbers"),
        (2, {"act": "rob", "text": ""}, "is not an object with"),
    ],
)
def test_what_a_reply_may_not_say_at_night(seat: int, fields: dict[str, Any], told: str) -> None:
    view = Observation(OneNight(ONE_ROUND, DEAL), f"Player {seat}")
    with pytest.raises(ReplyMistakeError, match=told):
        read_act(reply(**fields), view, FORM)


@pytest.mark.parametrize("style", STYLES)
def test_a_whole_game_by_models(style: str) -> None:
    """Each is asked for its own acts alone, and sees the cards that it was shown."""
    asked: list[ChatRequest] = []

    def complete(request: ChatRequest) -> ChatReply:
        asked.append(request)
        words = request.messages[-1].content
        thought = {"thought": "…"} if "thought" in request.messages[0].content else {}
        legal = next(line for line in words.splitlines() if line.startswith("You may do one of these acts: "))
        if "speak" in legal:
            return reply(**thought, act="speak", text="I was dealt the Villager; I did nothing at night.")
        kind = legal.removeprefix("You may do one of these acts: ").split(",")[0]
        players = {"look": [5], "rob": [1], "swap": [1, 2], "vote": [0]}[kind]
        return reply(**thought, act=kind, players=players, text="")

    game = OneNight(ONE_ROUND, DEAL)
    agents = {name: LanguageModelAgent("m", style, SETTINGS, complete, form=FORM) for name in game.agents}
    play(game, agents)
    assert game.over and not game.counted()
    night = [
        request.messages[-1].content for request in asked if "It is your turn (night)" in request.messages[-1].content
    ]
    assert len(night) == 3 * (2 if style == "recon" else 1)
    assert all(("You were dealt the Seer." in one) + ("You were dealt the Robber." in one) <= 1 for one in night)
    later = [one.messages[-1].content for one in asked if "It is your turn (vote)" in one.messages[-1].content]
    assert sum("Player 5's card was the Werewolf" in one for one in later) == len(later) // 5
