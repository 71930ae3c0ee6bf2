import json

import pyarrow.parquet as pq
import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config, without_workers
from tests.behaviour.small import write_small_corpus
from tests.decompose.session_methods.test_llm import good
from tests.llm_client.openai_server import OpenAIServer, completion, serving

PROSE = "I would rather tell you a story. " * 100

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "llm"
[decompose.llm]
base_url = "{url}"
model = "m"
max_retries = 0
max_reply_attempts = 2
prompt = "mine.txt"
"""

PROMPT = """# My own.
units: score
[system]
{% include "shared/rules.txt" %}
[user]
{{ transcript }}
Turns to judge: {{ turns }}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    write_small_corpus(folder / "corpus")
    (folder / "mine.txt").write_text(PROMPT)

    first = []

    def answer(body):
        # Of the dialogue that is asked about first, stories are told.
        question = body["messages"][1]["content"]
        first.append(question)
        return completion(PROSE) if question == first[0] else good(body)

    server = OpenAIServer(answer=answer)
    with serving(server), without_workers():
        path = config(folder, TEXT.format(url=server.url))
        summary = run_locally(load_config(path), ["judge", "rewards"], quiet=True)
    return folder / "run", summary, server


def test_the_replies_of_a_session_that_was_given_up_are_in_the_quarantine(run):
    folder, summary, _ = run
    rows = pq.read_table(folder / "quarantine.parquet").to_pylist()
    assert rows
    assert len(rows) == summary.quarantined
    for row in rows:
        kept = json.loads(row["evidence"])
        assert [entry["reply"] for entry in kept] == [PROSE, PROSE]
        assert "the column `evidence` of quarantine.parquet" in row["cause"]
        assert len(row["cause"]) < 2000


def test_the_constants_and_residuals_are_published(run):
    folder, *_ = run
    (path,) = (folder / "projections").iterdir()
    assert path.name == "llm-seed0.json"
    document = json.loads(path.read_text())
    rewards = pq.read_table(folder / "rewards.parquet").to_pylist()
    assert document["rule"] == "own"
    assert {r["session_id"] for r in document["residuals"]} == {row["session_id"] for row in rewards}


def test_a_prompt_file_is_found_beside_the_configuration_and_its_place_is_not_told(run):
    folder, _, server = run
    assert server.requests[0]["messages"][1]["content"].startswith("[\n{")
    shown = json.loads((folder / "run.json").read_text())["config"]
    assert shown["decompose"]["llm"]["prompt"] == "mine.txt"
    assert str(folder.parent) not in (folder / "run.json").read_text()
