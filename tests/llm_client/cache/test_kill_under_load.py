"""Killed with -9 while the machine is busy: what is in the cache is never asked again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.llm_client.cache.test_kill import ASKER, ROOT, kept
from tests.llm_client.openai_server import OpenAIServer, serving

REQUESTS, CONCURRENCY, KILLS, BUSY = 800, 32, 6, 2
"""More requests than six lives can end: each life sees fewer than 64 replies, and those that were under way."""


@contextmanager
def busy_machine():
    """Processes that do nothing but take the processor's time."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def numbers(bodies):
    return [int(body["messages"][-1]["content"]) for body in bodies]


@pytest.mark.slow
def test_killed_six_times_on_a_busy_machine_no_kept_reply_is_asked_again(tmp_path):
    chance, cache = random.Random(12), tmp_path / "cache.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    open_at_kills = written_at_kills = 0
    with busy_machine(), serving(OpenAIServer(latency_s=0.05)) as server:
        command = [sys.executable, "-c", ASKER, server.url, str(cache), str(REQUESTS), str(CONCURRENCY)]
        for _ in range(KILLS):
            before, written_before = len(server.requests), len(server.written)
            there = kept(cache, REQUESTS)
            asker = subprocess.Popen(command, cwd=ROOT, env=environment)
            # At a random moment of its work: some lives see no reply, some see more than are under way at once.
            last = written_before + chance.randrange(2 * CONCURRENCY)
            while len(server.requests) == before or len(server.written) < last:
                assert asker.poll() is None
                time.sleep(0.001)
            asker.send_signal(signal.SIGKILL)
            asker.communicate()
            written = set(numbers(server.written[:]))
            time.sleep(0.3)  # The server answers what it had, to nobody.
            asked = set(numbers(server.requests[before:]))
            assert not asked & there
            # Without a reply in the cache: those that were under way, and no more of them than may be at once.
            open_keys = asked - kept(cache, REQUESTS)
            assert len(open_keys) <= CONCURRENCY
            open_at_kills += len(open_keys)
            # A reply in a buffer of the system, or on its way to the disk, dies with the process it was meant for.
            written_at_kills += len(open_keys & written)
        there, before = kept(cache, REQUESTS), len(server.requests)
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        assert not set(numbers(server.requests[before:])) & there
    assert kept(cache, REQUESTS) == set(range(REQUESTS))
    asked_again = sum(times - 1 for times in Counter(numbers(server.requests)).values())
    assert asked_again <= open_at_kills
    print(
        f"{KILLS} kills, {len(there)} replies kept by the last; {asked_again} of {REQUESTS} asked again, "
        f"{open_at_kills} without a reply at a kill, {written_at_kills} of them written by the server"
    )
