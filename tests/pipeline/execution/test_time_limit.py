from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Rating, Session, Turn
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.plan import Plan
from apportion.pipeline.execution.time_limit import asked_time_s, grace_s
from apportion.pipeline.stages.registry import STAGES
from tests.pipeline.stages.planned import BY_NAME


def session(name, text="hello"):
    turns = (Turn(0, "user", "hi"), Turn(1, "bot", text), Turn(2, "user", "bye"))
    return Session(name, turns, (Rating("user", "bot", "mood", 3.0, 1.0, 5.0),), ())


class FakeEngine:
    def __init__(self, sessions=12, text="hello", run=None, audit=0, **llm):
        decompose = {"method": "llm", "compare": ("uniform",), "llm": llm, "audit": {"sessions": audit}}
        self.config = Config.model_validate({"corpus": "c", "rating": "mood", "decompose": decompose, "run": run or {}})
        self.sessions = {f"s{n}": session(f"s{n}", text) for n in range(sessions)}
        self.plan = Plan(STAGES, self.config, self.sessions)
        self.corpus = SimpleNamespace(root=Path("c"))

    at_once = Engine.at_once


def limit_s(stage="judge", **settings):
    return asked_time_s(FakeEngine(**settings), BY_NAME[stage])


def test_it_is_the_time_of_all_requests_each_as_slow_as_it_may_be():
    # 12 sessions, 3 attempts: 36 requests, 4 at once, and of a session's 3 the last may begin last.
    assert limit_s(concurrency=4, timeout_s=10, total_timeout_s=5) == 5 + (36 / 4 + 3) * 10
    assert limit_s(concurrency=4, timeout_s=10, total_timeout_s=5, samples=2) == 5 + (72 / 4 + 6) * 10


def test_limits_a_minute_make_it_longer():
    assert limit_s(timeout_s=1, total_timeout_s=5, requests_per_minute=2) == 5 + 60 * 36 / 2
    assert limit_s(timeout_s=1, total_timeout_s=5, tokens_per_minute=1000, context_tokens=5000) == 5 + 60 * 36 * 5


def test_the_audit_shares_the_limits_so_that_its_requests_count_too():
    assert limit_s(audit=3) == limit_s(audit=3, stage="audit") > limit_s()


def test_a_long_dialogue_counts_its_parts():
    assert limit_s(text="word " * 10_000, context_tokens=4096) > 5 * limit_s(context_tokens=4096)


def test_work_that_computes_has_none():
    assert limit_s(stage="embed") is None
    assert limit_s(stage="audit") is None


def test_a_setting_goes_before_it():
    engine = FakeEngine(run={"llm_shard_timeout_s": 60}, timeout_s=10, total_timeout_s=5)
    assert asked_time_s(engine, BY_NAME["judge"]) == 60


def test_an_orchestrator_waits_until_what_has_begun_has_come_to_its_end():
    waits = {"timeout_s": 10, "total_timeout_s": 5}
    assert grace_s(FakeEngine(max_retries=0, **waits)) == 5 + 3 * 10
    # Each of 3 requests may be without an answer twice before the last of its tries.
    assert grace_s(FakeEngine(max_retries=2, **waits)) == 5 + 9 * 10
    # Four units of 9 tries each go out at 6 a minute.
    assert grace_s(FakeEngine(max_retries=2, concurrency=4, requests_per_minute=6, **waits)) == 5 + 9 * 10 + 360


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=40),
    st.integers(1, 8),
)
def test_no_order_of_requests_takes_longer_than_the_limit_of_those_that_end_in_time(sessions, at_once):
    """Sessions whose requests follow each other, dealt to whoever is free first; a request takes at most 1 s."""
    free = [0.0] * at_once
    for requests in sessions:
        free.sort()
        free[0] += sum(requests)
    assert max(free) <= limit_s(sessions=len(sessions), concurrency=at_once, timeout_s=1, total_timeout_s=1) - 1


@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_a_setting_that_is_no_time_is_refused(seconds):
    with pytest.raises(ValueError, match="llm_shard_timeout_s"):
        FakeEngine(run={"llm_shard_timeout_s": seconds})
