"""Two runs on one cache: each request is paid once, whichever of them asks it, and whatever becomes of that one."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.llm_client.cache import leases, reservations, writer
from apportion.llm_client.cache import leases as owner
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.cache.leases import RENEW_S, started_at, this_process
from apportion.llm_client.client import Client
from apportion.llm_client.errors import InBatchError, RequestError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

ROOT = Path(__file__).resolve().parents[3]
REQUESTS = 40

ASKER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.cache.test_leases import REQUESTS, request

settings = LLMSettings(base_url=sys.argv[1], model="m", concurrency=8)
with Client(settings, cache=ledger_place(sys.argv[2])) as client, ThreadPoolExecutor(8) as pool:
    print("started", flush=True)
    sys.stdin.readline()
    print(*pool.map(lambda n: client.complete(request(n)).text, range(REQUESTS)), sep="|", flush=True)
"""


def request(number):
    return ChatRequest("m", (ChatMessage("user", str(number)),), subject=f"session {number}")


def asker(server, path):
    process = subprocess.Popen(
        [sys.executable, "-c", ASKER, server.url, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == "started\n"
    return process


def client(server, path, **options):
    return Client(LLMSettings(base_url=server.url, model="m", **{"max_retries": 0, **options}), cache=path)


@pytest.mark.slow
def test_two_runs_at_once_ask_each_request_once(place):
    with serving(OpenAIServer(latency_s=0.1)) as server:
        askers = [asker(server, place) for _ in range(2)]
        for process in askers:
            process.stdin.write("go\n")
            process.stdin.flush()
        texts = [process.communicate()[0].strip() for process in askers]
    assert texts == ["|".join(f"reply to {n}" for n in range(REQUESTS))] * 2
    assert len(server.requests) == REQUESTS


def test_what_a_killed_run_was_asking_is_asked_at_once_by_the_one_that_waits(place):
    held = threading.Event()

    def answer(body):
        if len(server.requests) <= 8:
            held.wait(30)
        return {"choices": [{"message": {"content": f"reply to {body['messages'][-1]['content']}"}}]}

    with serving(OpenAIServer(answer=answer)) as server:
        first = asker(server, place)
        first.stdin.write("go\n")
        first.stdin.flush()
        while len(server.requests) < 8:
            time.sleep(0.005)
        with client(server, place) as second, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(second.complete, request(0))
            time.sleep(0.3)
            assert not waiting.done() and len(server.requests) == 8
            first.send_signal(signal.SIGKILL)
            first.communicate()
            assert waiting.result(20).text == "reply to 0"
        held.set()
    assert len(server.requests) == 9


def test_a_request_that_failed_in_one_run_is_free_for_the_other(place):
    server = OpenAIServer(faults=[Fault(500)], latency_s=0.2)
    with (
        serving(server),
        client(server, place) as first,
        client(server, place) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        failing = pool.submit(first.complete, request(1))
        while not server.requests:
            time.sleep(0.005)
        waiting = pool.submit(second.complete, request(1))
        with pytest.raises(RequestError):
            failing.result()
        assert waiting.result().text == "reply to 1"
    assert len(server.requests) == 2


def test_a_client_that_is_closed_while_it_asks_leaves_no_claim(place):
    server = OpenAIServer(latency_s=0.5)
    with serving(server), ThreadPoolExecutor(1) as pool:
        first = client(server, place)
        asking = pool.submit(first.complete, request(1))
        while not server.requests:
            time.sleep(0.005)
        first.close()
        assert isinstance(asking.exception(), RequestError)
        assert rows(place, "claims") == rows(place, "owners") == []


def rows(path, table):
    cache = ReplyCache(ledger_place(path))
    try:
        return cache.transact(lambda connection: connection.execute(f"SELECT * FROM {table}").fetchall())
    finally:
        cache.close()


def test_the_wait_for_another_run_is_told_once(place, caplog):
    with (
        serving(OpenAIServer(latency_s=0.3)) as server,
        client(server, place) as first,
        client(server, place) as second,
        ThreadPoolExecutor(8) as pool,
    ):
        asking = [pool.submit(first.complete, request(n)) for n in range(3)]
        while len(server.requests) < 3:
            time.sleep(0.005)
        waiting = [pool.submit(second.complete, request(n)) for n in range(3)]
        assert [w.result().text for w in waiting] == [a.result().text for a in asking]
    assert len(server.requests) == 3
    told = [record.getMessage() for record in caplog.records if "another run on" in record.getMessage()]
    assert len(told) == 1 and str(place) in told[0]


def test_a_batch_that_was_handed_in_after_the_client_began_is_seen(place):
    with serving(OpenAIServer()) as server, client(server, place) as asking:
        other = ReplyCache(place)
        other.transact(lambda c: c.execute("INSERT INTO batches (token, url, dialect) VALUES ('t', 'u', '[]')"))
        other.transact(lambda c: c.execute("INSERT INTO batched VALUES (?, 1, NULL)", (request(1).key(),)))
        with pytest.raises(InBatchError, match="1 requests are in a batch"):
            asking.complete(request(1))
        other.transact(lambda c: c.execute("DELETE FROM batched"))
        other.close()
        assert asking.complete(request(1)).text == "reply to 1"


def test_claims_are_renewed_while_their_process_lives(place, monkeypatch):
    monkeypatch.setattr(writer, "RENEW_S", 0.05)
    with (
        serving(OpenAIServer(latency_s=1.0)) as server,
        client(server, place) as asking,
        ThreadPoolExecutor(1) as pool,
    ):
        future = pool.submit(asking.complete, request(1))
        while not server.requests:
            time.sleep(0.005)
        (_, _, _, _, first), *_ = rows(place, "owners")
        while rows(place, "owners")[0][-1] == first:
            time.sleep(0.01)
        assert future.result().text == "reply to 1"


class TestInOneTransaction:
    @pytest.fixture
    def cache(self, place):
        cache = ReplyCache(place)
        yield cache
        cache.close()

    def test_a_request_has_one_owner_until_it_is_given_up(self, cache):
        one, other = (cache.transact(leases.add_owner) for _ in range(2))
        claim = lambda owner: cache.transact(lambda c: leases.claim(c, "k", owner)).state  # noqa: E731
        assert [claim(one), claim(one), claim(other)] == ["ours", "ours", "asked elsewhere"]
        assert cache.transact(leases.claimed_keys) == {"k"}
        cache.transact(lambda c: leases.end_claim(c, "k", other))
        assert claim(other) == "asked elsewhere"
        cache.transact(lambda c: leases.end_claim(c, "k", one))
        assert claim(other) == "ours"

    def test_a_reply_ends_the_claim_and_is_handed_to_the_next(self, cache):
        one, other = (cache.transact(leases.add_owner) for _ in range(2))
        cache.transact(lambda c: leases.claim(c, "k", one))
        cache.put("k", ChatReply("text", "m"))
        assert cache.transact(leases.claimed_keys) == set()
        claim = cache.transact(lambda c: leases.claim(c, "k", other))
        assert (claim.state, claim.reply) == ("kept", ChatReply("text", "m"))

    def test_a_lease_that_was_not_renewed_frees_what_was_claimed_and_counts_what_was_set_aside_as_lost(
        self, cache, monkeypatch
    ):
        monkeypatch.setattr(owner, "_GRACE_S", 0.0)
        one, other = (cache.transact(leases.add_owner) for _ in range(2))
        cache.transact(lambda c: leases.claim(c, "k", one))
        cache.transact(lambda c: reservations.reserve(c, 0.5, 10, one))
        assert (cache.usage().unanswered_usd, cache.usage().under_way_usd) == (0, 0.5)
        cache.transact(lambda c: c.execute("UPDATE owners SET expires_at = 1 WHERE id = ?", (one,)))
        assert (cache.usage().unanswered_usd, cache.usage().under_way_usd) == (0.5, 0)
        assert cache.transact(lambda c: leases.claim(c, "k", other)).state == "ours"
        cache.transact(lambda c: leases.renew(c, one))
        assert cache.transact(lambda c: leases.claim(c, "k", one)).state == "asked elsewhere"

    def test_those_who_come_clear_away_what_the_dead_have_left(self, cache):
        dead = cache.transact(leases.add_owner)
        cache.transact(lambda c: leases.claim(c, "k", dead))
        cache.transact(lambda c: c.execute("UPDATE owners SET started = 'long ago'"))
        living = cache.transact(leases.add_owner)
        assert living != dead
        assert cache.transact(lambda c: c.execute("SELECT id FROM owners").fetchall()) == [(living,)]
        assert cache.transact(lambda c: c.execute("SELECT * FROM claims").fetchall()) == []


def test_who_lives():
    process = subprocess.Popen([sys.executable, "-c", ""])
    while started_at(process.pid) is not None:
        time.sleep(0.005)  # It has ended, and is still in the table of processes until it is waited for.
    process.wait()
    assert started_at(process.pid) is None
    assert not replace(this_process(), pid=process.pid).lives(0)
    assert not replace(this_process(), started="1").lives(0)
    assert replace(this_process(), host="another", pid=1, started="1").lives(0)


@pytest.mark.parametrize("host", ["this", "another"])
def test_a_lease_that_has_ended_frees_a_process_that_renews_it_no_more(monkeypatch, host):
    silent = replace(this_process(), expires_at=999.0)
    if host == "another":
        silent = replace(silent, host=host, pid=1, started="1")
    now_s = time.monotonic()
    assert silent.lives(999.0)
    monkeypatch.setattr(leases, "_ended", {})
    # The clock may have been set, or the machine have slept: whoever lives has time to renew.
    for passed_s, lives in ((0, True), (RENEW_S, True), (RENEW_S + 6, False)):
        monkeypatch.setattr(time, "monotonic", lambda passed_s=passed_s: now_s + passed_s)
        assert silent.lives(1000.0) is lives
    assert replace(silent, expires_at=999.5).lives(1000.0)
    assert not replace(this_process(), pid=2**22 + 1, expires_at=999.5).lives(1000.0)


@pytest.mark.parametrize(("error", "lives"), [(ProcessLookupError, False), (PermissionError, True), (None, True)])
def test_without_proc_only_the_number_counts(monkeypatch, error, lives):
    class Nowhere:
        def __init__(self, path):
            pass

        def read_text(self, **options):
            raise FileNotFoundError

    def kill(pid, signal):
        if error is not None:
            raise error

    monkeypatch.setattr(leases, "Path", Nowhere)
    monkeypatch.setattr(os, "kill", kill)
    assert started_at(5) == ("" if lives else None)
