"""The Batch API and kill -9: nothing is lost, nothing paid twice."""

import os
import signal
import subprocess
import sys

import pytest

from tests.llm_client.batch_server import BatchServer
from tests.llm_client.batching import ROOT, USD_A_REPLY, advance, kept, requests, texts, usage
from tests.llm_client.openai_server import serving

KILLED = """
import os, signal, sys
from pathlib import Path
import llm_client.batch as batch
import llm_client.batch_book as book
import llm_client.batch_service as service
from tests.llm_client.batching import requests
from llm_client.settings import LLMSettings

url, folder, step, when = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
part = service.BatchService if hasattr(service.BatchService, step) else book.BatchBook
carried_out = getattr(part, step)

def deadly(*arguments, **options):
    if when == "after":
        carried_out(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(part, step, deadly)
settings = LLMSettings(base_url=url, model="m", max_tokens=10, max_retries=0)
with batch.Batches(settings, folder / "cache.sqlite", prices=folder / "prices.toml", budget_usd=10) as batches:
    batches.advance(requests(3))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["claim", "upload", "note", "create", "retrieve", "lines", "settle", "delete", "drop"])
def test_kill_9_at_any_step_pays_and_loses_nothing(folder, step, when):
    asked = requests(3)
    with serving(BatchServer()) as server:
        if step in ("retrieve", "lines", "settle", "delete", "drop"):
            advance(server, folder, asked, budget_usd=10)
        command = [sys.executable, "-c", KILLED, server.url, str(folder), step, when]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert any(advance(server, folder, asked, budget_usd=10).finished for _ in range(20))
        assert server.files == {}
    assert len(server.worked) == 3 and server.requests == [] and kept(folder, asked) == texts(asked)
    assert usage(folder).usd == pytest.approx(3 * USD_A_REPLY) and usage(folder).unanswered_usd == 0
