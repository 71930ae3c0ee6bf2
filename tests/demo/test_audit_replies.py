"""The recorded replies cover the demo's audit; what it says is computed from them and from nothing else."""

import json
from pathlib import Path

from apportion.decompose.audit.perturbations import PERTURBATIONS
from apportion.decompose.audit.query import audit_cases, judge_cases
from apportion.decompose.methods import METHODS
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.session import LLMSession
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config

DEMO = Path(__file__).resolve().parents[2] / "demo"


def test_every_question_of_the_audit_about_the_chats_is_answered_as_it_was_written():
    config = load_config(DEMO / "demo.toml")
    engine = open_engine(config)
    recorded = RecordedReplies(DEMO / "llm_replies.jsonl")
    chats = [unit for unit in engine.plan.units["audit"] if not engine.sessions[unit.session_id].media]
    assert len({unit.session_id for unit in chats}) == 16
    with LLMSession(config.decompose.llm, recorded=DEMO / "llm_replies.jsonl") as asker:
        for unit in chats:
            given = (
                unit.perturbation,
                METHODS[unit.method],
                engine.sessions[unit.session_id],
                config.rating,
                None,
                config.decompose,
            )
            cases = audit_cases(*given)
            ((case, _),) = cases
            (request,) = case.requests()
            said = {entry["turn"]: entry["value"] for entry in json.loads(recorded.find(request).text)["turns"]}
            table = judge_cases(unit.perturbation, cases, asker)
            assert dict(zip(table.column("turn").to_pylist(), table.column("value").to_pylist(), strict=True)) == said


def test_the_demo_asks_about_twenty_sessions_and_its_recording_stays_small():
    units = open_engine(load_config(DEMO / "demo.toml")).plan.units["audit"]
    assert len({unit.session_id for unit in units}) == 20
    assert {unit.perturbation for unit in units} == set(PERTURBATIONS)
    assert len(units) == 20 * 8 + 4
    # Those with behaviour twice: for the face mesh, and for haar.
    assert (DEMO / "llm_replies.jsonl").stat().st_size < 350_000
