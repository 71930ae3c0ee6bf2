"""The demo's text prompts have recorded replies in its own wording and in the paper's."""

import math
from pathlib import Path

import pytest

from apportion.decompose.reply_parsing import parse_reply
from apportion.decompose.session_methods.llm import requests_for
from apportion.demo.builders.record_replies import WORDINGS
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config

DEMO = Path(__file__).resolve().parents[2] / "demo"


@pytest.mark.parametrize("wording", WORDINGS)
def test_every_text_prompt_has_a_usable_reply(wording):
    config = load_config(DEMO / "demo.toml")
    settings = config.decompose.model_copy(update={"llm": config.decompose.llm.model_copy(update={"prompt": wording})})
    engine = open_engine(config)
    recorded = RecordedReplies(DEMO / "llm_replies.jsonl")
    scores = {s.session_id: [e.score for e in s.episodes(config.rating)] for s in engine.sessions.values()}
    asked = 0
    for session in engine.sessions.values():
        for request, meta in requests_for(session, engine.config.rating, None, settings):
            answers = parse_reply(recorded.find(request).text, meta.turns, None, None)
            asked += 1
            if wording == "paper":  # The model was asked for the sum, and nothing corrected it.
                total = math.fsum(answer.value or 0.0 for answer in answers)
                assert min(abs(total - score) for score in scores[session.session_id]) < 1e-9
    assert asked == 86
