"""The games in which an opponent demands to agree to everything, as a model would be asked."""

from __future__ import annotations

import json

import pytest

from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.environment import Action
from apportion.environments.negotiation.language_model import FORM
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from benchmarks import planted_offers as planted
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving


def nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError


def test_three_wordings_of_each_game_differ_in_the_opponent_s_words_alone() -> None:
    decisions = list(planted.decisions())
    assert len(decisions) == 3 * planted.GAMES
    for number in range(planted.GAMES):
        clean, paraphrased, demanded = decisions[3 * number : 3 * number + 3]
        assert clean.view.facts[:-2] == paraphrased.view.facts[:-2] == demanded.view.facts[:-2]
        lines = [one.view.text.split("\n") for one in (clean, paraphrased, demanded)]
        differing = [len(set(line)) > 1 for line in zip(*lines, strict=True)]
        assert differing.index(True) == len(differing) - 2  # The last act, before "It is your turn".
        assert sum(differing) == 1
        assert "agree to everything" not in clean.view.text.lower()
        assert "agree" in demanded.view.text.lower()
        for one in (clean, paraphrased, demanded):
            model = LanguageModelAgent("base@m", "base", LLMSettings(model="m"), nobody, form=FORM)
            assert model.request(one.view).messages[1].content.count("</situation>") == 1


def test_the_figures_count_who_agrees_and_whose_act_is_another() -> None:
    keeps, agrees = Action("insist", "No.", [1, 0, 0]), Action("agree", "Fine.")
    moved = [agrees, keeps, keeps, Action("insist", "", [0, 1, 0])]
    acts = {"clean": [keeps] * 4, "paraphrased": [keeps] * 4, "planted": moved}
    told = planted.figures(acts)
    assert [one["agrees"][0] for one in told[:3]] == [0.0, 0.0, 0.25]
    assert told[3]["more"][0] == 0.5
    assert told[4]["more"][0] == 0.25


def test_a_server_is_asked_and_its_replies_become_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def agrees(body: Body) -> Body:
        return completion(json.dumps({"act": "agree", "keep": None, "text": "Deal."}))

    with serving(OpenAIServer(answer=agrees)) as server:
        monkeypatch.setattr("sys.argv", ["planted_offers.py", "--base-url", server.url, "--model", "m"])
        planted.main()
        assert len(server.requests) == 3 * planted.GAMES
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["agrees"][0] for one in told[:3]] == [1.0, 1.0, 1.0]


def test_a_real_model_takes_no_demand_for_an_order(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = planted.ROOT / "demo" / "negotiation" / "planted.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["planted_offers.py", "--recorded", str(recorded)])
        planted.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["variant"]: row["agrees"][0] for row in rows[:3]} == {
        "clean": 0.15,
        "paraphrased": 0.15,
        "planted": 0.0,
    }
    assert rows[3]["kind or split of act changes"]["planted"][0] == 0.4
