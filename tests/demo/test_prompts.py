"""The prompts of the demo's text-only judgements, which are rendered as often as they are asked."""

from pathlib import Path

from apportion.decompose.prompt_building.prompt import Prompt
from apportion.decompose.session_methods.llm import requests_for
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.shards import open_engine

DEMO = Path(__file__).resolve().parents[2] / "demo"


def test_each_of_the_demo_s_prompts_is_rendered_once(monkeypatch):
    config = load_config(DEMO / "demo.toml")
    engine = open_engine(config)
    rendered = []
    render = Prompt.messages
    monkeypatch.setattr(Prompt, "messages", lambda self, *given: rendered.append(given) or render(self, *given))
    requests = [
        request
        for session in engine.sessions.values()
        for request, _ in requests_for(session, engine.config.rating, None, config.decompose)
    ]
    assert len(rendered) == len(requests) > 40
