import json

import pytest

from apportion.foundation.errors import InputError, StoppedError
from apportion.llm_client.model_spec import ModelSpec
from apportion.study.design.answers import values_of
from apportion.study.design.unblinding_key import read_key
from apportion.study.judge.judging import JudgeChoice, judge_study, planned
from apportion.study.rows import JUDGED, rows_beside
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.study.judge.judges import by_text, first, judge
from tests.study.studies import POLICIES, study_in

ORG_A_JUDGE = "org-a-judge-17ffb6"


def choice_of(study, server, **more):
    return JudgeChoice(study, ModelSpec(**{"model": "org/a-judge", "base_url": server.url, **more}))


@pytest.mark.parametrize("name", ["geli", "pairs", "savoir"])
def test_a_model_that_reads_gives_both_orders_the_same_answer(tmp_path, name):
    study = study_in(tmp_path / "study", name, base=POLICIES[1])
    with serving(OpenAIServer(judge(name, by_text("Answer")))) as server:
        heard = []
        judged = judge_study(choice_of(study, server), lambda done, total, text: heard.append((done, total)))
    with serving(OpenAIServer(judge(name, lambda shown: min(shown, key=lambda one: one[1])[0]))) as server:
        steady = judge_study(choice_of(study, server, model="steady"))
    assert not any(policy in json.dumps(server.requests) for policy in POLICIES)
    assert {row.item for row in steady.rows} == {item.item for item in study.counted}  # Neither practice nor checks.
    items = len(study.counted)
    assert len(judged.rows) == 2 * items and not judged.failed and heard[-1] == (2 * items, 2 * items)
    assert {row.annotator for row in judged.rows} == {f"judge:{ORG_A_JUDGE}", f"judge:{ORG_A_JUDGE}#2"}
    assert set(judged.moved.values()) == {1.0} and set(steady.moved.values()) == {0.0}
    # It likes the response of the first policy of each item best, whose text comes first in the alphabet.
    policy_of = read_key(study.path).policy_of
    criterion = study.criteria.criteria[-1]
    for row in steady.rows:
        said = values_of(criterion, study.items[row.item], row.answers[criterion.name])
        best = max(said, key=lambda one: said[one])
        among = {policy_of[row.item, one.id] for one in study.items[row.item].responses}
        assert policy_of[row.item, best] == min(among, key=POLICIES.index)


def test_a_model_that_takes_the_first_is_told_by_how_often_the_order_moved_it(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    with serving(OpenAIServer(judge("pairs", first))) as server:
        choice = choice_of(study, server)
        judged = judge_study(choice)
    assert choice.out == study.path / "judged" / f"{ORG_A_JUDGE}.jsonl"
    assert sorted(rows_beside(study.path, JUDGED), key=str) == sorted(judged.rows, key=str)
    assert judged.moved == {"better": 1.0}
    assert "items on which the order alone changed the answer: better 100%" in judged.text()


@pytest.mark.parametrize("name", ["turns", "negotiation"])
def test_where_there_is_one_order_it_is_asked_once(tmp_path, name):
    study = study_in(tmp_path / "study", name)
    with serving(OpenAIServer(judge(name, first))) as server:
        judged = judge_study(choice_of(study, server))
    assert len(judged.rows) == len(study.counted) == len(server.requests)
    assert set(judged.moved.values()) == {None} and "order" not in judged.text().partition("\n")[2]


@pytest.mark.parametrize(("one", "other"), [("a/b", "a-b"), ("m" * 60 + "1", "m" * 60 + "2")])
def test_models_of_like_names_write_into_files_of_their_own(tmp_path, one, other):
    study = study_in(tmp_path / "study", "pairs")
    choices = [JudgeChoice(study, ModelSpec(model=model)) for model in (one, other)]
    assert choices[0].out != choices[1].out and all(len(choice.name) <= 50 for choice in choices)


def test_a_paid_reply_is_never_paid_twice(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    with serving(OpenAIServer(judge("pairs", first))) as server:
        choice = choice_of(study, server)
        before = planned(choice).price()
        one = judge_study(choice)
        asked = len(server.requests)
        choice.out.unlink()  # As if it had been killed before it wrote its answers.
        again = judge_study(choice)
        after = planned(choice).price()
    assert asked == 2 * len(study.counted) == len(server.requests)
    assert (
        one == again and "0 answered already" in before.text() and f"{asked} answered already, 0 to ask" in after.text()
    )


def test_a_preview_shows_what_would_be_sent_and_asks_nobody(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    with serving(OpenAIServer()) as server:
        seen = planned(choice_of(study, server)).preview(2)
        assert planned(choice_of(study, server)).price().text()
    assert (seen.in_all, len(seen.requests), server.requests) == (2 * len(study.counted), 2, [])
    assert not (study.path / "judged").exists()


def test_another_machine_is_asked_with_consent_alone(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    choice = JudgeChoice(study, ModelSpec(model="m", base_url="http://judge.example/v1"), "--{}".format)
    with pytest.raises(InputError, match=r"judge\.example"):
        judge_study(choice)
    assert not (study.path / "judged").exists()


def test_a_budget_that_is_spent_stops_and_keeps_the_replies(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    table = tmp_path / "prices.toml"
    table.write_text('[models]\n"org/a-judge" = { input = 1000.0, output = 1000.0 }\n')
    with serving(OpenAIServer(judge("pairs", first))) as server:
        cheap = choice_of(study, server, prices=table, budget=3.0, max_tokens=200, concurrency=1)
        with pytest.raises(StoppedError):
            judge_study(cheap)
        paid = len(server.requests)
        assert 0 < paid < 2 * len(study.counted) and not cheap.out.exists()
        judge_study(choice_of(study, server, max_tokens=200))
    assert len(server.requests) == 2 * len(study.counted)


def test_what_gets_no_answer_is_told_and_the_others_go_on(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    silent = study.counted[0]
    good = judge("pairs", first)
    text = silent.responses[0].text

    def answer(body):
        return completion("no") if text in body["messages"][1]["content"] else good(body)

    with serving(OpenAIServer(answer)) as server:
        judged = judge_study(choice_of(study, server))
    unanswered = {item.item for item in study.counted if any(one.text == text for one in item.responses)}
    assert {row.item for row in judged.rows} == {item.item for item in study.counted} - unanswered
    assert len(judged.failed) == 2 * len(unanswered)
    assert "no usable reply of served-model in 3 attempts" in judged.text() and "Use another model." in judged.text()
