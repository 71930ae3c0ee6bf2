"""Bad replies, each through a real HTTP server: asked again with the mistake shown, then given up with all kept."""

import json

import pytest

from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import session
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

GOOD = json.dumps({"turns": [{"turn": t, "value": t / 2, "evidence": None} for t in (1, 3, 5)]})


def turns(*entries):
    return json.dumps({"turns": [{"turn": t, "value": v, "evidence": None} for t, v in entries]})


BAD = {
    "a missing turn": (completion(turns((1, 1), (3, 1))), "turns missing: 5"),
    "an extra turn": (completion(turns((1, 1), (3, 1), (5, 1), (7, 1))), "turns not asked for: 7"),
    "a turn of the rater": (completion(turns((1, 1), (2, 1), (3, 1), (5, 1))), "turns not asked for: 2"),
    "a turn twice": (completion(turns((1, 1), (3, 1), (3, 2), (5, 1))), "turns given more than once: 3"),
    "a key twice": (completion('{"turns": [{"turn": 1, "value": 1, "value": 2}]}'), 'key "value" stands twice'),
    "two lists": (completion(f'{GOOD[:-1]}, "turns": []}}'), 'the key "turns" stands twice'),
    "NaN": (completion(GOOD.replace("0.5", "NaN")), "NaN is not allowed"),
    "Infinity": (completion(GOOD.replace("0.5", "-Infinity")), "-Infinity is not allowed"),
    "an infinite number": (completion(GOOD.replace("0.5", "1e999")), "value of turn 1 is too large"),
    "a number as a string": (
        completion(GOOD.replace("0.5", '"0.5"')),
        'the "value" of turn 1 must be a number or null',
    ),
    "a truth value": (completion(GOOD.replace("0.5", "true")), 'the "value" of turn 1 must be a number or null'),
    "a turn as a string": (completion(GOOD.replace('"turn": 1', '"turn": "one"')), '"turn" must be an integer'),
    "prose around it": (completion(f"Here you are:\n{GOOD}\nHope that helps!"), "not one JSON object"),
    "prose in a fence": (completion(f"```json\n{GOOD}\n```\nDone."), "not one JSON object"),
    "two objects": (completion(GOOD + GOOD), "not one JSON object"),
    "cut off": (completion(GOOD[:40]), "not one JSON object"),
    "cut off and said so": (completion(GOOD, "length"), "cut off at the limit of tokens"),
    "a refusal": (completion("", refusal="I can't judge people."), r"declined \(refusal\)"),
    "a filter": (completion("", "content_filter"), r"declined \(content_filter\)"),
    "a refusal as text": (completion("I'm sorry, but I can't help with that."), "not one JSON object"),
    "empty": (completion(""), "the reply is empty"),
    "blank": (completion(" \n\t "), "the reply is empty"),
    "prose of another language": (completion("Die erste Äußerung war sehr gut, 好的。"), "not one JSON object"),
    "keys of another language": (
        completion('{"Züge": [{"Zug": 1, "Wert": 0.5}, {"Zug": 3, "Wert": 1}, {"Zug": 5, "Wert": 2}]}'),
        'not an object of the form {"turns"',
    ),
    "inner keys of another language": (completion('{"turns": [{"turno": 1, "valor": 2}]}'), 'needs "turn" and "value"'),
    "decimal commas": (completion(GOOD.replace("0.5", '"0,5"')), 'must be a number or null, not "0,5"'),
    "a list": (completion("[1, 2, 3]"), "not an object of the form"),
    "nested deeply": (completion("[" * 100_000), "nested too deeply|not one JSON object"),
}


def judged(server, attempts, cache=None):
    with serving(server):
        settings = DecomposeSettings(
            llm={
                "model": "m",
                "base_url": server.url,
                "max_retries": 0,
                "max_reply_attempts": attempts,
                "max_tokens": 4000,
            }
        )
        with LLMSession(settings.llm, cache=cache) as asker:
            return judge_session("llm", session(), "satisfaction", None, settings, asker).judgements


