import json
import re
import tomllib
from dataclasses import replace

import pytest

from apportion.corpus.session import Rating
from apportion.decompose.language_models import asker_of
from apportion.decompose.prompt_building.rubric import (
    EXAMPLE,
    Rubric,
    paid_by,
    read_reply,
    read_rubric,
    writing_request,
)
from apportion.decompose.session_methods.rubric import requests_for, written
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import session
from tests.llm_client.openai_server import OpenAIServer, completion, serving

GOOD = {"id": "likes_it", "sentence": "The rater <b>likes</b> it.", "sign": "+", "strength": 2}
BAD = {"id": "hates_it", "sentence": "The rater hates it.", "sign": "-", "strength": 3}
ODD = {"id": "odd", "sentence": "The target is odd.", "sign": "-"}
RUBRIC = Rubric.of({"signals": [GOOD, BAD, ODD]})


def settings(folder, server=None, file=True, **llm):
    path = folder / "rubric.toml"
    path.write_text(RUBRIC.toml())
    address = {"base_url": server.url, "max_retries": 0} if server else {}
    return DecomposeSettings(llm={"model": "m", **address, **llm}, rubric={"file": path if file else None})


def found(**turns):
    return json.dumps({"signals": [{"id": name, "turns": at} for name, at in turns.items()]})


def judged(folder, *replies, session_=None, **llm):
    """Judged by a server that says these replies one after the other, the last for ever."""
    left = list(replies)
    with serving(OpenAIServer(answer=lambda body: completion(left.pop(0) if len(left) > 1 else left[0]))) as server:
        chosen = settings(folder, server, **llm)
        with asker_of(chosen) as asker:
            table = judge_session("llm-rubric", session_ or session(), "satisfaction", None, chosen, asker)
    return table.judgements.to_pylist(), server.requests


def test_a_turn_is_worth_its_signals_and_says_which(tmp_path):
    rows, asked = judged(tmp_path, found(likes_it=[1, 5], hates_it=[5, 3, 3]))
    assert [row["raw_reward"] for row in rows] == [2.0, -3.0, -1.0] and len(asked) == 1
    assert rows[0]["rationale"] == "+2 likes_it: The rater <b>likes</b> it."
    assert [(one.id, one.value) for one in paid_by(rows[2]["rationale"])] == [("likes_it", 2.0), ("hates_it", -3.0)]
    rows, _ = judged(tmp_path, found())
    assert [(row["raw_reward"], row["rationale"]) for row in rows] == [(0.0, None)] * 3


def test_the_model_is_told_signals_and_neither_score_nor_strengths(tmp_path):
    _, (body,) = judged(tmp_path, found())
    text = "".join(message["content"] for message in body["messages"])
    assert 'id": "hates_it", "signal": "The rater hates it."' in text and "satisf" not in text and "[1, 3, 5]" in text
    chosen = settings(tmp_path)
    asked = [requests_for(session(score=score), "satisfaction", None, chosen)[0][0].key() for score in (1.0, 5.0)]
    assert asked[0] == asked[1] and "strength" not in text


def test_samples_and_parts_are_averaged(tmp_path):
    rows, _ = judged(tmp_path, found(likes_it=[1]), found(hates_it=[1]), samples=2)
    assert (rows[0]["raw_reward"], rows[0]["sd"]) == (-0.5, pytest.approx(12.5**0.5))
    said = tuple(("USER" if turn % 2 else "SYSTEM", f"word {turn} " * 40) for turn in range(24))

    def all_of_them(body):
        return completion(
            found(likes_it=json.loads(re.search(r"judge: (\[.*\])$", body["messages"][-1]["content"])[1]))
        )

    with serving(OpenAIServer(answer=all_of_them)) as server:
        chosen = settings(tmp_path, server, context_tokens=2500)
        with asker_of(chosen) as asker:
            table = judge_session("llm-rubric", session(turns=said), "satisfaction", None, chosen, asker).judgements
    assert len(server.requests) > 1 and set(table["raw_reward"].to_pylist()) == {2.0} and len(table) == 12


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("no JSON", "not one JSON object"),
        ('{"turns": []}', 'not an object of the form {"signals"'),
        ('{"signals": [{"id": "odd"}]}', 'every entry needs "id" and "turns"'),
        (found(other=[1]), 'no signal has the id "other"; they are likes_it, hates_it, odd'),
        ('{"signals": [{"id": "odd", "turns": []}, {"id": "odd", "turns": [1]}]}', "the signal odd stands twice"),
        (found(odd=[1, 2, True]), r"signal odd: \[2, true\] are no turns that were asked for"),
    ],
)
def test_a_damaged_reply_is_told_to_the_model_and_asked_again(tmp_path, reply, told):
    rows, asked = judged(tmp_path, reply, found(odd=[3]))
    assert [row["raw_reward"] for row in rows] == [0.0, -1.0, 0.0]
    assert re.search(told, asked[1]["messages"][-1]["content"])
    with pytest.raises(UnitError, match=told) as caught:
        judged(tmp_path, reply, max_reply_attempts=2)
    assert caught.value.evidence


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([{}], "a list of 2 to 40 entries"),
        ([{}, {}], "the id likes_it stands twice"),
        ([{"more": 1}, BAD], "signal 1 needs id, sentence and sign"),
        ([BAD, {"id": "No id"}], 'signal 2: id "No id"; allowed'),
        ([{"sentence": "x" * 401}, BAD], "the sentence must have 1 to 400 characters"),
        ([{"sign": "0"}, BAD], 'sign "0"; allowed are'),
        ([{"strength": 11}, BAD], "strength 11; allowed is 0 to 10"),
        ([{}, {"id": "too"}], "signals of both signs are needed"),
    ],
)
def test_a_rubric_that_is_none_is_a_mistake_of_reply_and_file(tmp_path, changes, told):
    document = {"signals": [{**GOOD, **change} for change in changes]}
    with pytest.raises(ReplyMistakeError, match=told):
        read_reply(json.dumps(document))
    if "both signs" not in told:
        with pytest.raises(ValueError, match=told):
            Rubric.of(document)
    with pytest.raises(ReplyMistakeError, match="not one JSON object"):
        read_reply("none")


