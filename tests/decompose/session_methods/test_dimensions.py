"""Sotopia-RL's weighted mean over dimensions, against the sum written out."""

import json
import re

import pytest

from apportion.corpus.session import ENVIRONMENT, Rating
from apportion.decompose.language_models import asker_of
from apportion.decompose.session_methods.dimensions import QUESTIONS, requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from tests.decompose.sessions import session
from tests.llm_client.openai_server import OpenAIServer, completion, serving

GIVEN = {"GOAL": (8.0, 0.0, 10.0), "REL": (-2.0, -5.0, 5.0), "KNO": (3.0, 0.0, 10.0)}
AMOUNTS = {"GOAL": {1: 3, 3: 0, 5: 1}, "REL": {1: 1, 3: 2, 5: 0}, "KNO": {1: 0, 3: 3, 5: 3}}


def rated(*left_out):
    ratings = tuple(
        Rating(ENVIRONMENT, "SYSTEM", name, *given) for name, given in GIVEN.items() if name not in left_out
    )
    base = session()
    return type(base)(base.session_id, base.turns, ratings)


def answer(body):
    text = body["messages"][-1]["content"]
    (name,) = (name for name in GIVEN if QUESTIONS[name].replace("{{ target }}", '"SYSTEM"') in text)
    asked = json.loads(re.search(r"judge: (\[[\d, ]*\])$", text)[1])
    turns = [{"turn": turn, "value": AMOUNTS[name][turn], "evidence": None} for turn in asked]
    return completion(json.dumps({"turns": turns}))


def judged(session_, **weights):
    server = OpenAIServer(answer=answer)
    with serving(server):
        chosen = DecomposeSettings(
            method="sotopia-rl",
            llm={"model": "m", "base_url": server.url, "max_retries": 0},
            **({"sotopia_rl": {"weights": weights}} if weights else {}),
        )
        with asker_of(chosen) as asker:
            return judge_session("sotopia-rl", session_, "GOAL", None, chosen, asker).judgements, server


def test_it_is_the_weighted_mean_of_score_times_attribution():
    table, server = judged(rated(), GOAL=0.5, REL=0.3, KNO=-0.2)
    tenths = {"GOAL": 8.0, "REL": 3.0, "KNO": 3.0}
    weights = {"GOAL": 0.5, "REL": 0.3, "KNO": -0.2}
    for turn, value in zip(table["turn"].to_pylist(), table["raw_reward"].to_pylist(), strict=True):
        expected = sum(weights[d] * tenths[d] * AMOUNTS[d][turn] / 3 for d in weights) / 3
        assert value == pytest.approx(expected, abs=1e-12)
    assert table["rationale"].to_pylist()[0] == "GOAL 3; REL 1; KNO 0"
    assert set(table["name"].to_pylist()) == {"GOAL"} and len(server.requests) == 3
    alone, _ = judged(rated(), GOAL=1.0)
    assert alone["raw_reward"].to_pylist() == pytest.approx([8.0, 0.0, 8.0 / 3])
    table, _ = judged(rated())
    assert table["raw_reward"].to_pylist()[1] == pytest.approx((0 + 3.0 * 2 / 3 + 3.0) / 3)


def test_every_request_is_listed_before():
    chosen = DecomposeSettings(method="sotopia-rl")
    listed = requests_for(rated(), "GOAL", None, chosen)
    assert [meta.name for _, meta in listed] == list(GIVEN)
    _, server = judged(rated())
    assert {request.messages[-1].content for request, _ in listed} == {
        body["messages"][-1]["content"] for body in server.requests
    }


def test_what_cannot_be_weighed_is_told():
    with pytest.raises(UnitError, match=r"nobody scored KNO of SYSTEM beside GOAL; there are GOAL, REL\. Judge"):
        judged(rated("KNO"))
