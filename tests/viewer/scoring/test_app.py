"""A server of a small reward model: its answers, what it refuses, what it counts."""

import base64
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.corpus.session import Background
from apportion.reward_model.config import TrainingDomain
from apportion.reward_model.out_of_domain import Domain
from apportion.viewer.scoring.batches import score_dialogues
from apportion.viewer.scoring.dialogues import read_dialogues
from apportion.viewer.scoring.refusals import Limits
from tests.viewer.scoring.served import ask, chat, scores_served, tiny_model

TALK = chat("hotel ?", "yes good", "train ?", "no bad .")
LIMITS = Limits(body=3000, dialogues=3, turns=8, text=40, waiting=2)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def server(model):
    with scores_served(model, LIMITS) as (address, serving):
        serving.batches.start()
        yield address


def rewards(answer):
    assert answer.status == 200, answer
    return [[turn["reward"] for turn in dialogue["turns"]] for dialogue in answer.said["dialogues"]]


def test_turns_get_the_models_rewards_by_the_number_of_their_message(server, model):
    talk = [{"role": "system", "content": "w1 w2"}, *TALK]
    answer = ask(server, "/score", {"dialogues": [{"messages": talk}, {"messages": chat("train ?")}]})
    assert answer.said["model"] == "llm-seed0" and answer.said["dialogues"][1]["turns"] == []
    first = answer.said["dialogues"][0]["turns"]
    assert [turn["turn"] for turn in first] == [2, 4] and first[0]["unlike_training"] is None
    np.testing.assert_allclose(rewards(answer)[0], model.score(talk), atol=1e-6)


def test_turns_of_our_own_are_the_same_dialogue(server, model):
    turns = [{"speaker": ("ann", "bob")[i % 2], "text": one["content"]} for i, one in enumerate(TALK)]
    asked = [{"turns": turns, "target": target} for target in ("bob", "second")]
    for found in rewards(ask(server, "/score", {"dialogues": asked})):
        np.testing.assert_allclose(found, model.score(TALK), atol=1e-6)
    known = [{"speaker": "bob", "kind": "goal", "text": "w7"}]
    (told,) = rewards(ask(server, "/score", {"dialogues": [{**asked[0], "backgrounds": known, "language": "en"}]}))
    (episode,) = read_dialogues({"dialogues": [{**asked[0], "backgrounds": known}]}, LIMITS)
    assert episode.backgrounds == (Background("bob", "goal", "w7"),)
    np.testing.assert_allclose(told, model.score_episode(episode), atol=1e-6)


