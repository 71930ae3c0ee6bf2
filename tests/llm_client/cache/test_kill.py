"""Killed with -9 at random moments and started again: each reply is delivered once, but for those in flight."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.request import ChatMessage, ChatRequest
from tests.llm_client.openai_server import OpenAIServer, echo, serving

ROOT = Path(__file__).resolve().parents[3]
REQUESTS, CONCURRENCY, KILLS = 800, 16, 8
"""More requests than twenty lives can end: each is a few tenths of a second long, 16 replies every tenth."""

ASKER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.cache.test_kill import CONCURRENCY, REQUESTS, request

requests, concurrency = (int(text) for text in sys.argv[3:] or (REQUESTS, CONCURRENCY))
settings = LLMSettings(base_url=sys.argv[1], model="m", concurrency=concurrency)
with Client(settings, cache=Path(sys.argv[2])) as client, ThreadPoolExecutor(concurrency) as pool:
    texts = list(pool.map(lambda n: client.complete(request(n)).text, range(requests)))
assert texts == [f"reply to {n}" for n in range(requests)]
"""


def request(number):
    return ChatRequest("m", (ChatMessage("user", str(number)),))


def kept(path, requests=REQUESTS):
    cache = ReplyCache(path)
    try:
        return {n for n in range(requests) if cache.get(request(n).key()) is not None}
    finally:
        cache.close()


@pytest.mark.slow
def test_killed_at_eight_random_moments_every_reply_is_delivered_once_but_for_those_in_flight(tmp_path):
    delivered: Counter[int] = Counter()
    lock = threading.Lock()

    def answer(body):
        with lock:
            delivered[int(body["messages"][-1]["content"])] += 1
        return echo(body)

    chance = random.Random(4)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    cache, allowed = tmp_path / "cache.sqlite", Counter(range(REQUESTS))
    kills = 0
    with serving(OpenAIServer(answer=answer, latency_s=0.1)) as server:
        command = [sys.executable, "-c", ASKER, server.url, str(cache)]
        while kills < KILLS:
            asker = subprocess.Popen(command, cwd=ROOT, env=environment)
            before = len(server.requests)
            # At a random moment after it has begun to ask, a few replies' time long.
            while len(server.requests) == before:
                assert asker.poll() is None
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.25))
            asker.send_signal(signal.SIGKILL)
            asker.communicate()
            kills += 1
            time.sleep(0.3)  # The server answers what it had, to nobody.
            lost = {n for n, times in delivered.items() if times} - kept(cache)
            in_flight = {n for n in lost if delivered[n] == allowed[n]}
            assert len(in_flight) <= CONCURRENCY
            allowed.update(in_flight)
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    assert kept(cache) == set(range(REQUESTS))
    assert delivered == allowed
    twice = sum(delivered.values()) - REQUESTS
    print(f"{kills} kills, {sum(delivered.values())} replies delivered for {REQUESTS} requests, {twice} in flight")
