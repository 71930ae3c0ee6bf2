"""What a run says about the money it spent, against a real server."""

import json
import re

import pyarrow.parquet as pq
import pytest

from apportion.foundation.errors import StoppedError
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import dry_run_text, run_locally
from apportion.pipeline.execution.shards import run_shard
from tests.behaviour.command import config, threads
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import TEXT, good


@pytest.fixture
def no_workers(monkeypatch):
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)


def test_a_run_sums_its_tokens_and_their_cost_and_pays_two_methods_once(folder):
    with serving(OpenAIServer(answer=good, latency_s=0.05)) as server:
        chosen = load_config(config(folder, TEXT.format(server.url, "m")))
        first = run_locally(chosen, ["rewards"], quiet=True)
        again = run_locally(chosen, ["rewards"], quiet=True)
    # Without recordings both methods ask the same, and two of the six dialogues are the same: five requests, not 12.
    assert len(server.requests) == 5
    said = first.to_json()["language_model"]
    assert said["run"]["replies"] == 5 and said["run"]["usd"] == pytest.approx(5 * 0.081)
    assert "m: 5 replies, 55 input and 35 output tokens, $0.4050; $0.4050 in all" in first.text()
    assert "m: 0 replies, 0 input and 0 output tokens, $0.00; $0.4050 in all" in again.text()


def test_an_unknown_cost_is_said_once(folder, no_workers):
    with serving(OpenAIServer(answer=good)) as server:
        summary = run_locally(load_config(config(folder, TEXT.format(server.url, "n"))), ["rewards"], quiet=True)
    text = summary.text()
    assert "cost unknown" in text and text.count("No price known for 'n'") == 1


def test_a_budget_ends_the_run_with_1_publishes_what_is_labelled_and_a_higher_one_goes_on(folder, apportion):
    # One reply costs 0.081; the dearest that a request can be is a little more than 1 + its bytes / 1000.
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        small = apportion("run", "--only", "decompose", path, "--budget", "0.5")
        assert (small.returncode, server.requests) == (1, [])
        assert "0 replies; the next request may cost up to $" in small.stdout
        assert not (folder / "run" / "rewards.parquet").exists()
        most_usd = float(re.search(r"may cost up to \$(\d+\.\d+)", small.stdout)[1])
        stopped = apportion("run", "--only", "decompose", path, "--budget", str(most_usd + 0.2))
        received = len(server.requests)
        assert (stopped.returncode, 0 < received < 5) == (1, True), stopped.stdout
        assert "units of the stage 'judge' are left (s0" in stopped.stdout
        assert "Every reply received is kept. To go on, run the same command with a higher --budget" in stopped.stdout
        assert f"next: apportion run {path} --only decompose --budget USD" in stopped.stdout
        labelled = set(pq.read_table(folder / "run" / "rewards.parquet").column("session_id").to_pylist())
        left = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
        assert {row["status"] for row in left} == {"stopped"}
        assert labelled and labelled | {row["session_id"] for row in left} == {f"s{n:02}" for n in range(6)}
        allowed = apportion("run", "--only", "decompose", path, "--budget", "1.0", "--allow-quarantine", "--json")
        assert allowed.returncode == 1 and "are left" in json.loads(allowed.stdout)["stopped"]
        done = apportion("run", "--only", "decompose", path, "--budget", "1000")
    assert done.returncode == 0 and len(server.requests) == 5
    assert f"m: {5 - received} replies" in done.stdout
    assert pq.read_table(folder / "run" / "quarantine.parquet").num_rows == 0


def test_every_command_that_may_ask_takes_a_budget_and_nothing_is_built_on_a_part(folder, apportion):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m"))
        stopped = apportion("run", "--only", "evaluate", path, "--budget", "3.8")
    assert stopped.returncode == 1 and 0 < len(server.requests) < 5
    assert f"next: apportion run {path} --only evaluate --budget USD" in stopped.stdout
    assert "train-reward" not in stopped.stderr and (folder / "run" / "rewards.parquet").exists()
    assert "--budget" in apportion("run", "--help").stdout
    assert "--budget" not in apportion("demo", "--help").stdout