def test_openrlhf_gets_the_advantage_of_the_reply_and_a_score_from_0_to_1(server, model):
    query = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in TALK)
    answer = ask(server, "/openrlhf", {"query": [query, query], "prompts": ["a", "b"], "labels": [None, "x"]})
    assert answer.status == 200 and set(answer.said) == {"rewards", "scores", "extra_logs"}
    scores = model.score_last([[("AB"[i % 2], one["content"]) for i, one in enumerate(TALK)]])
    np.testing.assert_allclose(answer.said["rewards"], [scores.advantage[0]] * 2, atol=1e-6)
    np.testing.assert_allclose(answer.said["extra_logs"]["turn_reward"], [scores.reward[0]] * 2, atol=1e-6)
    assert all(0 <= score <= 1 for score in answer.said["scores"])
    plain = ask(server, "/openrlhf", {"query": ["hotel ? yes"], "prompts": ["hotel ?"]})
    assert plain.status == 200
    begun = "<|im_start|>user\nhotel ?<|im_end|>\n<|im_start|>assistant\n"
    silent = ask(server, "/openrlhf", {"query": [f"{begun}<|im_end|>", f"{begun}<think>w1"], "prompts": [begun] * 2})
    assert silent.said["rewards"] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/score", "{", 400, "is no JSON"),
        ("/score", "[" * 2900, 400, "is no JSON"),
        ("/score", b"\xff", 400, "is no JSON"),
        ("/score", [], 422, "a JSON list; send an object"),
        ("/score", {"dialogue": []}, 422, "no list 'dialogues' in the body (it has dialogue). Send {"),
        ("/score", {"dialogues": []}, 422, "dialogues is empty"),
        ("/score", {"dialogues": [{"messages": []}] * 4}, 422, "holds 4; a request may hold 3"),
        ("/score", {"dialogues": [7]}, 422, "dialogues[0]: no list of messages or turns"),
        ("/score", {"dialogues": [{"messages": [{"role": "tool"}]}]}, 422, "dialogues[0]: message 1: role 'tool'"),
        ("/score", {"dialogues": [{"messages": [{"role": "user"}]}]}, 422, "message 1: content None"),
        ("/score", {"dialogues": [{"turns": [{"speaker": "a"}]}]}, 422, "turns[0]: it must have speaker and text"),
        ("/score", {"dialogues": [{"turns": [{"speaker": "a", "text": "b"}], "target": "c"}]}, 422, "there are a"),
        ("/score", {"dialogues": [{"messages": TALK, "language": 3}]}, 422, "language 3"),
        ("/score", {"dialogues": [{"messages": TALK, "backgrounds": 3}]}, 422, "backgrounds is no list"),
        ("/score", {"dialogues": [{"messages": TALK, "backgrounds": [{}]}]}, 422, "a background needs text"),
        ("/score", {"dialogues": [{"messages": TALK}] * 3}, 413, "12 turns; a request may hold 8"),
        ("/score", {"dialogues": [{"messages": chat("w" * 41)}]}, 413, "dialogue 0, turn 0: 41 characters; 40 are"),
        ("/score", {"dialogues": [{"messages": chat("\ud800")}]}, 422, "half a character"),
        ("/score", '{"\\ud800": 1}', 422, "no list 'dialogues' in the body (it has \\ud800)"),
        ("/score", "w" * 3001, 413, "A request may hold 3,000 bytes at most"),
        ("/openrlhf", {"query": "text"}, 422, "no list 'query'"),
        ("/openrlhf", {"query": []}, 422, "query is empty"),
        ("/openrlhf", {"query": [3]}, 422, "query[0]: a int; it must be text"),
        ("/openrlhf", {"query": ["text"]}, 422, "query[0]: 'text' has no chat template"),
        ("/scores", {}, 404, "POST /score, POST /openrlhf"),
        ("/score", None, 405, "POST /score, POST /openrlhf"),
    ],
)
def test_what_is_refused_is_told_with_what_is_allowed(server, path, body, status, said):
    answer = ask(server, path, body)
    assert answer.status == status and said in (answer.said["error"] if isinstance(answer.said, dict) else answer.said)


def test_who_has_gone_is_not_scored(model):
    with scores_served(model) as (address, serving):
        body = json.dumps({"dialogues": [{"messages": TALK}]})
        gone = http.client.HTTPConnection(address.removeprefix("http://"), timeout=600)
        gone.request("POST", "/score", body)
        while not serving.batches.waiting:
            time.sleep(0.01)
        gone.close()
        while 'status="499"' not in serving.metrics.text(0):
            time.sleep(0.01)
        serving.batches.start()
        assert ask(address, "/score", body).status == 200
        assert f"turns_total {len(TALK) // 2}\n" in serving.metrics.text(0)
        serving.batches.end()


def test_a_body_without_a_length_is_read_to_the_limit(server):
    parts = (piece for piece in [b'{"dialogues": "', b"w" * 4000, b'"}'])
    connection = http.client.HTTPConnection(server.removeprefix("http://"), timeout=600)
    connection.request("POST", "/score", parts, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    response = connection.getresponse()
    assert response.status == 413 and b"more than 3,000 bytes" in response.read()


def test_pages_of_other_sites_and_rebound_names_are_refused(server):
    body = {"dialogues": [{"messages": TALK}]}
    assert ask(server, "/score", body, Origin="http://evil.example").status == 403
    assert ask(server, "/score", body, Host="evil.example").status == 421


def test_the_token_is_wanted_by_every_path_and_any_name_is_good_with_it(model):
    secret = "s3cret-of-sixteen"
    basic = base64.b64encode(f"any:{secret}".encode()).decode()
    with scores_served(model, LIMITS, secret) as (address, serving):
        serving.batches.start()
        for path in ("/health", "/metrics", "/nowhere"):
            answer = ask(address, path)
            assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer" and secret not in answer.said
        for wrong in ("Bearer", "Bearer s3cret", f"Token {secret}", "Basic !", f"Basic {secret}", "Basic /w==", "é"):
            assert ask(address, "/health", Authorization=wrong).status == 401
        for right in (f"Bearer {secret}", f"bearer {secret}", f"Basic {basic}"):
            assert ask(address, "/health", Authorization=right, Host="rewards.example").status == 200


def test_requests_that_wait_are_read_together_and_equal_to_each_alone(model):
    talks = [chat("hotel ?", f"yes w{i} .", "train ?", "good") for i in range(24)]
    with scores_served(model) as (address, serving), ThreadPoolExecutor(24) as clients:
        answers = [clients.submit(ask, address, "/score", {"dialogues": [{"messages": talk}]}) for talk in talks]
        while serving.batches.waiting < len(talks):
            threading.Event().wait(0.01)
        assert ask(address, "/health").said["waiting"] == 24
        serving.batches.start()
        found = [rewards(answer.result())[0] for answer in answers]
        told = ask(address, "/metrics").said
    np.testing.assert_allclose(found, [model.score(talk) for talk in talks], atol=1e-6)
    assert "apportion_batches_total 1\n" in told and "apportion_turns_total 48\n" in told
    assert 'apportion_requests_total{path="/score",status="200"} 24\n' in told
    assert "apportion_queue_requests 0\n" in told and 'apportion_request_seconds_bucket{le="+Inf"} 24\n' in told
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in told.splitlines())


