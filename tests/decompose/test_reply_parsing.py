import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.reply_parsing import LARGEST, REPLY_SCHEMA, TurnAnswer, parse_reply
from apportion.llm_client.prompts.strict_json import ReplyMistakeError


def text_of(*values, turns=(1, 3)):
    return json.dumps(
        {"turns": [{"turn": t, "value": v, "evidence": None} for t, v in zip(turns, values, strict=True)]}
    )


def test_a_good_reply_is_read_in_the_order_asked():
    text = '{"turns": [{"turn": 3, "value": null}, {"turn": 1, "value": -2, "evidence": "annoyed"}]}'
    assert parse_reply(text, (1, 3)) == [TurnAnswer(1, -2.0, "annoyed"), TurnAnswer(3, None, None)]


@pytest.mark.parametrize("wrap", ["```json\n{}\n```", "```\n{}\n```", "\n  {}\n"])
def test_a_fence_around_the_whole_is_taken_off(wrap):
    assert parse_reply(wrap.replace("{}", text_of(1, 2)), (1, 3))[1].value == 2.0


REASONED = {
    "think": "<think>\nIs turn 1 good? {}\n</think>\n\n{answer}",
    "thinking": "<thinking>Is turn 1 good?</thinking>{answer}",
    "twice": "<think>Good?</think>\n<think></think>{answer}",
    "opened in the question": "Turn 1 is good.</think>\n{answer}",
    "not closed": "<think>\n\n{answer}",
    "fenced": "<think>Good?</think>\n```json\n{answer}\n```",
    "byte order mark": "\ufeff{answer}",
    "harmony": "<|channel|>analysis<|message|>?<|end|><|start|>assistant<|channel|>final<|message|>{answer}<|return|>",
    "harmony, constrained": "<|channel|>final <|constrain|>json<|message|>{answer}<|end|>",
    "harmony, bare": "analysisTurn 1 is good.assistantfinal{answer}",
    "fence without lines": "```JSON{answer}```",
    "fence of another name": "```json5\n{answer}\n```",
}


@pytest.mark.parametrize("reply", REASONED.values(), ids=REASONED)
def test_reasoning_before_the_answer_is_no_part_of_it(reply):
    assert parse_reply(reply.replace("{answer}", text_of(1, 2)), (1, 3))[1].value == 2.0


@pytest.mark.parametrize("mark", ["</think>", "<think>", "<|channel|>final<|message|>", "assistantfinal"])
def test_what_an_answer_quotes_is_not_taken_for_reasoning(mark):
    quoted = mark + text_of(5, 5)
    text = json.dumps({"turns": [{"turn": 1, "value": -1, "evidence": quoted}]})
    assert parse_reply(text, [1]) == [TurnAnswer(1, -1.0, quoted)]
    # Nor can what somebody said in the dialogue become the answer where the model quotes it before its own.
    with pytest.raises(ReplyMistakeError):
        parse_reply(f"<think>They say </think>{text_of(5, 5)}, hm.</think>{text}", [1])


@pytest.mark.parametrize("turn", ["3", 3.0, 3])
def test_a_turn_is_known_by_its_number_however_it_is_written(turn):
    assert parse_reply(json.dumps({"turns": [{"turn": turn, "value": 1}]}), [3]) == [TurnAnswer(3, 1.0, None)]


@pytest.mark.parametrize("depth", range(900, 1000, 5))
def test_a_value_that_is_nested_almost_too_deeply_is_told(depth):
    with pytest.raises(ReplyMistakeError):
        parse_reply('{"turns": [{"turn": 1, "value": ' + "[" * depth + "]" * depth + "}]}", [1])


@given(st.lists(st.none() | st.floats(-LARGEST, LARGEST), max_size=8))
def test_what_the_schema_allows_is_read_as_it_is(values):
    turns = tuple(range(0, 2 * len(values), 2))
    assert [answer.value for answer in parse_reply(text_of(*values, turns=turns), turns)] == values


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.integers(10**300, 10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["turn", "value", "x"]), inner),
    max_leaves=8,
)
documents = st.builds(
    lambda turn, value, other: json.dumps({"turns": [{"turn": turn, "value": value}, other]}),
    json_values, json_values, json_values,
)  # fmt: skip
marks = st.lists(st.sampled_from(["<think>", "</think>", "<|channel|>final<|message|>", "```", "\ufeff", "{", "a"]))


