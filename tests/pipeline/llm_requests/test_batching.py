"""`--batch` from the command line, against a server with files and batches."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import dry_run_text
from tests.behaviour.command import ROOT, config, environment
from tests.interrupts import hear_ctrl_c
from tests.llm_client.batch_server import BatchServer
from tests.llm_client.openai_server import Fault, completion, serving
from tests.pipeline.llm_run import TEXT, good


def test_hand_in_leave_collect_and_half_the_price(folder, apportion):
    with serving(BatchServer(answer=good, rounds=2)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        first = apportion("run", "--only", "decompose", path, "--batch")
        assert first.returncode == 3, first.stderr
        assert "5 requests handed in" in first.stdout and "batch_0: validating" in first.stdout
        assert f"next: apportion run {path} --only decompose --batch" in first.stdout
        plain = apportion("run", "--only", "decompose", path)
        assert plain.returncode == 2 and "5 requests are in a batch (batch_0)" in plain.stderr
        waiting = apportion("run", "--only", "decompose", path, "--batch", "--json")
        assert waiting.returncode == 3 and json.loads(waiting.stdout)["batch"]["waiting"][0]["total"] == 0
        done = apportion("run", "--only", "decompose", path, "--batch")
        assert done.returncode == 0, done.stderr
        assert "5 replies collected" in done.stdout
        assert "m: 5 replies, 55 input and 35 output tokens, $0.2025; $0.2025 in all" in done.stdout
        again = apportion("run", "--only", "decompose", path, "--batch")
        assert again.returncode == 0 and "nothing new" in again.stdout
    assert server.requests == [] and len(server.worked) == 5
    rewards = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    assert {row["session_id"] for row in rewards} == {f"s{n:02}" for n in range(6)}


def test_a_bad_reply_of_a_batch_is_shown_to_the_model_directly(folder, apportion):
    def answer(body):
        return completion("I would rather talk about the weather.") if len(body["messages"]) == 2 else good(body)

    with serving(BatchServer(answer=answer)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path, "--batch").returncode == 3
        done = apportion("run", "--only", "decompose", path, "--batch")
    assert done.returncode == 0, done.stderr
    assert len(server.worked) == 5 and len(server.requests) == 5
    assert all("the reply is not one JSON object" in body["messages"][-1]["content"] for body in server.requests)


def test_a_line_that_the_server_cannot_take_ends_in_quarantine_with_its_words(folder, apportion):
    too_long = Fault(400, "maximum context length is 10 tokens", "context_length_exceeded")
    with serving(BatchServer(answer=good, line_fault=lambda body: too_long, refuse=lambda body: too_long)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path, "--batch").returncode == 3
        done = apportion("run", "--only", "decompose", path, "--batch")
    assert done.returncode == 1
    assert "5 refused, to be asked directly" in done.stdout and "use a model" in done.stdout
    assert server.worked == []


def test_a_budget_holds_for_batches_too(folder, apportion):
    with serving(BatchServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        first = apportion("run", "--only", "decompose", path, "--batch", "--budget", "1.9")
        assert first.returncode == 3 and "left out by the budget" in first.stdout
        assert "stopped before the budget of $1.90 is passed" in first.stdout
        codes = [first.returncode]
        while codes[-1] == 3 and len(codes) < 8:
            last = apportion("run", "--only", "decompose", path, "--batch", "--budget", "1.9")
            codes.append(last.returncode)
    assert codes[-1] == 1 and "--batch --budget USD" in last.stdout
    assert 0 < len(server.worked) < 5 and server.requests == []


def test_a_failed_batch_ends_with_1_and_its_words(folder, apportion):
    errors = [{"code": "x", "message": "enqueued token limit reached", "line": None}]
    with serving(BatchServer(final="failed", errors=errors)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path, "--batch").returncode == 3
        failed = apportion("run", "--only", "decompose", path, "--batch")
    assert failed.returncode == 1
    assert "failed before it began, unpaid: enqueued token limit reached" in failed.stdout


def test_a_server_that_fails_ends_with_1(folder, apportion):
    with serving(BatchServer(before=lambda call: Fault(500, "on fire"))) as server:
        result = apportion("run", "--only", "decompose", config(folder, TEXT.format(server.url, "m")), "--batch")
    assert result.returncode == 1 and "answered 500: on fire" in result.stderr


def test_a_batch_that_is_gone_is_given_up(folder, apportion):
    with serving(BatchServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        assert apportion("run", "--only", "decompose", path, "--batch").returncode == 3
        server.batches.clear()
        lost = apportion("run", "--only", "decompose", path, "--batch")
        assert lost.returncode == 2 and "batch_0" in lost.stderr and "--forget-batch ID" in lost.stderr
        assert apportion("run", "--only", "decompose", path, "--forget-batch", "batch_7").returncode == 2
        given_up = apportion("run", "--only", "decompose", path, "--forget-batch", "batch_0")
        assert given_up.returncode == 0 and "5 requests may be asked again" in given_up.stdout
        assert apportion("run", "--only", "decompose", path).returncode == 0


def test_a_dry_run_prices_the_batch(folder):
    chosen = load_config(config(folder, TEXT.format("http://localhost:1/v1", "m")))
    full = json.loads(dry_run_text(chosen, ["rewards"], as_json=True))["language_model"]
    half = json.loads(dry_run_text(chosen, ["rewards"], as_json=True, batch=True))["language_model"]
    assert half["usd"] == pytest.approx(full["usd"] / 2) and (half["batch"], full["batch"]) == (True, False)
    assert "prices of the Batch API" in dry_run_text(chosen, ["rewards"], as_json=False, batch=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'method = "llm-multimodal"\ncompare = ["llm"]',
            'method = "uniform"',
            "none of the methods (uniform) asks a language model",
        ),
        ("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"', "recorded replies are asked of no server"),
    ],
)
def test_a_run_without_anything_to_ask_is_told(folder, old, new, words, apportion):
    path = config(folder, TEXT.format("http://localhost:1/v1", "m").replace(old, new))
    result = apportion("run", "--only", "decompose", path, "--batch")
    assert result.returncode == 2 and words in result.stderr


@pytest.mark.slow
def test_ctrl_c_while_a_batch_is_handed_in_pays_nothing_twice(folder, apportion):
    with serving(BatchServer(answer=good, latency_s=0.5)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        command = [sys.executable, "-m", "apportion", "run", "--only", "decompose", str(path), "--batch"]
        process = subprocess.Popen(
            command,
            env=environment(),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        while "POST batches" not in server.calls:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
        server.latency_s = 0.0
        while (result := apportion("run", "--only", "decompose", path, "--batch")).returncode == 3:
            pass
    assert result.returncode == 0, result.stderr
    assert len(server.worked) == 5 and len(server.batches) == 1