def test_a_rubric_is_kept_as_toml(tmp_path):
    chosen = settings(tmp_path)
    assert read_rubric(chosen.rubric.file) == RUBRIC and len(read_rubric(EXAMPLE).signals) == 10
    chosen.rubric.file.write_text("signals = 1")
    for path, told in ((chosen.rubric.file, "a list of 2 to 40"), (tmp_path / "none", "No such file")):
        with pytest.raises(InputError, match=rf"decompose\.rubric\.file: {path}: .*{told}"):
            read_rubric(path)
    with pytest.raises(InputError, match="judges by a rubric and there is none"):
        requests_for(session(), "satisfaction", None, settings(tmp_path, file=False))


def test_a_rubric_of_any_text_is_read_again():
    rubric = Rubric.of({"signals": [{**GOOD, "sentence": 'It "asks" \x7f\\ twice.'}, BAD, ODD]})
    assert Rubric.of(tomllib.loads(rubric.toml())) == rubric


def scored(*scores):
    return [session(f"s{number}", score).episodes()[0] for number, score in enumerate(scores)]


def test_a_rubric_is_written_from_both_ends_of_the_scale():
    chosen = DecomposeSettings(llm={"model": "m"}, rubric={"dialogues": 2})
    episodes = scored(3.0, 5.0, 1.0, 4.0, 2.0, 3.0)
    episodes.append(replace(episodes[0], session_id="low", rating=Rating("USER", "SYSTEM", "s", 9, 0, 9, False)))
    text = writing_request(episodes, chosen).messages[1].content
    assert [float(one) for one in re.findall(r'"score": ([\d.]+)', text)] == [5.0, 4.0, 0.0, 1.0]
    assert '{"speaker": "target", "text": "Which city?"}' in text and "USER" not in text
    text = writing_request(scored(5.0, 1.0, 5.0, 5.0, 5.0), chosen).messages[1].content
    assert [float(one) for one in re.findall(r'"score": ([\d.]+)', text)] == [5.0, 5.0, 1.0]
    with pytest.raises(UnitError, match="scores differ, and those of 3 do not"):
        writing_request(scored(3.0, 3.0, 3.0), chosen)


def test_what_does_not_fit_is_cut_from_the_front():
    chosen = DecomposeSettings(llm={"model": "m", "context_tokens": 2700}, rubric={"dialogues": 1})
    long = session("long", 1.0, tuple(("SYSTEM", f"number {turn} " + "word " * 80) for turn in range(20))).episodes()[0]
    text = writing_request([long, *scored(5.0)], chosen).messages[1].content
    assert re.search(r'"turns_left_out_before": 1\d', text) and "number 19" in text and "number 2 " not in text
    assert "I want a table for two." in text
    with pytest.raises(UnitError, match=r"do not fit into decompose\.llm\.context_tokens"):
        writing_request([long, *scored(5.0)], DecomposeSettings(llm={"model": "m", "context_tokens": 1500}))


def test_a_rubric_that_is_cut_off_is_asked_for_again():
    replies = [completion("{", finish_reason="length"), completion(json.dumps({"signals": [GOOD, BAD]}))]
    with serving(OpenAIServer(answer=lambda body: replies.pop(0))) as server:
        chosen = DecomposeSettings(llm={"model": "m", "base_url": server.url})
        with LLMSession(chosen.llm) as asker:
            rubric = written(writing_request(scored(1.0, 5.0), chosen), chosen, asker)
    assert [one.id for one in rubric.signals] == ["likes_it", "hates_it"]
    assert "write fewer signals" in server.requests[1]["messages"][-1]["content"]
