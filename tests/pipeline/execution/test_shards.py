import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine, Outcome
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.execution.shards import (
    RAISE_IN_CONFIG,
    BatchPendingError,
    _split,
    list_shards,
    run_shard,
    stop_text,
    time_limit_s,
)
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.execution.test_time_limit import FakeEngine
from tests.pipeline.llm_run import good
from tests.pipeline.stages.planned import BY_NAME, plan


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1024])
def test_shards_hold_every_unit_once_and_are_no_more_than_asked_for(shards):
    p = plan(("uniform", "llm", "llm-multimodal"))

    class FakeEngine:
        plan = p
        config = Config.model_validate(
            {"corpus": "c", "decompose": {"method": "llm-multimodal", "compare": ("uniform", "llm")}}
        )
        sessions = dict.fromkeys("ab")
        corpus = SimpleNamespace(root=Path("c"))
        at_once = Engine.at_once

    parts = _split(FakeEngine(), BY_NAME["judge"], shards)
    assert len(parts) <= shards
    assert all(parts)
    assert sorted(unit for part in parts for unit in part) == sorted(p.units["judge"])


@pytest.mark.parametrize("shards", [0, 1025])
def test_too_few_or_too_many_shards(shards):
    with pytest.raises(InputError, match="allowed are 1 to 1024"):
        _split(None, BY_NAME["judge"], shards)


def test_an_unknown_stage_or_corpus(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('corpus = "none"')
    with pytest.raises(InputError, match="no such corpus folder"):
        list_shards(str(path), "judge", 2)


@given(
    st.integers(1, 40), st.integers(1, 8), st.integers(1, 8), st.integers(1, 12), st.sampled_from(["judge", "audit"])
)
def test_questions_are_split_by_session_into_no_more_shards_than_may_ask_at_once(
    sessions, shards, asking, concurrency, stage
):
    engine = FakeEngine(sessions, audit=5, concurrency=concurrency)
    parts = _split(engine, BY_NAME[stage], shards, asking)
    assert sorted(unit for part in parts for unit in part) == sorted(engine.plan.units[stage])
    assert all(parts) and len(parts) <= shards
    asked = [part for part in parts if any(unit.method == "llm" for unit in part)]
    assert len(asked) <= min(asking, concurrency, shards)
    homes = {}
    for number, part in enumerate(asked):
        for unit in part:
            if unit.method == "llm":
                assert homes.setdefault(unit.session_id, number) == number
    counts = [len({unit.session_id for unit in part if unit.method == "llm"}) for part in asked]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("concurrency", [1, 5])
def test_the_local_runner_asks_by_one_client_a_stage(concurrency):
    parts = _split(FakeEngine(6, concurrency=concurrency), BY_NAME["judge"], 8)
    assert sum(any(unit.method == "llm" for unit in part) for part in parts) == 1


TEXT = """corpus = "corpus"
output = "run"
[run]
llm_shard_count = 2
llm_shard_timeout_s = {}
[decompose]
method = "llm"
[decompose.llm]
base_url = "{}"
model = "m"
concurrency = {}
total_timeout_s = 5
timeout_s = 10
"""


def test_a_shard_that_takes_too_long_ends_between_two_sessions_and_the_next_attempt_goes_on(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=4, exchanges=8)
    server = OpenAIServer(answer=good, latency_s=0.3)
    with serving(server):
        path = str(config(tmp_path, TEXT.format(0.1, server.url, 2)))
        assert list_shards(path, "judge", 16) == [0, 1]
        path = str(config(tmp_path, TEXT.format(0.1, server.url, 1)))
        assert list_shards(path, "judge", 16) == [0]
        # The setting, and what a session that has begun takes at most: 3 requests, each with 5 further tries.
        assert time_limit_s(path, "judge") == pytest.approx(0.1 + 5 + 3 * 6 * 10)
        assert time_limit_s(path, "embed") is None
        for left in (3, 2, 1):
            told = rf"^0.1 s have passed \(.*\); the next attempt goes on. Every reply .* {left} of 4 units"
            with pytest.raises(BatchPendingError, match=told) as stopped:
                run_shard(path, "judge", 0, 16)
            assert stopped.value.same_again
        assert run_shard(path, "judge", 0, 16) == {"done": 1, "reused": 3, "quarantined": 0}
    assert len({json.dumps(body) for body in server.requests}) == len(server.requests) == 4


def test_a_shard_tells_which_sessions_failed_and_why(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=2)
    with serving(OpenAIServer(answer=lambda body: completion("no turns"))) as server:
        counts = run_shard(str(config(tmp_path, TEXT.format(60, server.url, 1))), "judge", 0, 1)
    assert counts["quarantined"] == 2 and {session for session, _ in counts["causes"]} == {"s00", "s01"}
    assert all("reply" in cause for _, cause in counts["causes"])


def test_what_somebody_has_to_raise_is_told_before_what_goes_on_by_itself():
    late = Outcome("judge", Unit("a", "llm"), "stopped", "late.", same_again=True)
    spent = Outcome("judge", Unit("b", "llm"), "stopped", "no money left.")
    told = stop_text([late, spent], RAISE_IN_CONFIG)
    assert told.startswith("no money left. 2 of 2 units") and told.endswith(RAISE_IN_CONFIG)
    assert stop_text([late]).startswith("late. 1 of 1 units") and "budget" not in stop_text([late])
