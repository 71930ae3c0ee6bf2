import pytest

from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.intents import BaseQuestions, read_speech
from tests.rlhf.stackelberg.round_table import ROLES, round_table

QUESTIONS = BaseQuestions(LLMSettings(model="m", base_url="http://localhost:1/v1", temperature=1.0))


def test_a_model_says_what_stands_in_place_of_the_corpus_words():
    (turn,) = round_table(1)
    said = QUESTIONS.ask(turn, lambda request: ChatReply("<response>I doubt\nplayer 3.</response>", "m"))
    assert (said.said, said.answered, said.backends) == ("I doubt player 3.", "", ("m", "scripted"))
    assert said.desired == turn.desired and said.follower_sees == turn.follower_sees


def test_it_is_asked_with_what_the_leader_knows():
    for turn in round_table(8):
        (request,) = QUESTIONS.requests(turn)
        text = " ".join(message.content for message in request.messages)
        assert turn.leader_sees in text and not any(f"player 2, the {role}" in text for role in ROLES)


@pytest.mark.parametrize(
    ("text", "told"),
    [("<response> </response>", "says nothing"), ("word " * 101, "has 101 words; at most 100")],
)
def test_a_reply_that_cannot_be_said_is_told_and_asked_again(text, told):
    with pytest.raises(ReplyMistakeError, match=told):
        read_speech(ChatReply(text, "m"))
    (turn,) = round_table(1)
    replies = iter([text, "<response>Fine.</response>"])
    asked = []

    def complete(request):
        asked.append(request)
        return ChatReply(next(replies), "m")

    assert QUESTIONS.ask(turn, complete).said == "Fine."
    assert "between <response> and </response>" in asked[1].messages[-1].content
