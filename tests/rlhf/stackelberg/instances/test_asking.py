import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.session import NoUsableReplyError
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.asking import (
    BaseQuestions,
    IntentQuestions,
    ask_about_instances,
    planned,
    read_answers,
    read_speech,
    unnamed,
)
from apportion.rlhf.stackelberg.instances.instance import (
    LONGEST_SPEECH,
    Instance,
    read_instances,
    with_intents,
    write_instances,
)
from tests.environments.models import Asked
from tests.rlhf.stackelberg.round_table import round_table

MODEL = LLMSettings(model="m", base_url="http://localhost:1/v1", temperature=1.0)
GOOD = {"desired": ["I agree.", "Yes.", "I vote for 3."], "undesired": ["No.", "Never.", "I vote for 1."]}


def reply(document) -> ChatReply:
    return ChatReply(document if isinstance(document, str) else json.dumps(document), "m")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({**GOOD, "desired": GOOD["desired"][:2]}, '"desired" has 2 answers; give exactly 3'),
        ({**GOOD, "undesired": [*GOOD["undesired"], "Four."]}, '"undesired" has 4 answers'),
        ({**GOOD, "desired": ["a", " ", "b"]}, "has an empty answer"),
        ({**GOOD, "desired": ["a", "a", "b"]}, "the same answer twice"),
        ({**GOOD, "desired": ["No.", "a", "b"]}, "one answer is both"),
        ({**GOOD, "desired": ["a", "b", "c" * 3_000]}, "over 2,000 characters"),
        ({**GOOD, "desired": "a"}, "is no list of texts"),
        ({**GOOD, "thought": "hm"}, 'not an object with "desired" and "undesired" and nothing else'),
        ("hello", "not one JSON object"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(document, told):
    with pytest.raises(ReplyMistakeError, match=told):
        read_answers(reply(document), 3)


def test_two_of_three_are_told_and_asked_again():
    (turn,) = round_table(1, intents=False)
    asked = Asked(json.dumps({**GOOD, "undesired": GOOD["undesired"][:2]}), json.dumps(GOOD))
    named = IntentQuestions(MODEL).ask(turn, asked)
    assert named.desired == tuple(GOOD["desired"]) and named.undesired == tuple(GOOD["undesired"])
    assert len(asked) == 2 and '"undesired" has 2 answers; give exactly 3' in asked[1].messages[-1].content


def test_a_model_that_never_gives_three_is_no_answer():
    (turn,) = round_table(1, intents=False)
    with pytest.raises(NoUsableReplyError, match="no usable reply of m in 3 attempts"):
        IntentQuestions(MODEL).ask(turn, lambda request: reply({**GOOD, "desired": ["a", "b"]}))


def test_apart_asks_k_times_for_one_of_each():
    (turn,) = round_table(1, intents=False)
    questions = IntentQuestions(MODEL, 3, "apart")
    requests = questions.requests(turn)
    assert [request.sample for request in requests] == [0, 1, 2] and len({one.key() for one in requests}) == 3
    named = questions.ask(
        turn, lambda request: reply({"desired": [f"Yes {request.sample}."], "undesired": [f"No {request.sample}."]})
    )
    assert named.desired == ("Yes 0.", "Yes 1.", "Yes 2.") and named.undesired == ("No 0.", "No 1.", "No 2.")


def test_no_answers_at_all_are_no_intents():
    with pytest.raises(InputError, match="k = 0: one desired"):
        IntentQuestions(MODEL, 0)


BASE = BaseQuestions(LLMSettings(model="m", base_url="http://localhost:1/v1", temperature=1.0))


def test_a_model_says_what_stands_in_place_of_the_corpus_words():
    (turn,) = round_table(1)
    said = BASE.ask(turn, lambda request: ChatReply("<response>I doubt\nplayer 3.</response>", "m"))
    assert (said.said, said.answered, said.backends) == ("I doubt player 3.", "", ("m", "scripted"))
    assert said.desired == turn.desired and said.follower_sees == turn.follower_sees


@pytest.mark.parametrize(
    ("text", "told"), [("<response> </response>", "says nothing"), ("word " * 101, "has 101 words; at most 100")]
)
def test_a_reply_that_cannot_be_said_is_told_and_asked_again(text, told):
    with pytest.raises(ReplyMistakeError, match=told):
        read_speech(ChatReply(text, "m"))
    (turn,) = round_table(1)
    asked = Asked(text, "<response>Fine.</response>")
    assert BASE.ask(turn, asked).said == "Fine."
    assert "between <response> and </response>" in asked[1].messages[-1].content


NAMING = IntentQuestions(LLMSettings(model="m", base_url="http://localhost:1/v1"))
REPLY = json.dumps({"desired": ["a", "b", "c"], "undesired": ["d", "e", "f"]})


def test_turns_that_have_intents_are_not_asked_about_again():
    turns = (*round_table(1), *round_table(2, seed=1, intents=False))
    asked = Asked(REPLY)
    named = ask_about_instances([NAMING], turns, asked, 2)
    assert len(asked) == 2 and named.failed == ()
    assert [one.desired for one in named.instances] == [turns[0].desired, ("a", "b", "c"), ("a", "b", "c")]


def test_a_turn_without_a_usable_reply_is_left_out_and_told():
    turns = round_table(3, intents=False)
    named = ask_about_instances(
        [NAMING], turns, lambda request: ChatReply("no" if turns[1].name in request.subject else REPLY, "m")
    )
    assert [one.name for one in named.instances] == [turns[0].name, turns[2].name]
    ((name, why),) = named.failed
    assert name == turns[1].name and "no usable reply" in why


def test_what_would_be_asked_is_counted_and_shown_without_asking(tmp_path):
    turns = (*round_table(1), *round_table(2, seed=1, intents=False))
    asked = planned([(NAMING, unnamed(turns))], ModelSpec(model="m"), tmp_path / "replies.sqlite", str)
    priced = asked.price()
    # Both leaders read the same: equal requests count once.
    assert (priced.requests, priced.answered) == (1, 0) and not (tmp_path / "replies.sqlite").exists()
    shown = asked.preview(1, whole=True)
    assert len(shown.requests) == 1 and shown.requests[0].subject.endswith(turns[1].name)


def test_instances_are_read_as_they_were_written(tmp_path):
    turns = round_table(3)
    write_instances(tmp_path / "turns.jsonl", turns)
    assert read_instances(tmp_path / "turns.jsonl") == turns


@given(st.text(max_size=200))
def test_a_candidate_stands_in_what_the_follower_reads_as_json_text_that_nothing_ends(words):
    (turn,) = round_table(1)
    shown = turn.after(words)
    before, after = turn.follower_sees.split(turn.mark)
    assert shown.startswith(before) and shown.endswith(after)
    inside = shown[len(before) : len(shown) - len(after)]
    assert "<" not in inside and ">" not in inside and "\n" not in inside
    # Half a surrogate pair, which is no text, becomes another character.
    assert json.loads(f'"{inside}"') == words or any("\ud800" <= letter <= "\udfff" for letter in words)


def test_a_speech_of_thousands_of_words_is_cut():
    (turn,) = round_table(1)
    assert turn.after("a" * 30_000) == turn.after("a" * LONGEST_SPEECH)


def rows(**changes):
    (turn,) = round_table(1)
    return {**{name: getattr(turn, name) for name in Instance.__dataclass_fields__}, **changes}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 1: not valid JSON"),
        ("[]", "a JSON object .* is needed"),
        (json.dumps(rows(said=3)), "'said' is '3', not a text"),
        (json.dumps(rows(more=1)), "unknown keys more"),
        (json.dumps(rows(desired=["a", " "])), "'desired' is no list of texts"),
        (json.dumps(rows(backends=["a"])), "'backends' are not two names"),
        (json.dumps(rows(desired=["a", "b"])), "2 desired and 3 undesired answers"),
        (json.dumps(rows(mark="player 1")), "'mark' does not stand in 'follower_sees' alone"),
        ("", "no instance in it"),
        (json.dumps(rows()) + "\n" + json.dumps(rows()), "is there twice"),
    ],
)
def test_a_file_that_holds_something_else_is_told(tmp_path, line, told):
    path = tmp_path / "turns.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_instances(path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_instances(tmp_path / "none.jsonl")


def test_turns_of_which_none_has_intents_teach_nothing():
    with pytest.raises(InputError, match="none of its 2 turns has desired and undesired answers"):
        with_intents(round_table(2, intents=False), "turns.jsonl")
    mixed = (*round_table(1), *round_table(1, seed=1, intents=False))
    assert with_intents(mixed, "turns.jsonl") == mixed[:1]
