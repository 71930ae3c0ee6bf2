"""What a server or the way to it can do wrong, each against a real server: told, tried again where it helps."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.client import Client
from apportion.llm_client.errors import ContextLengthError
from apportion.llm_client.settings import LLMSettings
from tests.interrupts import hear_ctrl_c
from tests.llm_client.at_once import answer, client, request
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving
from tests.llm_client.serve import server_process

ROOT = Path(__file__).resolve().parents[3]
WHOLE = json.dumps(completion("reply to 0")).encode()


@pytest.mark.parametrize("way", ["hangs", "trickles"])
def test_an_answer_that_begins_and_stalls_is_given_up_in_time_and_asked_again(no_pause, way):
    # A byte now and then does not keep the request alive: the time is for the whole answer.
    server = OpenAIServer(faults=[Fault(raw=WHOLE, way=way)])
    # Long enough for the second answer on a machine that is busy with other things.
    with serving(server), client(server.url, timeout_s=1, max_retries=1) as asking:
        started_s = time.monotonic()
        assert asking.complete(request()).text == "reply to 0"
    assert time.monotonic() - started_s >= 1
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("This model's maximum context length is 8192 tokens", None),
        ("the input is too long", "context_length_exceeded"),
        ("request (9000 tokens) exceeds the available context window", None),
    ],
)
def test_a_request_too_long_for_the_context_is_told_with_what_to_do_and_not_sent_again(message, code):
    server = OpenAIServer(faults=[Fault(400, message, code)])
    with pytest.raises(ContextLengthError, match=r"does not fit into the context of .m.: send less at once"):
        answer(server, max_retries=5)
    assert len(server.requests) == 1


@pytest.mark.parametrize("tokens", [10**30, -1, True, "7", 1.5, None])
def test_odd_characters_and_counts_in_a_reply_reach_cache_and_recording(tmp_path, tokens):
    answer = completion(b"half a pair \\ud800, \\u0000 and \\u2028".decode("unicode_escape"))
    answer["usage"] = {"prompt_tokens": tokens, "completion_tokens": 7}
    settings = LLMSettings(base_url="http://localhost", model="m", max_retries=0)
    with serving(OpenAIServer(answer=lambda body: answer)) as server:
        settings = settings.model_copy(update={"base_url": server.url})
        files = {"cache": tmp_path / "c.sqlite", "record": tmp_path / "r.jsonl"}
        with Client(settings, **files) as asking:
            first = asking.complete(request())
        with Client(settings, **files) as asking:
            assert asking.complete(request()) == first
    assert first.text == "half a pair \ufffd, \0 and \u2028" and first.prompt_tokens is None
    with Client(settings.model_copy(update={"provider": "recorded"}), recorded=tmp_path / "r.jsonl") as asking:
        assert asking.complete(request()) == first


def test_errors_of_the_server_now_and_then_cost_no_request(no_pause):
    faults = [Fault(status) for status in (500, 502, 503, 504, 408, 409) * 5]
    server = OpenAIServer(faults=faults)
    with serving(server), client(server.url, max_retries=20) as asking, ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: asking.complete(request(n)).text, range(20)))
    assert texts == [f"reply to {n}" for n in range(20)] and len(server.requests) == 50


def test_a_server_that_is_killed_and_comes_back_is_asked_on(no_pause):
    with ThreadPoolExecutor(8) as pool:
        with server_process(latency_s=0.2) as (process, url):
            asking = client(url, max_retries=20, concurrency=8)
            waiting = [pool.submit(asking.complete, request(n)) for n in range(24)]
            waiting[0].result()
            process.kill()
            process.wait()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])))
        asking_again_s = time.monotonic()
        while sum(future.done() for future in waiting) < 8 and time.monotonic() - asking_again_s < 0.1:
            time.sleep(0.01)
        with serving(OpenAIServer(), int(url.split(":")[2].split("/")[0])):
            assert [future.result().text for future in waiting] == [f"reply to {n}" for n in range(24)]
            asking.close()


INTERRUPTED = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.at_once import request

settings = LLMSettings(base_url=sys.argv[1], model="m", concurrency=8)
with Client(settings, cache=Path(sys.argv[2]) / "c.sqlite", record=Path(sys.argv[2]) / "r.jsonl") as client:
    with ThreadPoolExecutor(8) as pool:
        try:
            for reply in pool.map(lambda n: client.complete(request(n)), range(400)):
                print(reply.text, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            client.close()
            raise
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 30, 100])
def test_ctrl_c_keeps_every_reply_received(tmp_path, after):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(OpenAIServer(latency_s=0.05)) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url, str(tmp_path)]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_ctrl_c,
        )
        while server.answered < after:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        time.sleep(0.1)
        assert process.returncode != 0 and "KeyboardInterrupt" in err
    cache = ReplyCache(tmp_path / "c.sqlite")
    kept = {n for n in range(400) if cache.get(request(n).key()) is not None}
    cache.close()
    # Only what was under way may be missing: at most eight at once.
    assert server.answered - 8 <= len(kept) <= server.answered < 400
    handed_out = {int(line.split()[-1]) for line in out.splitlines()}
    assert handed_out <= kept
    recorded = {json.loads(line)["key"] for line in (tmp_path / "r.jsonl").read_text().splitlines()[1:]}
    assert recorded <= {request(n).key() for n in kept} and len(recorded) >= len(handed_out)
