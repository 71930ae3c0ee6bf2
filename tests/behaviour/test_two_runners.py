"""Two runs of one configuration at once, on either ledger: nothing is made or paid twice, and nothing is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import ledger_place
from tests.behaviour.command import environment
from tests.behaviour.test_asking_shards import write
from tests.llm_client.cache.test_kill import ROOT
from tests.llm_client.openai_server import OpenAIServer, echo, serving
from tests.pipeline.llm_run import good

SESSIONS, KILLS = 12, 20
ASKER = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.cache.test_kill import request

settings = LLMSettings(base_url=sys.argv[1], model="m", concurrency=4)
with Client(settings, cache=sys.argv[2]) as client, ThreadPoolExecutor(4) as pool:
    print("started", flush=True)
    texts = list(pool.map(lambda n: client.complete(request(n)).text, range(int(sys.argv[3]))))
assert texts == [f"reply to {n}" for n in range(int(sys.argv[3]))]
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request, tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "here"))
    return str(tmp_path / "l.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres").ledger()


def runner(path):
    command = [sys.executable, "-m", "apportion", "run", "--only", "rewards", "--json", str(path)]
    return subprocess.Popen(
        command, env=environment(OPENAI_API_KEY="a key"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def done(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out)["units"]


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_two_runs_at_once_make_and_pay_all_once(tmp_path, ledger, killed):
    with serving(OpenAIServer(answer=good, latency_s=0.3)) as server:
        path = write(tmp_path, server, SESSIONS, run=f'llm_cache = "{ledger}"\nbudget_usd = 50', llm="concurrency = 2")
        one, other = runner(path), runner(path)
        if killed:
            while len(server.requests) < 4:
                assert one.poll() is None and other.poll() is None
                time.sleep(0.01)
            one.send_signal(signal.SIGKILL)  # Its workers die with it.
            one.communicate()
            units = [done(other)]
        else:
            units = [done(process) for process in (one, other)]
        again = done(runner(path))
    made = {stage: sum(counts[stage].get("done", 0) for counts in units) for stage in ("split", "judge", "rewards")}
    # What was under way at a kill may have been answered to nobody: two at once.
    assert len(server.requests) <= SESSIONS + 2 * killed
    assert killed or made == {"split": 1, "judge": SESSIONS, "rewards": 1}
    assert again["judge"] == {"reused": SESSIONS} and len(server.requests) <= SESSIONS + 2 * killed
    cache = ReplyCache(ledger_place(ledger))
    assert cache.usage().replies == SESSIONS
    cache.close()


@pytest.mark.slow
def test_a_server_that_is_killed_again_and_again_loses_nothing_and_pays_nothing_twice(tmp_path, postgres, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "here"))
    url, chance, requests = postgres.ledger(), random.Random(7), 400
    delivered, lock = Counter(), threading.Lock()

    def answer(body):
        with lock:
            delivered[int(body["messages"][-1]["content"])] += 1
        return echo(body)

    with serving(OpenAIServer(answer=answer, latency_s=0.1)) as server:
        command = [sys.executable, "-c", ASKER, server.url, url, str(requests)]
        askers = [
            subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
            for _ in range(2)
        ]
        for asker in askers:
            assert asker.stdout.readline() == b"started\n"
        for _ in range(KILLS):
            time.sleep(chance.uniform(0, 0.5))
            postgres.kill()
            time.sleep(chance.uniform(0, 0.2))
            postgres.start()
        under_way = [asker.poll() for asker in askers]
        assert [asker.wait(300) for asker in askers] == [0, 0]
    assert delivered == Counter(range(requests))
    cache = ReplyCache(url)
    assert cache.usage().replies == requests
    cache.close()
    print(f"{KILLS} kills of the server, {sum(delivered.values())} replies for {requests} requests, {under_way}")
