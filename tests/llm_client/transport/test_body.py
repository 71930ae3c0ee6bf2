"""Answers without measure: cut off while they are read, compressed or not, and never held whole."""

import json
import os
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import pytest

from apportion.llm_client.errors import RequestError
from tests.llm_client import at_once
from tests.llm_client.at_once import request
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, serving

ROOT = Path(__file__).resolve().parents[3]
MIB = 1024 * 1024
LIMIT = 4096
client = partial(at_once.client, max_reply_bytes=LIMIT, concurrency=1, max_retries=5)
pytestmark = pytest.mark.usefixtures("no_pause")


def bomb(size, wbits=31):
    """``size`` zero bytes as gzip's or zlib's, made in no time: a flushed block may be repeated."""
    packer = zlib.compressobj(9, wbits=wbits)
    head = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (size // MIB - 1)


def gzipped(raw):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(raw) + packer.flush()


GZIP, DEFLATE = ((("Content-Encoding", name),) for name in ("gzip", "deflate"))
TOO_LARGE = {
    "promised": Fault(raw=b" " * 8 * MIB),
    "endless": Fault(raw=b" " * 65_536, way="endless"),
    "gzip": Fault(raw=bomb(1024 * MIB), headers=GZIP),
    "deflate": Fault(raw=bomb(1024 * MIB, 15), headers=DEFLATE),
    "completion": Fault(raw=json.dumps(completion("x" * LIMIT)).encode()),
}


@pytest.mark.parametrize("fault", TOO_LARGE.values(), ids=TOO_LARGE)
def test_an_answer_without_measure_is_cut_off_and_asked_once_more(fault):
    server = OpenAIServer(faults=[fault] * 3)
    with serving(server), client(server.url) as asking:
        with pytest.raises(
            RequestError, match=r"2 times: it is larger than 4,096 bytes .max_reply_bytes.*Lower"
        ) as caught:
            asking.complete(request())
        assert len(server.requests) == 2
        assert asking.complete(request(1)).text == "reply to 1"
    (kept,) = json.loads(caught.value.evidence)
    assert (kept["status"], len(kept["body"])) == (200, LIMIT)


def test_the_limit_itself_is_no_more_than_the_limit():
    raw = json.dumps(completion("")).encode()
    texts = {size: "x" * (size - len(raw)) for size in (LIMIT, LIMIT + 1)}
    for size, text in texts.items():
        for pack, headers in ((bytes, ()), (gzipped, GZIP)):
            faults = [Fault(raw=pack(json.dumps(completion(text)).encode()), headers=headers)]
            with serving(OpenAIServer(faults=faults)) as server, client(server.url, max_retries=0) as asking:
                if size == LIMIT:
                    assert asking.complete(request()).text == text
                else:
                    with pytest.raises(RequestError, match="larger than"):
                        asking.complete(request())


def test_an_error_without_measure_is_the_error_that_its_status_says():
    fault = Fault(raw=b"busy " * 65_536, raw_status=503, way="endless")
    server = OpenAIServer(faults=[fault] * 2)
    with serving(server), client(server.url, max_retries=2) as asking:
        assert asking.complete(request()).text == "reply to 0"
    assert len(server.requests) == 3
    server = OpenAIServer(faults=[fault])
    with (
        serving(server),
        client(server.url, max_retries=0) as asking,
        pytest.raises(RequestError, match="answered 503: busy busy") as caught,
    ):
        asking.complete(request())
    assert len(json.loads(caught.value.evidence)[0]["body"]) == LIMIT


def test_a_head_without_end_is_given_up():
    fault = Fault(raw=WHOLE, headers=tuple((f"X-{n}", "y" * 1000) for n in range(2000)))
    server = OpenAIServer(faults=[fault])
    with serving(server), client(server.url, max_retries=1) as asking:
        assert asking.complete(request()).text == "reply to 0"
    assert len(server.requests) == 2
    with (
        serving(OpenAIServer(faults=[fault])) as server,
        client(server.url, max_retries=0) as asking,
        pytest.raises(RequestError, match="broke off in the middle, 1 times: Receive buffer too long"),
    ):
        asking.complete(request())


WHOLE = json.dumps(completion("reply to 0")).encode()

MEASURED = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
from apportion.llm_client.client import Client
from apportion.llm_client.errors import RequestError
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.at_once import request

def ask(number):
    try:
        return asking.complete(request(number)).text
    except RequestError:
        return ""

settings = LLMSettings(base_url=sys.argv[1], model="m", concurrency=16, max_retries=1)
with Client(settings) as asking, ThreadPoolExecutor(16) as pool:
    texts = list(pool.map(ask, range(24)))
print(sum(map(bool, texts)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def replies_and_peak_mib(faults):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(OpenAIServer(faults=faults)) as server:
        command = [sys.executable, "-c", MEASURED, server.url]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
def test_a_storm_of_bombs_takes_no_more_than_100_mib_over_small_replies():
    small_replies, small_mib = replies_and_peak_mib([])
    # As values, lists of lists are twenty times their bytes.
    lists = b'{"error": [' + b"[]," * 340_000 + b"[]]}"
    bombs = [TOO_LARGE["gzip"], TOO_LARGE["endless"], Fault(raw=lists), Fault(raw=lists, raw_status=500)]
    replies, mib = replies_and_peak_mib(bombs * 12)
    assert (small_replies, replies) == (24, 0)
    assert mib - small_mib <= 100
