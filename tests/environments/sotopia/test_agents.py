"""Agents by name."""

from pathlib import Path

import pytest

from apportion.environments.sotopia.agents import ROSTER, asked_by, scripted
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from tests.llm_client.openai_server import OpenAIServer, serving


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
        ("talkin@1", "made of: recorded@LOG#EPISODE, policy@FOLDER, talking@STEP"),
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
            ROSTER.agents_of([str(own)], chosen, tmp_path / "c"),
        ):
            raise AssertionError


def test_nothing_is_sent_without_consent(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"<model>: .*would leave this machine for api.openai.com"),
        ROSTER.agents_of(["base"], ModelSpec("m"), tmp_path / "c", "<{}>".format),
    ):
        raise AssertionError
