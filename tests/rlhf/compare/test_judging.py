"""Judging from Python, without a command: what is asked, what comes of it, and what errors call things."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import apportion.rlhf.compare
from apportion.corpus.schema import RESPONSES
from apportion.foundation.errors import InputError
from apportion.rlhf.compare import JudgeSettings, Judging, LanguageModelJudge, read_pairs
from apportion.rlhf.compare.responses import write_rows
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    rows = [
        {"session_id": f"s{n}", "turn": 1, "context": "user: Hello.", "policy": policy, "response": text, "seed": 0}
        for n in range(3)
        for policy, text in (("new", f"good {n}"), ("old", f"bad {n}"))
    ]
    write_rows(pa.Table.from_pylist(rows, schema=RESPONSES.arrow), tmp_path / "r.jsonl", RESPONSES)
    return tmp_path / "r.jsonl"


def prefers_good(body: Body) -> Body:
    text = body["messages"][-1]["content"]
    better = "first" if text.index("good") < text.index("bad") else "second"
    return completion(json.dumps({"reason": "it is good", "better": better}))


def test_a_language_model_judges_and_tells_how_far_it_is(responses):
    heard: list[tuple[int, int]] = []
    with serving(OpenAIServer(answer=prefers_good)) as server:
        pairs = read_pairs(responses)
        asked = LanguageModelJudge.of(pairs, responses, JudgeSettings("judge-1", base_url=server.url))
        assert "6 requests, 0 answered already, 6 to ask" in asked.estimate()
        assert (asked.preview(2).in_all, len(asked.preview(2).requests)) == (6, 2)
        judging = Judging(pairs, bootstrap=100)
        judging.by_language_model(asked, lambda done, total, place: heard.append((done, total)))
    (rate,) = judging.win_rates().rates
    assert (rate.judge, rate.left, rate.wins, judging.failed) == ("judge-1", "new", 3, [])
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [row["better"] for row in judging.verdict_rows()] == ["left"] * 3
    assert asked.cache == responses.with_name("r.judge.sqlite") and asked.cache.exists()


def test_errors_call_things_as_the_caller_does(responses):
    pairs = read_pairs(responses)
    settings = JudgeSettings("judge-1", budget=-1.0)
    with pytest.raises(InputError, match=r"^budget -1\.0: give a number"):
        LanguageModelJudge.of(pairs, responses, settings)
    with pytest.raises(InputError, match=r"^<budget> -1\.0: give a number"):
        LanguageModelJudge.of(pairs, responses, settings, "<{}>".format)
    with pytest.raises(InputError, match=r"^base_url = 'nowhere': "):
        LanguageModelJudge.of(pairs, responses, JudgeSettings("judge-1", base_url="nowhere"))
    gone = JudgeSettings(recorded=responses.with_name("gone.jsonl"))
    with pytest.raises(InputError, match=r"^model: the recorded replies .* cannot be read"):
        LanguageModelJudge.of(pairs, responses, gone).estimate()


def test_the_names_for_others_are_there():
    assert all(getattr(apportion.rlhf.compare, name) is not None for name in apportion.rlhf.compare.__all__)
