import json
from dataclasses import replace
from importlib.metadata import EntryPoint

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.decompose import DecomposeSettings, methods
from apportion.decompose.method import Section
from apportion.decompose.settings_key import settings_identity
from apportion.foundation.errors import InputError
from apportion.pipeline.config import load_config
from tests.behaviour.command import config
from tests.behaviour.packaged_method import KINDNESS
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.llm_run import TEXT, write_run

OURS = TEXT.replace('"llm-multimodal"\ncompare = ["llm"]', '"kindness"')
SETTINGS = KINDNESS.section.settings
TURNS = 18
"""Six sessions with three turns of the target each."""


def kind(body):
    return completion("8" if "booked" in body["messages"][0]["content"] else "3")


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    point = EntryPoint("kindness", "tests.behaviour.packaged_method:KINDNESS", methods.ENTRY_POINTS)
    monkeypatch.setattr(methods, "_entry_points", lambda: {"kindness": point})


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path)


def requests_in(path):
    """Distinct questions: equal utterances are asked about once."""
    rows = Corpus.open(load_config(path).corpus).utterances.to_pylist()
    return {row["text"] for row in rows if row["speaker"] == "bot"}


def test_its_requests_are_counted_and_priced(folder, decompose):
    path = config(folder, OURS.format("http://localhost:1/v1", "m"))
    priced = decompose(path, "--dry-run", "--json")
    assert priced.returncode == 0, priced.stderr
    document = json.loads(priced.stdout)["language_model"]
    assert document["requests"] == document["remaining"] == len(requests_in(path))
    assert document["usd"] > 0


def test_its_requests_are_shown_word_for_word(folder, decompose):
    path = config(folder, OURS.format("http://localhost:1/v1", "m") + "[decompose.kindness]\nhighest = 5\n")
    shown = decompose(path, "--preview", "1")
    assert shown.returncode == 0, shown.stderr
    assert f"{len(requests_in(path))} first requests to http://localhost:1/v1/chat/completions" in shown.stdout
    assert "How kind is this, from 0 to 5? Answer as JSON. " in shown.stdout


def test_its_requests_go_through_the_batch_api(folder, decompose):
    with serving(BatchServer(answer=kind, rounds=1)) as server:
        path = config(folder, OURS.format(server.url, "m"))
        first = decompose(path, "--batch")
        assert first.returncode == 3, first.stderr
        assert f"{len(requests_in(path))} requests handed in" in first.stdout
        done = decompose(path, "--batch")
        assert done.returncode == 0, done.stderr
    assert server.requests == [] and len(server.worked) == len(requests_in(path))
    assert set(pq.read_table(folder / "run" / "rewards.parquet")["raw_reward"].to_pylist()) == {3.0, 8.0}


def test_it_judges_many_sessions_at_once_and_is_asked_again_after_a_mistake(folder, decompose):
    def unsure(body):
        return kind(body) if len(body["messages"]) > 1 else completion("very")

    with serving(OpenAIServer(answer=unsure)) as server:
        path = config(folder, OURS.format(server.url, "m"))
        done = decompose(path)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2 * len(requests_in(path))
        assert "cannot be used: the reply is not one JSON object" in server.requests[-1]["messages"][-1]["content"]
    assert pq.read_table(folder / "run" / "rewards.parquet").num_rows == TURNS


def test_another_model_and_its_own_settings_are_other_work_and_our_methods_settings_are_not():
    default = settings_identity(KINDNESS, DecomposeSettings())
    assert settings_identity(KINDNESS, DecomposeSettings(llm={"model": "x"})) != default
    assert settings_identity(KINDNESS, DecomposeSettings(kindness={"highest": 5})) != default
    assert settings_identity(KINDNESS, DecomposeSettings(llm={"timeout_s": 5}, rrd={"k": 3})) == default


def test_its_section_is_read_with_the_errors_of_ours(folder):
    text = OURS.format("http://localhost:1/v1", "m")
    assert load_config(config(folder, text + "[decompose.kindness]\nhighest = 5\n")).decompose.kindness.highest == 5
    for section, problem in (
        ("[decompose.kindness]\nhigest = 5", r"decompose\.kindness\.higest: unknown key; did you mean 'highest'\?"),
        ("[decompose.kindness]\nhighest = 0", r"decompose\.kindness\.highest = 0: Input should be greater"),
        ("[decompose.kindnes]\nhighest = 5", r"decompose\.kindnes: unknown key; did you mean 'kindness'\?"),
        ("[decompose.rrd]\nk = 0\n[decompose.nobody]\nx = 1", r"rrd\.k = 0: (?s:.*)decompose\.nobody: unknown key"),
    ):
        with pytest.raises(InputError, match=problem):
            load_config(config(folder, f"{text}{section}\n"))


def test_the_audit_asks_by_it(folder, apportion):
    with serving(OpenAIServer(answer=kind)) as server:
        path = config(folder, OURS.format(server.url, "m"))
        done = apportion("run", "--only", "audit", path, "--sessions", "2")
        assert done.returncode == 0, done.stderr
        assert all("How kind is this" in body["messages"][0]["content"] for body in server.requests)
    judged = pq.read_table(folder / "run" / "audit.parquet").to_pylist()
    assert {"clean", "repeat", "planted-order"} <= {row["perturbation"] for row in judged}


@pytest.mark.parametrize(
    ("section", "settings"), [("rrd", SETTINGS), ("compare", SETTINGS), ("nothing", None), ("audit", None)]
)
def test_a_section_that_is_not_declared_as_it_must_be_is_told(section, settings):
    with pytest.raises(InputError, match=rf"method 'kindness': section '{section}' .*must be corrected"):
        DecomposeSettings().section_of(replace(KINDNESS, section=Section(section, settings=settings)))


def test_settings_that_are_no_class_of_settings_are_told():
    wrong = replace(KINDNESS, section=Section("kindness", settings="tests.behaviour.packaged_method:judge"))
    with pytest.raises(InputError, match=r"no class of settings .*, so that decompose\.kindness cannot be read"):
        DecomposeSettings().section_of(wrong)