@given(st.text() | st.builds(lambda text: text_of(1, 2)[: len(text)], st.text()) | documents | marks.map("".join))
def test_any_text_is_read_or_refused(text):
    try:
        answers = parse_reply(text, (1, 3), -5, 5)
    except ReplyMistakeError:
        return
    assert [answer.turn for answer in answers] == [1, 3]
    assert all(answer.value is None or math.isfinite(answer.value) for answer in answers)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "the reply is empty"),
        ("I am sorry, I cannot help with that.", "not one JSON object: Expecting value at character 0"),
        ("Here it is: " + text_of(1, 2), "not one JSON object"),
        (text_of(1, 2) + " Let me know!", "not one JSON object: Extra data"),
        (text_of(1, 2)[:-20], "not one JSON object"),
        (f"```json\n{text_of(1, 2)}\n```\nDone.", "not one JSON object"),
        ("[1, 2]", "not an object of the form"),
        ('{"turns": 3}', "not an object of the form"),
        ('{"turns": [3]}', 'every entry needs "turn" and "value"'),
        ('{"turns": [{"turn": 1}]}', 'every entry needs "turn" and "value"'),
        ('{"turns": [{"turn": "one", "value": 0}]}', '"turn" must be an integer, not "one"'),
        ('{"turns": [{"turn": "01", "value": 0}]}', '"turn" must be an integer, not "01"'),
        ('{"turns": [{"turn": "1.5", "value": 0}]}', '"turn" must be an integer, not "1.5"'),
        ('{"turns": [{"turn": ' + "9" * 400 + ', "value": 0}]}', "no turn has the number 999"),
        ('{"turns": [{"turn": "1", "value": 0}, {"turn": 1, "value": 0}]}', "turns given more than once: 1"),
        ('{"turns": [{"turn": 1, "turn": 3, "value": 0}]}', 'the key "turn" stands twice in one object'),
        ('{"turns": [{"turn": true, "value": 0}]}', '"turn" must be an integer, not true'),
        ('{"turns": [{"turn": 1, "value": "2"}]}', 'the "value" of turn 1 must be a number or null, not "2"'),
        ('{"turns": [{"turn": 1, "value": true}]}', "must be a number or null"),
        ('{"turns": [{"turn": 1, "value": 2, "evidence": 3}]}', 'the "evidence" of turn 1 must be a string or null'),
        ('{"turns": [{"turn": 1, "value": NaN}]}', "NaN is not allowed"),
        ('{"turns": [{"turn": 1, "value": -Infinity}]}', "-Infinity is not allowed"),
        ('{"turns": [{"turn": 1, "value": 1e999}]}', "the value of turn 1 is too large"),
        ('{"turns": [{"turn": 1, "value": ' + "9" * 5000 + "}]}", "number that cannot be used"),
        ('{"turns": [{"turn": 1, "value": ' + "9" * 400 + "}]}", "the value of turn 1 is too large"),
        ("<think>The user is annoyed.", "the reply is reasoning alone"),
        ("<think>Hm.</think>" + text_of(1, 2)[:-5], "not one JSON object"),
        ("[" * 300_000, "the reply has 300,000 characters"),
        ("[" * 100_000, "nested too deeply"),
        (text_of(1, turns=(1,)), "turns missing: 3"),
        (text_of(1, 2, 3, turns=(1, 3, 5)), "turns not asked for: 5"),
        (text_of(1, 2, 3, turns=(1, 3, 3)), "turns given more than once: 3"),
        (text_of(1, 2, turns=(1, 2)), "turns missing: 3; turns not asked for: 2"),
        (text_of(1, 100), "the value 100 of turn 3 is outside the scale -5 to 5"),
    ],
)
def test_a_mistake_is_named(text, mistake):
    with pytest.raises(ReplyMistakeError) as caught:
        parse_reply(text, (1, 3), -5, 5)
    assert mistake in str(caught.value)


def test_a_long_list_of_mistakes_is_cut_and_half_a_surrogate_pair_becomes_text():
    with pytest.raises(ReplyMistakeError) as caught:
        parse_reply('{"turns": []}', tuple(range(200)))
    assert str(caught.value).endswith("18, 19 …")
    (answer,) = parse_reply('{"turns": [{"turn": 1, "value": 2, "evidence": "\\ud83d"}]}', [1])
    assert answer.evidence == "\ufffd"
    with pytest.raises(ReplyMistakeError) as mistake:
        parse_reply('{"turns": [{"turn": 1, "value": "\\ud83d"}]}', [1])
    assert str(mistake.value).encode()


def test_the_schema_is_strict_enough_for_structured_output():
    def objects(schema):
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for value in schema.values():
                yield from objects(value)

    for found in objects(REPLY_SCHEMA):
        assert found["additionalProperties"] is False
        assert found["required"] == list(found["properties"])