def test_an_orchestrators_task_fails_where_the_budget_stops_it(folder):
    with serving(OpenAIServer(answer=good)) as server:
        path = config(folder, TEXT.format(server.url, "m").replace("[run]", "[run]\nbudget_usd = 3.8"))
        with pytest.raises(StoppedError, match=r"units of the stage 'judge' are left \(s0"):
            run_shard(str(path), "judge", 0, 1)
        with pytest.raises(StoppedError):
            run_shard(str(path), "judge", 0, 1)
    assert 0 < len(server.requests) < 5


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "much"])
def test_a_budget_is_a_number_of_dollars(folder, text, apportion):
    result = apportion("run", config(folder, TEXT.format("http://localhost:1/v1", "m")), "--budget", text)
    assert result.returncode == 2 and "--budget" in result.stderr


def test_a_budget_without_a_price_is_refused_before_anything_is_done(folder, apportion):
    result = apportion("run", config(folder, TEXT.format("http://localhost:1/v1", "n")), "--budget", "5")
    assert result.returncode == 2
    assert "no price is known for 'n'" in result.stderr


def test_a_dry_run_prices_what_is_left_and_sends_nothing(folder, no_workers):
    with serving(OpenAIServer(answer=good)) as server:
        chosen = load_config(config(folder, TEXT.format(server.url, "m")))
        before = json.loads(dry_run_text(chosen, ["rewards"], as_json=True))["language_model"]
        assert (before["requests"], before["answered"], before["remaining"]) == (5, 0, 5)
        assert before["output_tokens"] == 5 * 100  # Three turns would be 130; max_tokens allows 100.
        usd = (before["input_tokens"] * 1000 + before["output_tokens"] * 10000) / 1e6
        assert before["usd"] == pytest.approx(usd) and usd > 0
        assert "m: 5 requests, 0 answered already, 5 to ask" in dry_run_text(chosen, ["rewards"], as_json=False)
        assert server.requests == []
        run_locally(chosen.with_run(limit=4), ["rewards"], quiet=True)
        asked = len(server.requests)
        after = json.loads(dry_run_text(chosen, ["rewards"], as_json=True))["language_model"]
        assert (after["answered"], after["remaining"], len(server.requests)) == (asked, 5 - asked, asked)
        # The replies that are there had 7 tokens each, whatever the estimate was.
        assert after["output_tokens"] == 7 * after["remaining"]
        assert after["input_tokens"] < before["input_tokens"]
        (folder / "run" / "llm_cache.sqlite").unlink()
        finished = json.loads(dry_run_text(chosen, ["rewards"], as_json=True))["language_model"]
        assert finished["answered"] == asked


def test_a_dry_run_needs_no_key_and_says_what_the_run_would_lack(folder, apportion):
    text = TEXT.format("https://api.example.com/v1", "unheard-of")
    result = apportion("run", config(folder, text), "--dry-run")
    assert result.returncode == 0
    assert "5 to ask" in result.stdout and "cost unknown: no price for this model" in result.stdout
    assert "warning: the run itself would stop: decompose.llm: the text of your sessions" in result.stdout
    assert not (folder / "run" / "llm_cache.sqlite").exists()


def test_a_dry_run_of_other_stages_has_no_price(folder):
    chosen = load_config(config(folder, TEXT.format("http://localhost:1/v1", "m")))
    assert json.loads(dry_run_text(chosen, ["split"], as_json=True))["language_model"] is None


def test_a_wrong_price_table_is_told_before_anything_is_done(folder, apportion):
    (folder / "prices.toml").write_text("[models")
    for option in ("--dry-run", "--json"):
        result = apportion("run", config(folder, TEXT.format("http://localhost:1/v1", "m")), option)
        assert result.returncode == 2 and "prices.toml is no TOML file" in result.stderr


def test_recorded_replies_are_counted(folder):
    (folder / "none.jsonl").write_text('{"model": "m", "date": "2026-11-21", "how": "none"}\n')
    text = TEXT.format("http://localhost:1/v1", "m").replace("[run]", '[run]\nrecorded = "none.jsonl"')
    chosen = load_config(config(folder, text.replace("[decompose.llm]", '[decompose.llm]\nprovider = "recorded"')))
    assert "5 requests, 0 of them recorded" in dry_run_text(chosen, ["rewards"], as_json=False)
