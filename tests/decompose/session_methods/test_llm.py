import json
import re

import pytest

from apportion.corpus.session import Rating
from apportion.decompose.language_models import asker_of
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import descriptors, session
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


def test_a_long_reply_is_shown_in_part():
    with pytest.raises(UnitError, match=r"… \(5000 characters\)"):
        judged(OpenAIServer(answer=lambda body: completion("x" * 5000)), max_reply_attempts=1)


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


def test_a_server_that_fails_costs_the_session_and_a_refused_key_everything():
    with pytest.raises(
        UnitError, match=r"session s1, satisfaction of SYSTEM by USER, sample 0: 127\.0\.0\.1 answered 500"
    ):
        judged(OpenAIServer(faults=[Fault(500)]))
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
    for listed, body in zip((request, other), server.requests, strict=True):
        assert [message.content for message in listed.messages] == [m["content"] for m in body["messages"]]
    assert (meta.session_id, meta.rater, meta.target, meta.name) == ("s1", "USER", "SYSTEM", "satisfaction")
    assert (meta.turns, meta.sample, other_meta.sample) == ((1, 3, 5), 0, 1)
    assert request.key() != other.key()


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


GOOD = json.dumps({"turns": [{"turn": t, "value": t / 2, "evidence": None} for t in (1, 3, 5)]})


def turns(*entries):
    return json.dumps({"turns": [{"turn": t, "value": v, "evidence": None} for t, v in entries]})


BAD = {
    "a missing turn": (completion(turns((1, 1), (3, 1))), "turns missing: 5"),
    "cut off and said so": (completion(GOOD, "length"), "cut off at the limit of tokens"),
    "a refusal": (completion("", refusal="I can't judge people."), r"declined \(refusal\)"),
    "a filter": (completion("", "content_filter"), r"declined \(content_filter\)"),
    "empty": (completion(""), "the reply is empty"),
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


@pytest.mark.parametrize("value", [None, 0.5, 4, -1])
def test_an_attribution_is_a_whole_number_of_its_scale(value):
    server = OpenAIServer(answer=lambda body: completion(turns((1, value), (3, 1), (5, 2.0))))
    with pytest.raises(UnitError, match=r"of turn 1 is (no whole number|outside)"):
        judged(server, max_reply_attempts=1, prompt="attribution")
