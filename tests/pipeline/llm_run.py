"""A small text-only run whose labels are asked of a server in the tests."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import Body, completion

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
prices = "prices.toml"
[decompose]
method = "llm-multimodal"
compare = ["llm"]
[decompose.llm]
base_url = "{}"
model = "{}"
max_retries = 0
max_tokens = 100
"""


def write_run(folder: Path) -> Path:
    write_small_corpus(folder / "corpus", sessions=6)
    (folder / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000, batch = 0.5 }\n')
    return folder


def good(body: Body) -> Body:
    """A usable answer to the prompt `default`."""
    found = re.search(r"(?:judge|null|once): (\[[\d, ]*\])$", body["messages"][-1]["content"])
    assert found is not None
    turns = json.loads(found[1])
    return completion(json.dumps({"turns": [{"turn": t, "value": t % 3, "evidence": None} for t in turns]}))
