"""Agents by name."""

from pathlib import Path

import pytest

from environments.agents.language_model import LanguageModelAgent
from environments.sotopia.agents import AGENTS, agents_of, asked_by
from foundation.errors import InputError
from llm_client.chosen import ChosenModel
from tests.llm_client.openai_server import OpenAIServer, serving


def test_each_name_has_an_agent_that_is_called_so(tmp_path: Path) -> None:
    with agents_of(AGENTS.names(), ChosenModel(), tmp_path / "cache.sqlite") as agents:
        assert all(agent.called == name and not agent.paid for name, agent in agents.items())
    assert not (tmp_path / "cache.sqlite").exists()


def test_language_models_are_called_by_prompt_and_model(tmp_path: Path) -> None:
    with serving(OpenAIServer()) as server:
        chosen = ChosenModel("small", base_url=server.url)
        with agents_of(["base", "react@large", "conceding"], chosen, tmp_path / "cache.sqlite") as agents:
            assert [agent.called for agent in agents.values()] == ["base@small", "react@large", "conceding"]
            large = agents["react@large"]
            assert isinstance(large, LanguageModelAgent) and large.paid and large.settings.temperature == 1.0


def test_an_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"no agent 'concedin'; did you mean 'conceding'.*Language models: base, react"),
        agents_of(["concedin"], ChosenModel(), tmp_path / "c"),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    ("name", "message"),
    [("base", "a language model, and none is chosen: give <model>"), ("base@", "no model behind the @")],
)
def test_a_language_model_needs_a_model(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_by(name, ChosenModel(), "<{}>".format)


def test_nothing_is_sent_without_consent(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"<model>: .*would leave this machine for api.openai.com"),
        agents_of(["base"], ChosenModel("m"), tmp_path / "c", "<{}>".format),
    ):
        raise AssertionError
