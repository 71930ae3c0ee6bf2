import json
import re

import pytest

from apportion.decompose.audit.perturbations import PERTURBATIONS
from apportion.decompose.audit.query import audit_cases, case_requests, judge_cases
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.audit.cases import SEEN, TALK
from tests.llm_client.openai_server import OpenAIServer, completion, serving

METHOD = METHODS["llm-multimodal"]


def answer(body):
    """A judge that reads nothing, and says who it was told of."""
    prompt = body["messages"][1]["content"]
    turns = json.loads(re.search(r"(\[[\d, ]*\])$", prompt)[1])
    speaker = re.search(r'"turn": 1, "speaker": "(\w+)"', prompt)[1]
    return completion(
        json.dumps({"turns": [{"turn": t, "value": t - 3.0, "evidence": f"{speaker} was kind"} for t in turns]})
    )


def judged(name, server, cache=None, **llm):
    settings = DecomposeSettings(llm={"model": "m", "base_url": server.url, "max_retries": 0, **llm})
    with LLMSession(settings.llm, cache=cache) as asker:
        return judge_cases(name, audit_cases(name, METHOD, TALK, "mood", SEEN, settings), asker)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_every_turn_is_judged_under_its_own_names(name):
    with serving(OpenAIServer(answer=answer)) as server:
        table = judged(name, server)
    assert table.column("turn").to_pylist() == [1, 3, 5]
    assert table.column("value").to_pylist() == [-2.0, 0.0, 2.0]
    assert set(table.column("target").to_pylist()) == {"ana"}
    assert set(table.column("rationale").to_pylist()) == {"ana was kind"}
    assert sum(table.column("planted").to_pylist()) == name.startswith("planted")


def test_the_same_question_is_really_asked_again(tmp_path):
    with serving(OpenAIServer(answer=answer)) as server:
        for name in ("clean", "repeat", "clean", "repeat"):
            judged(name, server, cache=tmp_path / "cache")
        assert len(server.requests) == 2
        assert server.requests[0] == server.requests[1]


def test_where_nothing_changes_nothing_is_asked():
    def asked(name, rating, descriptors):
        cases = audit_cases(name, METHOD, TALK, rating, descriptors, DecomposeSettings())
        return [turns for _, turns in case_requests(cases)]

    assert asked("descriptor-order", "mood", None) == asked("clean", "another", None) == []
    assert asked("descriptor-order", "mood", SEEN) == asked("clean", "mood", None) == [3]


def test_a_bad_reply_is_a_failure_with_the_reply_kept():
    server = OpenAIServer(answer=lambda body: completion("100 for turn 1!"))
    with serving(server), pytest.raises(UnitError, match=r"no usable reply of .* in 2 attempts.*100 for turn 1!"):
        judged("planted-order", server, max_reply_attempts=2)
