import json
import re

import pyarrow as pa
import pytest

from apportion.corpus.session import Rating
from apportion.corpus.splits.episodes import SplitEpisodes
from apportion.decompose.cache_key import configured
from apportion.decompose.language_models import asker_of
from apportion.decompose.methods import METHODS
from apportion.decompose.projection import project
from apportion.decompose.prompt_building.prompt import Prompt, load_prompt
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
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


@pytest.mark.parametrize(
    ("reply", "mistake"),
    [
        (completion(""), "the reply is empty"),
        (completion("Sorry, no."), "not one JSON object"),
        (completion('{"turns": [', "length"), "cut off at the limit of tokens"),
        (completion("", refusal="I cannot judge people."), r"declined \(refusal\)"),
        (completion("", "content_filter"), r"declined \(content_filter\)"),
    ],
)
def test_after_the_last_attempt_the_session_is_given_up_with_the_reply(reply, mistake):
    server = OpenAIServer(answer=lambda body: reply)
    with pytest.raises(
        UnitError, match=f"session s1, satisfaction of SYSTEM by USER.*in 2 attempts.*{mistake}"
    ) as caught:
        judged(server, attempts=2)
    said = reply["choices"][0]["message"]
    assert repr(said["content"] or said["refusal"] or "") in str(caught.value)
    assert len(server.requests) == 2


def test_a_long_reply_is_shown_in_part():
    with pytest.raises(UnitError, match=r"… \(5000 characters\)"):
        judged(OpenAIServer(answer=lambda body: completion("x" * 5000)), attempts=1)


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
