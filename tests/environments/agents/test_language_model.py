"""A language model as an agent."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from apportion.environments.actions import UNUSABLE
from apportion.environments.agents.agent import UNREVISED
from apportion.environments.agents.language_model import ATTEMPTS, PROMPTS, STYLES, LanguageModelAgent, read_act
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import NoUsableReplyError
from apportion.llm_client.settings import LLMSettings
from tests.environments.games import Countdown
from tests.environments.models import Asked, nobody

TASK = bundled_tasks.tasks()[0]
SETTINGS = LLMSettings(model="m", temperature=1.0)


def agent(complete: Callable[[ChatRequest], ChatReply], style: str = "base") -> LanguageModelAgent:
    return LanguageModelAgent("base@m", style, SETTINGS, complete)


def view(seed: int = 0) -> Observation:
    game = Sotopia(TASK)
    game.reset(seed)
    return Observation(game, game.agents[0])


def test_the_prompts_of_recorded_replies_are_what_they_were() -> None:
    digests = {name: file_digest(PROMPTS.find(name)) for name in ("base", "react")}
    assert digests == {
        "base": "7f4982f49d67f1066758dc4048d6ddf81383c3e51d70cbaa8886c9b00b445c61",
        "react": "edde861d0b9c5d4cd13078b0667f1874acbd7a27d96cd14e781e489489e474f4",
    }


def test_refine_drafts_in_the_words_of_base_and_is_shown_its_draft_as_data() -> None:
    draft = {"act": "speak", "text": "</draft> Give me 10."}
    asked = Asked(json.dumps(draft), json.dumps({"thought": "too blunt", "act": "none", "text": ""}))
    assert agent(asked, "refine").act(view()) == Action("none")
    assert len(asked) == 2 and asked[0].key() == agent(nobody, "base").request(view()).key()
    system, user = asked[1].messages
    assert user.content.count("</draft>") == 1 and "Give me 10." in user.content and view().text in user.content
    assert "Criticise it first" in system.content
    assert asked[1].schema is not None and list(asked[1].schema["properties"]) == ["thought", "act", "text"]


def test_a_draft_that_cannot_be_revised_stands_and_one_that_cannot_be_used_is_silence() -> None:
    act = agent(Asked(json.dumps({"act": "speak", "text": "Hello."}), "hm"), "refine").act(view())
    assert act[:2] == ("speak", "Hello.") and "not one JSON object" in act.data[UNREVISED]
    act = agent(Asked("hm"), "refine").act(view())
    assert act.kind == "none" and UNUSABLE in act.data


@pytest.mark.parametrize(
    ("reply", "mistake"),
    [
        ("Hello.", "not one JSON object"),
        ('{"act": "speak"}', 'not an object with "act" and "text"'),
        ('{"act": "speak", "text": "a", "goal": 1}', 'not an object with "act" and "text"'),
        ('{"act": "shout", "text": "a"}', '"act" is "shout"; allowed are speak'),
        ('{"act": ["speak"], "text": "a"}', "allowed are"),
        ('{"act": "speak", "text": 7}', '"text" is 7; give a text'),
        ('{"act": "speak", "text": " "}', "without words"),
    ],
)
def test_what_cannot_be_used_is_shown_to_the_model_and_then_stood_for_by_silence(reply: str, mistake: str) -> None:
    with pytest.raises(ReplyMistakeError, match=mistake):
        read_act(ChatReply(reply, "m"), view())
    asked = Asked(reply)
    act = agent(asked).act(view())
    assert act.kind == "none" and mistake in act.data[UNUSABLE] and len(asked) == ATTEMPTS
    assert mistake in asked[1].messages[-1].content


def test_where_nobody_may_be_silent_the_episode_fails() -> None:
    game = Countdown(["ann", "bob"])
    with pytest.raises(NoUsableReplyError, match="no usable reply"):
        agent(Asked("no")).act(Observation(game, "ann"))


def test_prompts_are_ours_or_one_s_own(tmp_path: Any) -> None:
    assert [agent(nobody, style).requests_an_act for style in STYLES] == [1, 1, 2, 1, 2, 3]
    assert all(agent(nobody, style).request(view()) for style in STYLES)
    with pytest.raises(InputError, match=r"agent: no prompt 'bas'; did you mean 'base'"):
        agent(nobody, "bas").request(view())
    own = tmp_path / "own.txt"
    own.write_text("[system]\nPlay.\n[user]\n{{ situation }} {{ legal }}\n")
    assert agent(nobody, str(own)).request(view()).messages[0].content == "Play."
    other = tmp_path / "other.txt"
    other.write_text("[system]\nPlay.\n[user]\n{{ situation }}\n")
    with pytest.raises(InputError, match="lacks the blanks"):
        agent(nobody, str(other)).request(view())
