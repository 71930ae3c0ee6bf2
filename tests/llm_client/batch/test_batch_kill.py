"""The Batch API and kill -9: nothing is lost, nothing paid twice."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from apportion.llm_client.batch.batches import Batches
from apportion.llm_client.batch.ledger import BatchBook
from apportion.llm_client.batch.service import BatchService
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.batching import USD_A_REPLY, advance, kept, place_of, requests, texts, usage
from tests.llm_client.openai_server import serving


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Each process is forked from one that has the client's libraries and nothing else: loading them takes a second."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "openai"])
    return context


def killed(url: str, folder: Path, step: str, when: str) -> None:
    """Hand in or collect a batch, and be killed before or after ``step`` is carried out."""
    part = BatchService if hasattr(BatchService, step) else BatchBook
    carried_out = getattr(part, step)

    def deadly(*arguments: object, **options: object) -> None:
        if when == "after":
            carried_out(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(part, step, deadly)
    settings = LLMSettings(base_url=url, model="m", max_tokens=10, max_retries=0)
    with Batches(settings, place_of(folder), prices=folder / "prices.toml", budget_usd=10) as batches:
        batches.advance(requests(3))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["claim", "upload", "note", "create", "retrieve", "lines", "settle", "delete", "drop"])
def test_kill_9_at_any_step_pays_and_loses_nothing(folder, processes, step, when):
    asked = requests(3)
    with serving(BatchServer()) as server:
        if step in ("retrieve", "lines", "settle", "delete", "drop"):
            advance(server, folder, asked, budget_usd=10)
        process = processes.Process(target=killed, args=(server.url, folder, step, when))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert any(advance(server, folder, asked, budget_usd=10).finished for _ in range(20))
        assert server.files == {}
    assert len(server.worked) == 3 and server.requests == [] and kept(folder, asked) == texts(asked)
    assert usage(folder).usd == pytest.approx(3 * USD_A_REPLY) and usage(folder).unanswered_usd == 0
