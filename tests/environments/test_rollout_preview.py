"""How far a session's plays are kept, and what would be asked next."""

from dataclasses import replace

import pytest

from apportion.environments.agents.language_model import TOKENS_AN_ACT, LanguageModelAgent
from apportion.environments.role_assignment import BY_RULES
from apportion.environments.rollout_preview import NotCachedError, PredictedRequests, kept_alone
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.environments.test_restored_episode import social

SPOKEN = '{"act": "speak", "text": "So it goes."}'


def asking(complete, style="base"):
    return LanguageModelAgent("base@m", style, LLMSettings(model="m"), complete)


def session(find, style="base"):
    """A scripted session in which a model plays on for the first character, by what is kept alone."""
    game, reopened = social()
    name = game.agents[0]
    return name, replace(reopened, others={name: {name: asking(kept_alone(find), style)}})


def test_nothing_kept_says_what_is_asked_first_and_nothing_more() -> None:
    name, reopened = session(lambda request: None)
    assert isinstance(reopened, PredictedRequests) and reopened.waits
    first = reopened.ahead(name, (), 3)
    assert (first.begun, first.reached, first.over, first.most) == (0, 0, False, reopened.begun.most_steps)
    assert "nothing yet" in first.request.messages[1].content
    turns = reopened.turns_of(name)
    later = reopened.ahead(name, turns[:1], 3)
    assert later.begun == later.reached == 2 and "nothing yet" not in later.request.messages[1].content
    whole = reopened.ahead(name, turns, 3)
    assert whole.over and whole.request is None and whole.reached == len(reopened.steps)
    assert reopened.ahead(name, (), None).over and reopened.ahead(name, (), None).request is None


def test_what_is_kept_is_played_to_the_first_reply_that_is_not() -> None:
    kept = {}

    def find(request):
        return kept.get(request.key())

    name, reopened = session(find)
    reached = []
    for _ in range(30):
        ahead = reopened.ahead(name, (), 3)
        reached.append(ahead.reached)
        if ahead.request is None:
            break
        kept[ahead.request.key()] = ChatReply(SPOKEN, "m")
    assert reached == sorted(set(reached)) and ahead.over and reached[-1] <= reopened.begun.most_steps
    (ending,) = reopened.play_on(name, (), (3,))
    assert ending.acts == reached[-1]


def test_a_session_s_own_acts_say_how_long_prompts_are_and_how_often_one_is_asked() -> None:
    for style, times in (("base", 1), ("refine", 2)):
        name, reopened = session(lambda request: None, style)
        prompts = reopened.prompts(name)
        assert [len(of_step) for of_step in prompts] == [1 - number % 2 for number in range(len(reopened.steps))]
        assert {(p.times, p.output_tokens) for of_step in prompts for p in of_step} == {(times, TOKENS_AN_ACT)}
        texts = [p.request.messages[1].content for of_step in prompts for p in of_step]
        assert sorted(texts, key=len) == texts
    other = reopened.begun.agents[1]
    assert not any(reopened.prompts(other)) and reopened.judged() == [] and reopened.judge is BY_RULES


def test_what_is_not_kept_is_raised_with_its_request() -> None:
    request = ChatRequest("m", (ChatMessage("user", "?"),))
    with pytest.raises(NotCachedError) as raised:
        kept_alone(lambda request: None)(request)
    assert raised.value.request is request