def test_a_full_queue_asks_to_come_back_and_an_ending_server_answers_what_it_has(model):
    body = {"dialogues": [{"messages": TALK}]}
    with scores_served(model, LIMITS) as (address, serving), ThreadPoolExecutor(2) as clients:
        waiting = [clients.submit(ask, address, "/score", body) for _ in range(2)]
        while serving.batches.waiting < 2:
            threading.Event().wait(0.01)
        full = ask(address, "/score", body)
        assert (
            full.status == 503
            and full.headers["retry-after"] == "1"
            and "2 requests wait already" in full.said["error"]
        )
        serving.batches.start()
        serving.batches.end()
        assert [answer.result().status for answer in waiting] == [200, 200]
        assert "is ending" in ask(address, "/score", body).said["error"]


def test_one_request_at_fault_costs_the_others_nothing(model, monkeypatch):
    score = model.score_episodes

    def fails_at_bad(episodes):
        if any("w9" in turn.text for episode in episodes for turn in episode.turns):
            raise ValueError("a fault")
        return score(episodes)

    monkeypatch.setattr(model, "score_episodes", fails_at_bad)
    with scores_served(model, LIMITS) as (address, serving), ThreadPoolExecutor(2) as clients:
        asked = [{"dialogues": [{"messages": chat("hotel ?", word)}]} for word in ("good", "w9")]
        answers = [clients.submit(ask, address, "/score", body) for body in asked]
        while serving.batches.waiting < 2:
            threading.Event().wait(0.01)
        serving.batches.start()
        assert [answer.result().status for answer in answers] == [200, 500]
        assert ask(address, "/score", asked[0]).status == 200


def test_a_reward_that_is_no_number_is_the_models_fault(tmp_path):
    broken = tiny_model(tmp_path / "bert")
    torch.nn.init.constant_(broken.head.last_weight, float("inf"))
    with scores_served(broken, LIMITS) as (address, serving):
        serving.batches.start()
        answer = ask(address, "/score", {"dialogues": [{"messages": TALK}]})
    assert answer.status == 500 and "weights are damaged. Train it again" in answer.said["error"]


def test_turns_unlike_the_training_are_flagged(tmp_path):
    model = tiny_model(tmp_path / "bert")
    reference = np.ones((1, model.config.width), np.int8)
    model.domain = Domain(TrainingDomain(languages=("de",), longest_turn=5, distance=2.0), reference)
    with scores_served(model) as (address, serving):
        serving.batches.start()
        english = chat("Is there a train to the town tonight?", "Yes, there is one at nine in the evening.")
        (told,) = ask(address, "/score", {"dialogues": [{"messages": english}]}).said["dialogues"]
        assert told["turns"][0]["unlike_training"] == ["language", "length"] == list(model.out_of_domain(english)[0])
        german = {"messages": chat("ok", "nine"), "language": "de"}
        (told,) = ask(address, "/score", {"dialogues": [german]}).said["dialogues"]
        assert told["turns"][0]["unlike_training"] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["dialogues", "messages", "turns", "role", "content", "speaker", "text", "target"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
)


@settings(max_examples=60, deadline=None)
@given(body=JSON | st.builds(lambda one: {"dialogues": [{"messages": [one]}]}, JSON))
def test_whatever_is_sent_gets_scores_or_a_reason(server, body):
    for path in ("/score", "/openrlhf"):
        answer = ask(server, path, json.dumps(body))
        assert answer.status in (200, 413, 422) and (answer.status == 200 or answer.said["error"])


def test_nothing_to_score_is_no_fault(model):
    assert score_dialogues(model, []) == []
