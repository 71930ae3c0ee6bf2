import json
import re

import pyarrow as pa
import pytest

from apportion.corpus.session import Rating
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.language_models import asker_of
from apportion.decompose.methods import METHODS
from apportion.decompose.projection import project
from apportion.decompose.prompt_building.prompt import Prompt, load_prompt
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import configured
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import descriptors, judgements, session, splits
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

SMILE = descriptors((1, "USER", "during", "smiles"))


def settings(server=None, **options):
    address = {"base_url": server.url, "max_retries": 0} if server else {}
    return DecomposeSettings(llm={"model": "m", **address, **options})


def judged(server, *, method="llm", session_=None, table=None, cache=None, **options):
    with serving(server):
        chosen = settings(server, **options)
        with asker_of(chosen, cache=cache) as asker:
            return judge_session(method, session_ or session(), "satisfaction", table, chosen, asker).judgements


def asked_turns(body):
    return json.loads(re.search(r"(?:judge|null|once): (\[[\d, ]*\])$", body["messages"][-1]["content"])[1])


def good(body, value=lambda turn: turn - 3.0):
    turns = [{"turn": t, "value": value(t), "evidence": f"because {t}"} for t in asked_turns(body)]
    return completion(json.dumps({"turns": turns}))


def test_a_session_is_judged_by_a_real_server():
    server = OpenAIServer(answer=good)
    table = judged(server)
    assert table.column("turn").to_pylist() == [1, 3, 5]
    assert table.column("raw_reward").to_pylist() == [-2.0, 0.0, 2.0]
    assert table.column("rationale").to_pylist() == ["because 1", "because 3", "because 5"]
    assert table.column("sd").null_count == table.column("reward").null_count == 3
    assert server.requests[0]["response_format"]["type"] == "json_schema"


def test_null_stays_null():
    table = judged(OpenAIServer(answer=lambda body: good(body, lambda turn: None if turn == 3 else 1)))
    assert table.column("raw_reward").to_pylist() == [1.0, None, 1.0]


def test_the_multimodal_method_shows_the_rater_and_the_text_method_does_not():
    server = OpenAIServer(answer=good)
    judged(server, method="llm", table=SMILE)
    judged(server, method="llm-multimodal", table=SMILE)
    text, multimodal = (body["messages"][1]["content"] for body in server.requests)
    assert "smiles" not in text
    assert '"listener_during": "smiles"' in multimodal


def test_without_recordings_both_methods_share_a_reply(tmp_path):
    server = OpenAIServer(answer=good)
    for method in ("llm", "llm-multimodal"):
        judged(server, method=method, cache=tmp_path / "cache.sqlite")
    assert len(server.requests) == 1


def test_a_mistake_is_shown_to_the_model_and_mended():
    def answer(body):
        return good(body) if len(body["messages"]) > 2 else completion('{"turns": []}')

    server = OpenAIServer(answer=answer)
    assert judged(server).column("raw_reward").to_pylist() == [-2.0, 0.0, 2.0]
    first, second = server.requests
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][2] == {"role": "assistant", "content": '{"turns": []}'}
    assert "cannot be used: turns missing: 1, 3, 5" in second["messages"][3]["content"]


def test_each_attempt_shows_the_last_reply_only():
    replies = iter(["one", "two", '{"turns": []}'])
    server = OpenAIServer(answer=lambda body: completion(next(replies)))
    with pytest.raises(UnitError):
        judged(server)
    assert [len(body["messages"]) for body in server.requests] == [2, 4, 4]
    assert server.requests[2]["messages"][2]["content"] == "two"


def test_a_long_reply_is_shown_in_part():
    with pytest.raises(UnitError, match=r"… \(5000 characters\)"):
        judged(OpenAIServer(answer=lambda body: completion("x" * 5000)), max_reply_attempts=1)


def test_a_planted_number_outside_the_scale_is_not_taken():
    server = OpenAIServer(answer=lambda body: good(body, lambda turn: 100))
    with pytest.raises(UnitError, match="the value 100 of turn 1 is outside the scale -5 to 5"):
        judged(server)


def sampled(replies, prompt):
    """Judged by one reply a sample, each the values of turns 1, 3 and 5."""
    values = iter(replies)

    def answer(body):
        said = dict(zip((1, 3, 5), next(values), strict=True))
        return good(body, said.__getitem__)

    return judged(OpenAIServer(answer=answer), samples=len(replies), prompt=prompt)


def test_samples_are_averaged_and_their_spread_kept():
    for prompt in ("default", "paper"):
        table = sampled([[0.0] * 3, [1.0] * 3, [2.0] * 3], prompt)
        assert table.column("raw_reward").to_pylist() == [1.0] * 3
        assert table.column("sd").to_pylist() == [1.0] * 3


