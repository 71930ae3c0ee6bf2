"""A language model in this game: what its replies mean, what it is asked, and what stands for it in the end."""

import json
from typing import Any

import pytest

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.language_model import FORM, STYLES
from apportion.environments.deduction.onuw.game import OneNight
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.environments.deduction.onuw.playing import ONE_ROUND

DEAL = ("seer", "robber", "troublemaker", "insomniac", "werewolf", "villager", "villager")
SETTINGS = LLMSettings(model="m", temperature=1.0)


def reply(**fields: Any) -> ChatReply:
    return ChatReply(json.dumps(fields), "m")


@pytest.mark.parametrize("style", STYLES)
def test_a_whole_game_by_models(style: str) -> None:
    """Each is asked for its own acts alone, and sees the cards that it was shown."""
    asked: list[ChatRequest] = []

    def complete(request: ChatRequest) -> ChatReply:
        asked.append(request)
        words = request.messages[-1].content
        if request.schema is not None and "act" not in request.schema["properties"]:
            return reply(**dict.fromkeys(request.schema["properties"], "honest evidence"))
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
    assert len(night) == 3 * {"recon": 2, "belief": 2, "llm-ins": 2, "lasi": 4}.get(style, 1)
    assert all(("You were dealt the Seer." in one) + ("You were dealt the Robber." in one) <= 1 for one in night)
    later = [one.messages[-1].content for one in asked if "It is your turn (vote)" in one.messages[-1].content]
    assert sum("Player 5's card was the Werewolf" in one for one in later) == len(later) // 5
