import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import good

TEXT = """corpus = "corpus"
output = "run"
seeds = [0, 1]
[run]
workers = 1
[decompose]
method = "mix"
compare = ["llm", "sentiment", "reaction", "reaction-llm"]
[decompose.llm]
base_url = "{}"
model = "m"
[decompose.stack_two]
weight = 0.5
"""


@pytest.fixture(scope="module")
def rewarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blending")
    write_small_corpus(folder / "corpus", sessions=8)
    with serving(OpenAIServer(good)) as server, pytest.MonkeyPatch.context() as patch:
        done = in_process(patch, "run", "--only", "decompose", config(folder, TEXT.format(server.url)))
        asked = len(server.requests)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run", pq.read_table(folder / "run" / "rewards.parquet").to_pylist(), asked


def turns(rows, method, seed):
    found = {}
    for row in rows:
        if (row["method"], row["seed"]) == (method, seed):
            found.setdefault(row["session_id"], []).append(row)
    return found


def test_nothing_is_asked_twice_and_every_session_is_blended(rewarded):
    _, rows, asked = rewarded
    assert 0 < asked <= 8  # of two dialogues that are alike, one may be answered from the cache
    assert all(len(turns(rows, method, seed)) == 8 for method in ("reaction-llm", "mix") for seed in (0, 1))


def test_the_blend_is_made_of_both_and_sums_to_the_score(rewarded):
    folder, rows, _ = rewarded
    llm, ours, mixed = (turns(rows, method, 0) for method in ("llm", "reaction", "reaction-llm"))

    def z(found):
        known = np.array([np.nan if row["raw_reward"] is None else row["raw_reward"] for row in found])
        spread = np.nanstd(known)
        return np.nan_to_num((known - np.nanmean(known)) / spread) if spread > 1e-9 else np.zeros(len(known))

    for name, found in mixed.items():
        expected = (z(llm[name]) + z(ours[name])) / 2
        assert [row["raw_reward"] for row in found] == pytest.approx(expected.tolist())
        assert sum(row["reward"] for row in found) == pytest.approx(sum(row["reward"] for row in llm[name]))
    kept = json.loads((folder / "projections" / "reaction-llm-seed0.json").read_text())
    assert kept["rule"] == "spread"
    history = pq.read_table(folder / "histories.parquet").to_pylist()
    assert {
        row["value"] for row in history if row["metric"] == "weight of llm" and row["method"] == "reaction-llm"
    } == {0.5}


def test_what_each_source_weighs_stands_in_the_run_folder(rewarded):
    folder, _, _ = rewarded
    told = pq.read_table(folder / "sources.parquet").to_pylist()
    assert [row["source"] for row in told if (row["method"], row["seed"]) == ("mix", 1)] == [
        "reaction", "reactions-en", "llm-student", "people-student", "llm", "sentiment"
    ]  # fmt: skip
    assert {row["reason"] for row in told if row["method"] == "reaction-llm"} == {"set in the configuration"}
    assert json.loads((folder / "run.json").read_text())["sources"] == told
    assert all(row["reason"] and row["weight"] >= 0 for row in told)