def test_beside_other_samples_a_null_counts_as_the_prompt_says():
    replies = [[4.0, 2.0, None], [1.0, None, None]]
    # Nothing could be said of it, so that it counts as the mean of its own sample's dialogue.
    table = sampled(replies, "default")
    assert table.column("raw_reward").to_pylist() == [2.5, 1.5, None]
    assert table.column("sd").to_pylist() == pytest.approx([4.5**0.5, 0.5**0.5, 2.0**0.5])
    # It has no share of the score, which is a share of zero.
    table = sampled(replies, "paper")
    assert table.column("raw_reward").to_pylist() == [2.5, 1.0, None]
    assert table.column("sd").to_pylist() == pytest.approx([4.5**0.5, 2.0**0.5, 0.0])
    # A sample that says nothing at all of a dialogue has no mean either.
    assert sampled([[1.0] * 3, [2.0] * 3, [None] * 3], "default").column("raw_reward").to_pylist() == [1.5] * 3
    assert sampled([[1.0] * 3, [2.0] * 3, [None] * 3], "paper").column("raw_reward").to_pylist() == [1.0] * 3


@pytest.mark.parametrize(("prompt", "sd"), [("default", None), ("paper", 0.0)])
def test_all_samples_null_is_null(prompt, sd):
    table = sampled([[None] * 3] * 2, prompt)
    assert table.column("raw_reward").to_pylist() == [None] * 3
    assert table.column("sd").to_pylist() == [sd] * 3


def test_four_good_turns_and_a_null_that_says_nothing_leave_the_null_at_the_mean():
    turns = tuple((who, "word") for _ in range(4) for who in ("SYSTEM", "USER"))
    values = dict(zip((0, 2, 4, 6), (4.0, 4.5, 4.0, None), strict=True))
    server = OpenAIServer(answer=lambda body: good(body, values.__getitem__))
    table = judged(server, session_=session(turns=turns))
    episodes = [*session(turns=turns).episodes(), *session("s2", 1.0, turns[:4]).episodes()]
    other = judgements({episodes[1]: [0.0, 1.0]}, "llm")
    trained = splits(s1="train", s2="train")
    method = configured(METHODS["llm"], settings())
    rewards, _ = project(pa.concat_tables([table, other]), SplitEpisodes(episodes, trained), "relative", method)
    first, second, third, null = rewards.column("reward").to_pylist()[:4]
    assert first == third < second
    assert null == pytest.approx((first + second + third) / 3)


@pytest.mark.parametrize(
    ("null", "told"), [("never", "the value of turn 3 is null; every turn needs a number"), ("zero", "")]
)
def test_a_null_that_a_prompt_does_not_allow_is_a_mistake_of_the_reply(tmp_path, null, told):
    text = load_prompt("default").path.read_text().replace("null: mean", f"null: {null}")
    path = tmp_path / "mine.txt"
    path.write_text(text)
    server = OpenAIServer(answer=lambda body: good(body, lambda turn: None if turn == 3 else 1.0))
    if told:
        with pytest.raises(UnitError, match=told):
            judged(server, prompt=str(path))
        assert told in server.requests[1]["messages"][-1]["content"]
    else:
        assert judged(server, prompt=str(path)).column("raw_reward").to_pylist() == [1.0, None, 1.0]


def test_a_server_that_fails_costs_the_session_only():
    with pytest.raises(
        UnitError, match=r"session s1, satisfaction of SYSTEM by USER, sample 0: 127\.0\.0\.1 answered 500"
    ):
        judged(OpenAIServer(faults=[Fault(500)]))


def test_a_refused_key_stops_everything():
    with pytest.raises(InputError, match=r"decompose\.llm: .*401.*OPENAI_API_KEY"):
        judged(OpenAIServer(faults=[Fault(401)]))


def test_a_target_that_says_nothing_needs_no_request():
    quiet = session(turns=(("USER", "hello?"),))
    server = OpenAIServer(answer=good)
    assert judged(server, session_=quiet).num_rows == 0
    assert server.requests == []
    assert requests_for(quiet, None, None, settings()) == []


def test_requests_can_be_seen_without_being_sent(tmp_path):
    server = OpenAIServer(answer=good)
    (request, meta), (other, other_meta) = requests_for(session(), "satisfaction", SMILE, settings(samples=2))
    judged(server, method="llm-multimodal", table=SMILE, samples=2)
    sent = [message["content"] for message in server.requests[0]["messages"]]
    assert [message.content for message in request.messages] == sent
    assert (meta.session_id, meta.rater, meta.target, meta.name) == ("s1", "USER", "SYSTEM", "satisfaction")
    assert (meta.turns, meta.sample, other_meta.sample) == ((1, 3, 5), 0, 1)
    assert request.key() != other.key()


