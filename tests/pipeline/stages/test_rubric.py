"""`llm-rubric` from the command line: the rubric is written once, from training sessions alone, and judged by."""

import json
import re
import tomllib
from collections import defaultdict
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS
from apportion.corpus.splits.splits import split
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.stages.rubric import rubric_request
from tests.behaviour.command import config, in_process, read
from tests.behaviour.test_no_leak import write_demo
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.llm_run import TEXT, write_run

METHOD = TEXT.replace('"llm-multimodal"\ncompare = ["llm"]', '"llm-rubric"')
REPLIES = Path(__file__).with_name("rubric_replies.jsonl")
"""Real replies about the demo's first eight chats: the rubric, and what occurs where by it."""
RECORDED = f"""corpus = "corpus"
output = "run"
[run]
recorded = "{REPLIES}"
[decompose]
method = "llm-rubric"
[decompose.rubric]
dialogues = 2
[decompose.llm]
provider = "recorded"
model = "claude"
"""
SIGNALS = [
    {"id": "thanked", "sentence": "The rater thanks the target.", "sign": "+", "strength": 2},
    {"id": "scolded", "sentence": "The rater scolds the target.", "sign": "-", "strength": 1},
]


def answer(body):
    """A rubric, or where its signals occur: the first at the first turn, the second at the others."""
    text = body["messages"][-1]["content"]
    if "<conversations>" in text:
        return completion(json.dumps({"signals": SIGNALS}))
    first, *others = json.loads(re.search(r"judge: (\[.*\])$", text)[1])
    found = [{"id": "thanked", "turns": [first]}, {"id": "scolded", "turns": others}]
    return completion(json.dumps({"signals": found}))


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path)


@pytest.fixture
def decompose(monkeypatch):
    return partial(in_process, monkeypatch, "run", "--only", "decompose")


def raw(folder):
    rows = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    return [row["raw_reward"] for row in rows if row["session_id"] == "s00"]


# Of the six sessions of `write_run` two say the same: five are asked about, and the rubric.
def test_a_rubric_is_written_once_shown_and_given_back(folder, decompose):
    with serving(OpenAIServer(answer=answer)) as server:
        path = config(folder, METHOD.format(server.url, "m"))
        assert read(decompose(path, "--dry-run", "--json"))["language_model"]["remaining"] == 6
        shown = decompose(path, "--preview", "9").stdout
        assert "<conversations>" in shown and "<signals>" not in shown and "run --only rubric` first" in shown
        done = decompose(path, "--record", folder / "r.jsonl")
        assert (done.returncode, len(server.requests)) == (0, 6), done.stderr
        assert raw(folder) == [2.0, -1.0, -1.0]
        # A person's other strengths are another rubric, and no other question.
        mine = folder / "mine.toml"
        mine.write_text((folder / "run" / "rubric.toml").read_text().replace("strength = 1", "strength = 5"))
        own = config(folder, f'{METHOD.format(server.url, "m")}[decompose.rubric]\nfile = "mine.toml"\n')
        done = decompose(own)
        assert (done.returncode, len(server.requests)) == (0, 6), done.stderr
        assert raw(folder) == [2.0, -5.0, -5.0]
    text = METHOD.format(server.url, "m").replace("[run]", f'[run]\nrecorded = "{folder / "r.jsonl"}"')
    path = config(folder, text.replace("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"'))
    assert decompose(path).returncode == 0 and raw(folder) == [2.0, -1.0, -1.0]


def test_a_rubric_is_asked_for_at_once_and_what_goes_by_it_in_a_batch(folder, decompose):
    with serving(BatchServer(answer=answer)) as server:
        path = config(folder, METHOD.format(server.url, "m"))
        assert "5 requests handed in" in decompose(path, "--batch").stdout and len(server.requests) == 1
        while decompose(path, "--batch").returncode == 3:
            pass
        assert (len(server.requests), len(server.worked)) == (1, 5) and raw(folder) == [2.0, -1.0, -1.0]


def test_without_a_usable_rubric_nothing_is_judged_by_it(folder, decompose):
    with serving(OpenAIServer(answer=lambda body: completion("none"))) as server:
        done = decompose(config(folder, METHOD.format(server.url, "m")))
    # The third question says the same as the second and is a request of its own.
    assert len(server.requests) == 3 and done.returncode == 1
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    (failed,) = (row for row in rows if row["stage"] == "rubric")
    assert "not one JSON object" in failed["cause"] and failed["evidence"]


def test_real_replies_give_the_rubric_they_say_and_rewards_that_sum_to_the_score_less_the_training_mean(
    tmp_path, decompose
):
    write_demo(tmp_path / "corpus", 8)
    done = decompose(config(tmp_path, RECORDED))
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    said = json.loads(json.loads(REPLIES.read_text().splitlines()[1])["reply"])
    assert tomllib.loads((run / "rubric.toml").read_text()) == said

    sums = defaultdict(float)
    for row in pq.read_table(run / "rewards.parquet").to_pylist():
        assert row["raw_reward"] is not None, row
        sums[row["session_id"]] += row["reward"]
    corpus = Corpus.open(tmp_path / "corpus")
    scores = {row["session_id"]: row["score"] for row in corpus.ratings.to_pylist()}
    splits = pq.read_table(run / "splits.parquet").to_pylist()
    training = [scores[row["session_id"]] for row in splits if row["split"] == "train"]
    mean = sum(training) / len(training)
    assert len(sums) == 8 and sums == pytest.approx({name: score - mean for name, score in scores.items()})


def test_no_score_of_a_test_session_reaches_the_rubric(folder):
    path = config(folder, METHOD.format("http://localhost:1/v1", "m"))
    chosen = load_config(path)
    corpus = Corpus.open(folder / "corpus")
    homes = {row["session_id"]: row["split"] for row in split(corpus, chosen.split).to_pylist()}

    def asked(*changed):
        """The request's key where the sessions of these splits have other scores."""
        rows = corpus.tables["ratings"].to_pylist()
        rows = [{**row, "score": 6.0 - row["score"]} if homes[row["session_id"]] in changed else row for row in rows]
        ratings = pa.Table.from_pylist(rows, schema=RATINGS.arrow)
        Corpus.of(folder / "corpus", {**corpus.tables, "ratings": ratings}).write(folder / "corpus")
        return rubric_request(open_engine(chosen)).key()

    assert set(homes.values()) >= {"train", "test", "validation"}
    assert asked() == asked("test", "validation", "policy") != asked("train")
