import json

from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.asking import ask_in_turn, preview, price, unnamed
from apportion.rlhf.stackelberg.instances.intents import IntentQuestions
from tests.rlhf.stackelberg.round_table import round_table

QUESTIONS = IntentQuestions(LLMSettings(model="m", base_url="http://localhost:1/v1"))
GOOD = json.dumps({"desired": ["a", "b", "c"], "undesired": ["d", "e", "f"]})


def test_turns_that_have_intents_are_not_asked_about_again():
    turns = (*round_table(1), *round_table(2, seed=1, intents=False))
    asked = []

    def complete(request):
        asked.append(request.subject)
        return ChatReply(GOOD, "m")

    named = ask_in_turn([QUESTIONS], turns, complete, 2)
    assert len(asked) == 2 and named.failed == ()
    assert [one.desired for one in named.instances] == [turns[0].desired, ("a", "b", "c"), ("a", "b", "c")]


def test_a_turn_without_a_usable_reply_is_left_out_and_told():
    turns = round_table(3, intents=False)
    named = ask_in_turn(
        [QUESTIONS], turns, lambda request: ChatReply("no" if turns[1].name in request.subject else GOOD, "m")
    )
    assert [one.name for one in named.instances] == [turns[0].name, turns[2].name]
    ((name, why),) = named.failed
    assert name == turns[1].name and "no usable reply" in why


def test_what_would_be_asked_is_counted_and_shown_without_asking(tmp_path):
    turns = (*round_table(1), *round_table(2, seed=1, intents=False))
    priced = price([(QUESTIONS, unnamed(turns))], ModelSpec(model="m"), tmp_path / "replies.sqlite", str)
    # Both leaders read the same: equal requests count once.
    assert (priced.requests, priced.answered) == (1, 0) and not (tmp_path / "replies.sqlite").exists()
    shown = preview([(QUESTIONS, unnamed(turns))], 1, str)
    assert len(shown.requests) == 1 and shown.requests[0].subject.endswith(turns[1].name)