@pytest.mark.parametrize("samples", [1, 3])
def test_each_prompt_is_rendered_once(monkeypatch, samples):
    rendered = []
    render = Prompt.messages
    monkeypatch.setattr(Prompt, "messages", lambda self, *given: rendered.append(given) or render(self, *given))
    requests = requests_for(session(), None, None, settings(samples=samples))
    assert (len(requests), len(rendered)) == (samples, 1)
    judged(OpenAIServer(answer=good), samples=samples)
    assert len(rendered) == 2


def test_judging_asks_what_is_listed():
    server = OpenAIServer(answer=good)
    judged(server, samples=2)
    listed = [request for request, _ in requests_for(session(), None, None, settings(samples=2))]
    sent = [[message["content"] for message in body["messages"]] for body in server.requests]
    assert sent == [[message.content for message in request.messages] for request in listed]


def test_a_recording_of_the_requests_is_all_that_is_needed(tmp_path):
    two = session()
    two = type(two)("s1", two.turns, (*two.ratings, Rating("SYSTEM", "USER", "satisfaction", 2, 1, 5)))
    lines = [{"model": "some model", "date": "2026-11-21", "how": "in a test"}]
    for request, meta in requests_for(two, None, None, settings()):
        turns = [{"turn": turn, "value": 0.5, "evidence": "e"} for turn in meta.turns]
        lines.append({"key": request.key(), "reply": json.dumps({"turns": turns}), "model": "x", "date": "2026-11-21"})
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    chosen = settings(provider="recorded")
    with LLMSession(chosen.llm, recorded=path) as asker:
        assert judge_session("llm", two, None, None, chosen, asker).judgements.num_rows == 6
        with pytest.raises(UnitError, match=r"session other.*no recorded reply"):
            judge_session("llm", session("other", 2.0), None, None, chosen, asker)


def test_the_paper_s_prompt_may_give_any_finite_number():
    server = OpenAIServer(answer=lambda body: good(body, lambda turn: 80.0))
    assert judged(server, prompt="paper").column("raw_reward").to_pylist() == [80.0] * 3


def test_an_unknown_prompt_stops_everything():
    with pytest.raises(InputError, match="no prompt 'x'"):
        judged(OpenAIServer(), prompt="x")


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


@pytest.mark.parametrize("name", BAD)
def test_a_bad_reply_is_asked_again_with_its_mistake_and_mended(name):
    reply, mistake = BAD[name]
    server = OpenAIServer(answer=lambda body: completion(GOOD) if len(body["messages"]) > 2 else reply)
    assert judged(server, max_reply_attempts=2, max_tokens=4000)["raw_reward"].to_pylist() == [0.5, 1.5, 2.5]
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
        judged(OpenAIServer(answer=lambda body: reply), max_reply_attempts=2, max_tokens=4000)
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
        judged(server, max_reply_attempts=3, max_tokens=4000)
    kept, said = json.loads(caught.value.evidence)
    assert kept["reply"] == "prose " * 900
    assert said["status"] == 500


def test_a_failure_without_any_reply_keeps_what_the_server_said_if_anything():
    with pytest.raises(UnitError, match="answered 500") as caught:
        judged(OpenAIServer(faults=[Fault(500, "fire")]), max_reply_attempts=3, max_tokens=4000)
    (said,) = json.loads(caught.value.evidence)
    assert (said["status"], json.loads(said["body"])["error"]["message"]) == (500, "fire")
    with pytest.raises(UnitError, match="no answer within") as caught:
        judged(OpenAIServer(latency_s=1), timeout_s=0.1)
    assert caught.value.evidence is None


def test_half_a_character_can_be_kept_and_asked_about_again(tmp_path):
    with pytest.raises(UnitError) as caught:
        judged(
            OpenAIServer(answer=lambda body: completion("x\ud800y")),
            cache=tmp_path / "cache.sqlite",
            max_reply_attempts=2,
        )
    assert [entry["reply"] for entry in json.loads(caught.value.evidence)] == ["x\ufffdy"] * 2


@pytest.mark.parametrize("value", [None, 0.5, 4, -1])
def test_an_attribution_is_a_whole_number_of_its_scale(value):
    server = OpenAIServer(answer=lambda body: completion(turns((1, value), (3, 1), (5, 2.0))))
    with pytest.raises(UnitError, match=r"of turn 1 is (no whole number|outside)"):
        judged(server, max_reply_attempts=1, prompt="attribution")
