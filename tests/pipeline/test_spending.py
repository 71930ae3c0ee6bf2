"""What a run says about the money it spent, against a real server."""

import json
import re

import pytest

from pipeline.config import load_config
from pipeline.local import run_locally
from tests.chain.command import config
from tests.chain.small import write_small_corpus
from tests.llm_client.openai_server import OpenAIServer, completion, serving

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
prices = "prices.toml"
[decompose]
methods = ["llm", "llm-multimodal"]
[decompose.llm]
base_url = "{}"
model = "{}"
max_retries = 0
"""


def good(body):
    turns = json.loads(re.search(r"(?:judge|null|once): (\[[\d, ]*\])$", body["messages"][-1]["content"])[1])
    return completion(json.dumps({"turns": [{"turn": t, "value": t % 3, "evidence": None} for t in turns]}))


@pytest.fixture
def folder(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    (tmp_path / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000 }\n')
    return tmp_path


def test_a_run_sums_its_tokens_and_their_cost_and_pays_two_methods_once(folder):
    with serving(OpenAIServer(answer=good, latency_s=0.05)) as server:
        chosen = load_config(config(folder, TEXT.format(server.url, "m")))
        first = run_locally(chosen, ["rewards"], quiet=True)
        again = run_locally(chosen, ["rewards"], quiet=True)
    # Without recordings both methods ask the same, and two of the six dialogues are the same: five requests, not 12.
    assert len(server.requests) == 5
    said = first.to_json()["language_model"]
    assert said["run"]["replies"] == 5 and said["run"]["usd"] == pytest.approx(5 * 0.081)
    assert "m: 5 replies, 55 input and 35 output tokens, $0.4050; $0.4050 in all" in first.text("config.toml")
    assert "m: 0 replies, 0 input and 0 output tokens, $0.00; $0.4050 in all" in again.text("config.toml")


def test_an_unknown_cost_is_said_once(folder):
    with serving(OpenAIServer(answer=good)) as server:
        summary = run_locally(load_config(config(folder, TEXT.format(server.url, "n"))), ["rewards"], quiet=True)
    text = summary.text("config.toml")
    assert "cost unknown" in text and text.count("No price known for 'n'") == 1
