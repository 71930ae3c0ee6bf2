"""What a server or the way to it can do wrong, each against a real server: told, tried again where it helps."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.client import Client
from apportion.llm_client.errors import ContextLengthError, RequestError, SetupError
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.interrupts import hear_ctrl_c
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving
from tests.llm_client.serve import server_process

ROOT = Path(__file__).resolve().parents[3]
WHOLE = json.dumps(completion("reply to 0")).encode()


def request(number=0):
    return ChatRequest("m", (ChatMessage("user", str(number)),), subject=f"session s{number}")


def client(url, **options):
    return Client(LLMSettings(base_url=url, model="m", **{"max_retries": 0, **options}))


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr("apportion.llm_client.transport.retry.own_wait_s", lambda failures: 0.01)


@pytest.mark.parametrize("way", ["hangs", "trickles"])
def test_an_answer_that_begins_and_stalls_is_given_up_in_time_and_asked_again(no_pause, way):
    # A byte now and then does not keep the request alive: the time is for the whole answer.
    server = OpenAIServer(faults=[Fault(raw=WHOLE, way=way)])
    # Long enough for the second answer on a machine that is busy with other things.
    with serving(server), client(server.url, timeout_s=2, max_retries=1) as asking:
        started_s = time.monotonic()
        assert asking.complete(request()).text == "reply to 0"
    assert time.monotonic() - started_s >= 2
    assert len(server.requests) == 2


def test_a_stalled_answer_is_told():
    server = OpenAIServer(faults=[Fault(raw=WHOLE, way="hangs")])
    with (
        serving(server),
        client(server.url, timeout_s=0.2) as asking,
        pytest.raises(RequestError, match=r"no answer within 0\.2 s, 1 times"),
    ):
        asking.complete(request())


def test_an_answer_that_breaks_off_is_asked_again(no_pause):
    server = OpenAIServer(faults=[Fault(raw=WHOLE, way="cut")] * 2)
    with serving(server), client(server.url, max_retries=2) as asking:
        assert asking.complete(request()).text == "reply to 0"
    assert len(server.requests) == 3


def test_an_answer_that_always_breaks_off_is_told(no_pause):
    server = OpenAIServer(faults=[Fault(raw=WHOLE, way="cut")] * 2)
    with (
        serving(server),
        client(server.url, max_retries=1) as asking,
        pytest.raises(RequestError, match=r"no chat completion, 2 times: the connection broke off after"),
    ):
        asking.complete(request())


@pytest.mark.parametrize(
    "raw",
    [
        WHOLE[: len(WHOLE) // 2],
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": null}]}',
        b"null",
        b"[]",
        b"3",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"message": {"content": "x"}, "finish_reason": 7}]}',
        b'{"choices": [{"message": {"content": "x"}}], "model": 7}',
    ],
    ids=range(15),
)
def test_an_answer_under_200_that_is_no_completion_is_told_and_kept_nowhere(tmp_path, raw):
    server = OpenAIServer(faults=[Fault(raw=raw)])
    settings = LLMSettings(base_url="http://localhost", model="m", max_retries=0)
    with serving(server):
        settings = settings.model_copy(update={"base_url": server.url})
        with Client(settings, cache=tmp_path / "c.sqlite") as asking:
            with pytest.raises(RequestError, match="gave an answer that is no chat completion"):
                asking.complete(request())
            assert asking.complete(request()).text == "reply to 0"
    cache = ReplyCache(tmp_path / "c.sqlite")
    assert cache.usage().replies == 1
    cache.close()


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
    with (
        serving(server),
        client(server.url, max_retries=5) as asking,
        pytest.raises(ContextLengthError, match=r"does not fit into the context of .m.: send less at once"),
    ):
        asking.complete(request())
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


def test_a_refused_key_is_asked_once():
    server = OpenAIServer(faults=[Fault(401, "bad key")])
    with serving(server), client(server.url, max_retries=5) as asking, pytest.raises(SetupError, match="Check the key"):
        asking.complete(request())
    assert len(server.requests) == 1


def test_a_storm_of_429_ends_with_every_reply_and_no_more_tries_than_needed():
    lock, refused = threading.Lock(), []

    def storm(body):
        with lock:
            if len(refused) < 60:
                refused.append(body)
                return Fault(429, headers=(("Retry-After-Ms", "20"),))
        return None

    server = OpenAIServer(refuse=storm)
    with (
        serving(server),
        client(server.url, max_retries=20, concurrency=16) as asking,
        ThreadPoolExecutor(16) as pool,
    ):
        texts = list(pool.map(lambda n: asking.complete(request(n)).text, range(40)))
    assert texts == [f"reply to {n}" for n in range(40)]
    assert len(server.requests) == 100


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
from tests.llm_client.transport.test_faults import request

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
