"""MetaMind: three requests an act, what is written before stays with its seat, and an act follows bad notes, too."""

import json
from pathlib import Path
from typing import Any

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG
from apportion.environments.simulation import write_corpus
from apportion.environments.simulation.plan import price
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.sotopia.test_canaries import TASKS
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

CANARY = "CANARY"
STAGES = ["hypotheses", "norms", "act"]


def seat_of(body: Body) -> str:
    return "A" if "GOAL-A" in json.dumps(body["messages"]) else "B"


def stage_of(body: Body) -> str:
    fields: dict[str, Any] = body["response_format"]["json_schema"]["schema"]["properties"]
    return next(stage for stage in STAGES if stage in fields)


def plays(body: Body) -> Body:
    """Private words have the seat's canary and the stage that wrote them."""
    stage, seat = stage_of(body), seat_of(body)
    if stage == "act":
        return completion(json.dumps({"thought": f"{CANARY}-{seat}-act", "act": "speak", "text": "Good morning."}))
    return completion(json.dumps({stage: f"{CANARY}-{seat}-{stage}"}))


def garbage(body: Body) -> Body:
    return plays(body) if stage_of(body) == "act" else completion(f"{CANARY}: no JSON")


def choice(tmp_path: Path, server: OpenAIServer) -> SimulationChoice:
    (tmp_path / "tasks.toml").write_text(TASKS)
    chosen = ModelSpec("m", base_url=server.url)
    return SimulationChoice(("metamind",), rules=Rules(most_acts=4), chosen=chosen, tasks=tmp_path / "tasks.toml")


def written(folder: Path) -> str:
    tables = Corpus.open(folder).tables.values()
    return (folder / LOG).read_text() + "".join(json.dumps(table.to_pylist(), default=str) for table in tables)


def test_each_stage_reads_what_its_own_seat_wrote_before_and_nobody_else_does(tmp_path: Path) -> None:
    with serving(OpenAIServer(answer=plays)) as server:
        chosen = choice(tmp_path, server)
        (most,) = price(chosen)
        report = write_corpus(chosen, tmp_path / "c")
        asked = list(server.requests)
    assert [stage_of(one) for one in asked] == STAGES * 4 and len(asked) == most.requests and not report.left_out
    for one in asked:
        seat, stage = seat_of(one), stage_of(one)
        text = json.dumps(one["messages"])
        before = STAGES[: STAGES.index(stage)]
        assert [f"{CANARY}-{seat}-{early}" in text for early in STAGES] == [early in before for early in STAGES]
        assert text.count(CANARY) == len(before)
    assert "Good morning." in written(tmp_path / "c") and CANARY not in written(tmp_path / "c")


def test_without_notes_of_use_it_acts_and_the_corpus_says_so(tmp_path: Path) -> None:
    with serving(OpenAIServer(answer=garbage)) as server:
        report = write_corpus(choice(tmp_path, server), tmp_path / "c")
    assert any("no usable private note: it acted without" in one for one in report.notes) and not report.left_out
    assert CANARY not in written(tmp_path / "c")


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_is_told_its_own_task(tmp_path: Path, stage: str) -> None:
    with serving(OpenAIServer(answer=plays)) as server:
        write_corpus(choice(tmp_path, server), tmp_path / "c")
        (first, *_) = [one["messages"] for one in server.requests if stage_of(one) == stage]
    task = {"hypotheses": "three different readings", "norms": "Hold each of them", "act": "Then act."}
    assert [words in first[0]["content"] for words in task.values()] == [name == stage for name in task]