@pytest.mark.parametrize("name", BAD)
def test_a_bad_reply_is_asked_again_with_its_mistake_and_mended(name):
    reply, mistake = BAD[name]
    server = OpenAIServer(answer=lambda body: completion(GOOD) if len(body["messages"]) > 2 else reply)
    assert judged(server, 2)["raw_reward"].to_pylist() == [0.5, 1.5, 2.5]
    shown, correction = (message["content"] for message in server.requests[1]["messages"][2:])
    said = reply["choices"][0]["message"]
    whole = (said["content"] or said["refusal"] or "").strip() or "(empty)"
    assert shown == whole if len(whole) < 32_000 else len(shown) < 33_000
    assert "every one of these turns once: [1, 3, 5]" in correction
    with pytest.raises(ValueError, match=mistake):
        raise ValueError(correction)


@pytest.mark.parametrize("name", BAD)
def test_a_reply_that_stays_bad_costs_the_session_and_is_kept(name):
    reply, mistake = BAD[name]
    with pytest.raises(UnitError, match=f"no usable reply of served-model in 2 attempts.*{mistake}") as caught:
        judged(OpenAIServer(answer=lambda body: reply), 2)
    said = reply["choices"][0]["message"]
    kept = json.loads(caught.value.evidence)
    assert [entry["reply"] for entry in kept] == [(said["content"] or said["refusal"] or "")[: 64 * 1024]] * 2
    assert len({entry["request"] for entry in kept}) == 2
    assert len(str(caught.value)) < 2000


def test_bad_replies_are_kept_too_where_the_server_dies_after_them():
    server = OpenAIServer(
        answer=lambda body: completion("prose " * 900),
        refuse=lambda body: Fault(500) if len(body["messages"]) > 2 else None,
    )
    with pytest.raises(UnitError, match="answered 500") as caught:
        judged(server, 3)
    kept, said = json.loads(caught.value.evidence)
    assert kept["reply"] == "prose " * 900
    assert said["status"] == 500


def test_a_failure_without_any_reply_keeps_what_the_server_said_if_anything():
    with pytest.raises(UnitError, match="answered 500") as caught:
        judged(OpenAIServer(faults=[Fault(500, "fire")]), 3)
    (said,) = json.loads(caught.value.evidence)
    assert (said["status"], json.loads(said["body"])["error"]["message"]) == (500, "fire")
    with pytest.raises(UnitError, match="no answer within") as caught, serving(OpenAIServer(latency_s=1)) as server:
        llm = {"model": "m", "base_url": server.url, "max_retries": 0, "timeout_s": 0.1}
        settings = DecomposeSettings(llm=llm)
        with LLMSession(settings.llm) as asker:
            judge_session("llm", session(), "satisfaction", None, settings, asker)
    assert caught.value.evidence is None


def test_half_a_character_can_be_kept_and_asked_about_again(tmp_path):
    with pytest.raises(UnitError) as caught:
        judged(OpenAIServer(answer=lambda body: completion("x\ud800y")), 2, tmp_path / "cache.sqlite")
    assert [entry["reply"] for entry in json.loads(caught.value.evidence)] == ["x\ufffdy"] * 2


@pytest.mark.parametrize("value", [None, 0.5, 4, -1])
def test_an_attribution_is_a_whole_number_of_its_scale(value):
    server = OpenAIServer(answer=lambda body: completion(turns((1, value), (3, 1), (5, 2.0))))
    with serving(server):
        settings = DecomposeSettings(
            llm={"model": "m", "base_url": server.url, "max_reply_attempts": 1, "prompt": "attribution"}
        )
        with (
            LLMSession(settings.llm) as asker,
            pytest.raises(UnitError, match=r"of turn 1 is (no whole number|outside)"),
        ):
            judge_session("llm", session(), "satisfaction", None, settings, asker)
