"""A small text-only run whose labels are asked of a server in the tests."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from apportion.cli import main
from pipeline import shards
from tests.chain.small import write_small_corpus
from tests.llm_client.openai_server import Body, completion

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


@contextmanager
def _threads(*arguments: Any) -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def in_process(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> CompletedProcess[str]:
    """`apportion ARGUMENTS` without a process of its own, which costs seconds; nothing is left of an earlier run."""
    monkeypatch.setattr("pipeline.runner._process_pool", _threads)
    shards._engine.cache_clear()
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    return CompletedProcess(["apportion"], code, out.getvalue(), err.getvalue())
