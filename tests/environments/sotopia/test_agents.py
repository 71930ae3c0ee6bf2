"""Agents by name."""

from pathlib import Path

import pytest

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.sotopia.agents import AGENTS, agents_of, asked_by, scripted
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from tests.llm_client.openai_server import OpenAIServer, serving

NAMES = [name for name in AGENTS.names() if not hasattr(AGENTS.find(name), "of")]


def test_each_name_has_an_agent_that_is_called_so(tmp_path: Path) -> None:
    with agents_of(NAMES, ModelSpec(), tmp_path / "cache.sqlite") as agents:
        assert all(agent.called == name and not agent.paid for name, agent in agents.items())
    assert not (tmp_path / "cache.sqlite").exists()


def test_language_models_are_called_by_prompt_and_model(tmp_path: Path) -> None:
    with serving(OpenAIServer()) as server:
        chosen = ModelSpec("small", base_url=server.url)
        with agents_of(["base", "react@large", "conceding"], chosen, tmp_path / "cache.sqlite") as agents:
            assert [agent.called for agent in agents.values()] == ["base@small", "react@large", "conceding"]
            large = agents["react@large"]
            assert isinstance(large, LanguageModelAgent) and large.paid and large.settings.temperature == 1.0


def test_an_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"'concedin'; did you mean 'conceding'.*Language models: base, react, refine"),
        agents_of(["concedin"], ModelSpec(), tmp_path / "c"),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("base", "agent 'base': no language model is chosen: give <model>, or write base@MODEL"),
        ("base@", "no model behind the @"),
    ],
)
def test_a_language_model_needs_a_model(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_by(name, ModelSpec(), "<{}>".format)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recorded", "agent 'recorded' needs what it is made of behind an @"),
        ("recorded@nowhere.jsonl", "'nowhere.jsonl' is no file"),
        ("random@1", "'random' takes nothing behind an @; write random"),
        ("rando@1", "no agent 'rando'; did you mean 'random'"),
        ("talkin@1", "made of: recorded@LOG#EPISODE, talking@STEP"),
    ],
)
def test_what_an_agent_is_made_of_stands_behind_an_at(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        scripted(name)


def test_a_prompt_that_cannot_be_used_is_told_before_anybody_plays(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("revises: refine\n[system]\nPlay.\n[user]\n{{ situation }} {{ legal }} {{ draft }}\n")
    with serving(OpenAIServer()) as server:
        chosen = ModelSpec("small", base_url=server.url)
        with (
            pytest.raises(InputError, match=r"own.txt: revises 'refine', which revises a draft itself"),
            agents_of([str(own)], chosen, tmp_path / "c"),
        ):
            raise AssertionError


def test_nothing_is_sent_without_consent(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"<model>: .*would leave this machine for api.openai.com"),
        agents_of(["base"], ModelSpec("m"), tmp_path / "c", "<{}>".format),
    ):
        raise AssertionError
