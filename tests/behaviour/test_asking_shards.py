import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.pipeline.llm_run import good

ROOT = Path(__file__).resolve().parents[2]
JITTER_S = 1.0
"""What a request may arrive later than it was let out, on a busy machine."""
SHARDS = 8
SHARD = f"""
import json, sys
from apportion.foundation.errors import StoppedError
from apportion.pipeline.execution.shards import run_shard

try:
    print(json.dumps(run_shard(sys.argv[1], sys.argv[2], int(sys.argv[3]), {SHARDS})))
except StoppedError as error:
    print(json.dumps([str(error), error.same_again]))
"""
TEXT = """corpus = "corpus"
output = "{output}"
[run]
workers = 2
llm_shard_count = 2
prices = "prices.toml"
last_stage = "rewards"
{run}
[decompose]
method = "llm"
[decompose.llm]
base_url = "{url}"
model = "m"
max_tokens = 100
{llm}
"""


def write(folder, server, sessions, *, output="run", run="", llm=""):
    write_small_corpus(folder / "corpus", sessions=sessions, exchanges=8)
    (folder / "prices.toml").write_text('[models]\n"m" = { input = 1, output = 10000 }\n')
    return config(folder, TEXT.format(output=output, url=server.url, run=run, llm=llm))


def shard(path, number):
    return subprocess.Popen(
        [sys.executable, "-c", SHARD, str(path), "judge", str(number)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def ended(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return json.loads(out)


def answer(body):
    """Usable where the prompt is; a paraphrase of the audit gets an answer that is none, and is asked again."""
    try:
        return good(body)
    except AssertionError:
        return completion("no")


def questions(server):
    return Counter(json.dumps(body["messages"]) for body in server.requests)


def artifacts(folder):
    return {p.relative_to(folder): p.read_bytes() for p in (folder / "store").rglob("*.parquet")}


def usage(folder):
    cache = ReplyCache(folder / "llm_cache.sqlite")
    used = cache.usage()
    cache.close()
    return used


def assert_within(arrivals_s, per_minute):
    """No time of any length has more requests than the limit lets out in it: its burst, and then evenly.

    What holds for every length holds for 60 s, of which a test has not the time.
    """
    burst = max(1.0, per_minute / 60)
    rate = per_minute / 60 if burst == 1 else (per_minute - burst) / 60
    for first, start_s in enumerate(arrivals_s):
        for count, end_s in enumerate(arrivals_s[first:], 1):
            assert count <= burst + rate * (end_s - start_s + JITTER_S) + 1e-6, f"{count} in {end_s - start_s:.2f} s"


@pytest.mark.slow
def test_two_shards_together_stay_within_the_limits_of_one_and_ask_each_question_once(tmp_path):
    server = OpenAIServer(answer=answer, latency_s=0.6)
    with serving(server):
        limits = "requests_per_minute = 120\nconcurrency = 3"
        path = write(tmp_path, server, 16, llm=limits)
        counts = [ended(process) for process in [shard(path, 0), shard(path, 1)]]
        assert [count["done"] for count in counts] == [8, 8]
        assert set(questions(server).values()) == {1} and len(server.requests) == 16
        assert_within(server.arrivals_s, 120)
        assert server.most_at_once == 3
        # The same work by one client leaves the same artifacts, and finds every reply paid for.
        alone = write(tmp_path, server, 16, output="alone", run='llm_cache = "run/llm_cache.sqlite"', llm=limits)
        run_locally(load_config(alone), ["judge"], quiet=True)
    assert len(server.requests) == 16
    of_shards = {name: content for name, content in artifacts(tmp_path / "run").items() if "judge" in name.parts}
    assert of_shards and of_shards == {
        name: content for name, content in artifacts(tmp_path / "alone").items() if "judge" in name.parts
    }


@pytest.mark.slow
def test_two_shards_together_stay_within_the_budget_and_go_on_where_it_is_raised(tmp_path):
    server = OpenAIServer(answer=answer, latency_s=0.2)
    with serving(server):
        path = write(tmp_path, server, 12, run="budget_usd = 1.2", llm="concurrency = 4")
        told = [ended(process) for process in [shard(path, 0), shard(path, 1)]]
        first = len(server.requests)
        # A reply costs $0.07 and may cost $1.00, which has to fit in.
        assert 0 < first < 12 and usage(tmp_path / "run").usd <= 1.2
        for text, same_again in told:
            assert "stopped before the budget of $1.20 is passed" in text and not same_again
            assert "raise run.budget_usd in the configuration" in text and "--budget" not in text
        path = write(tmp_path, server, 12, run="budget_usd = 1000.0", llm="concurrency = 4")
        again = [ended(process) for process in [shard(path, 0), shard(path, 1)]]
    assert sum(count["done"] for count in again) == 12 - first
    assert sum(count["reused"] for count in again) == first
    # Nothing was asked, nor paid, twice.
    assert set(questions(server).values()) == {1} and len(server.requests) == 12
    assert usage(tmp_path / "run").replies == 12


@pytest.mark.slow
def test_a_shard_that_is_killed_and_tried_again_beside_the_other_passes_no_limit_and_pays_no_reply_twice(tmp_path):
    server = OpenAIServer(answer=answer, latency_s=0.5)
    with serving(server):
        path = write(tmp_path, server, 60, llm="requests_per_minute = 300\nconcurrency = 4")
        one = shard(path, 0)
        # Killed after it has finished something, and while the other asks, too.
        while not any((tmp_path / "run" / "store" / "judge").glob("*/*/manifest.json")):
            time.sleep(0.02)
        other, kept = shard(path, 1), usage(tmp_path / "run").replies
        while usage(tmp_path / "run").replies < kept + 12 and one.poll() is None:
            time.sleep(0.02)
        one.send_signal(signal.SIGKILL)
        one.communicate()
        counts = [ended(process) for process in [shard(path, 0), other]]
    assert sum(counts[0].values()) == 30 and counts[1] == {"done": 30, "reused": 0, "quarantined": 0}
    assert counts[0]["reused"] >= 1
    assert_within(server.arrivals_s, 300)
    # Four, and for a moment the two that this server goes on with though nobody waits for them any more.
    assert server.most_at_once <= 4 + 2
    # Asked again is only what was under way in the killed one: at most its share of the four.
    again = [count - 1 for count in questions(server).values()]
    assert len(again) == 60 and sum(again) <= 4
    assert usage(tmp_path / "run").replies == 60
