"""What all requests to a server learn from one that failed: too many at a time, nobody there, nobody to be trusted."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from apportion.llm_client.errors import LLMError, RequestError, ServerUnavailableError, SetupError
from apportion.llm_client.transport.attempt import Attempt
from tests.llm_client.at_once import answer, ask, client, request
from tests.llm_client.certificates import certificate, server_context
from tests.llm_client.openai_server import Fault, OpenAIServer, serving
from tests.llm_client.serve import server_process


def ask_all(asking, count, at_once):
    """The texts or the errors of ``count`` requests."""
    return ask(asking, range(count), at_once)


class Limited(OpenAIServer):
    """Takes ``per_s`` requests a second, ``burst`` of them at once, and answers 429 to the others."""

    def __init__(self, per_s, burst, *headers, **options):
        super().__init__(refuse=self.limit, **options)
        self.per_s, self.burst, self.told = per_s, burst, headers
        self.level, self.filled_at, self.guard, self.refused = burst, time.monotonic(), threading.Lock(), 0

    def limit(self, body):
        with self.guard:
            now = time.monotonic()
            self.level = min(self.burst, self.level + self.per_s * (now - self.filled_at))
            self.filled_at = now
            if self.level >= 1:
                self.level -= 1
                return None
            self.refused += 1
        return Fault(429, "slow down", headers=self.told)


@pytest.mark.parametrize("headers", [(("Retry-After-Ms", "200"),), ()])
def test_a_server_that_takes_few_a_second_gets_them_all_answered(headers, caplog):
    server = Limited(40, 40, *headers)
    started_s = time.monotonic()
    with serving(server), client(server.url, concurrency=32) as asking:
        texts = ask_all(asking, 80, 32)
    assert texts == [f"reply to {n}" for n in range(80)]
    assert time.monotonic() - started_s >= 1
    told = [record.message for record in caplog.records if "too many requests" in record.message]
    assert len(told) == 1 and "requests_per_minute and concurrency set" in told[0]
    # Waiters go at the pace that the server has shown, and do not rush in all at once with each pause's end.
    assert server.refused <= 80


@pytest.mark.slow
@pytest.mark.parametrize(("per_s", "at_once", "count"), [(1, 16, 60), (8, 64, 400)])
def test_slow_servers_answer_every_request_at_four_fifths_of_what_they_allow(per_s, at_once, count):
    server = Limited(per_s, per_s, ("Retry-After", "1"))
    with serving(server), client(server.url, concurrency=at_once, max_retries=5) as asking:
        started_s = time.monotonic()
        texts = ask_all(asking, count, at_once)
    seconds = time.monotonic() - started_s
    assert texts == [f"reply to {n}" for n in range(count)]
    assert count / (per_s + per_s * seconds) >= 0.8
    assert server.refused <= count / 2


def test_a_wait_of_nothing_is_no_invitation_to_hammer():
    server = OpenAIServer(faults=[Fault(429, headers=(("Retry-After", "0"),))])
    assert answer(server).text == "reply to 0"
    assert server.arrivals_s[1] - server.arrivals_s[0] >= 0.75 * 0.5


def test_a_request_that_alone_is_too_much_waits_for_nothing():
    words = "Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000."
    server = OpenAIServer(faults=[Fault(429, words, "rate_limit_exceeded")])
    with serving(server), client(server.url) as asking:
        with pytest.raises(RequestError, match=r"Limit 10000.*more than the account may send in a minute"):
            asking.complete(request())
        assert asking.complete(request()).text == "reply to 0"
    assert len(server.requests) == 2


def test_so_long_without_any_reply_stops_everything_with_what_to_do(no_pause):
    server = OpenAIServer(refuse=lambda body: Fault(429, "come back later"))
    with serving(server), client(server.url, total_timeout_s=0.3, concurrency=4) as asking:
        errors = ask_all(asking, 8, 4)
        asked = len(server.requests)
        with pytest.raises(ServerUnavailableError) as later:
            asking.complete(request(9))
    assert {type(error) for error in errors} == {ServerUnavailableError}
    told = str(errors[0])
    assert told.startswith("127.0.0.1 takes no requests") and "come back later. That is beyond" in told
    assert "total_timeout_s = 0.3. Replies received are kept; run the same command again then." in told
    assert (str(later.value), len(server.requests)) == (told, asked)


def test_a_reply_now_and_then_is_enough_to_go_on():
    server = OpenAIServer(faults=[Fault(429, headers=(("Retry-After-Ms", "200"),))])
    server.refuse = lambda body: (
        Fault(429, headers=(("Retry-After-Ms", "200"),)) if len(server.requests) % 2 == 1 else None
    )
    with serving(server), client(server.url, total_timeout_s=0.5, concurrency=1) as asking:
        assert ask_all(asking, 4, 1) == [f"reply to {n}" for n in range(4)]


def test_time_in_which_nobody_asks_is_not_in_vain():
    refusal = Fault(429, headers=(("Retry-After-Ms", "100"),))
    server = OpenAIServer(faults=[refusal, Fault(400, "no"), refusal])
    with serving(server), client(server.url, total_timeout_s=0.3) as asking:
        with pytest.raises(RequestError, match="refused the request: no"):
            asking.complete(request(0))
        time.sleep(0.4)
        assert asking.complete(request(1)).text == "reply to 1"


def test_a_server_s_error_with_a_pause_too_long_stops_everything():
    server = OpenAIServer(faults=[Fault(500, "maintenance", headers=(("Retry-After", "86000"),))])
    with pytest.raises(ServerUnavailableError, match=r"come back in 86000 s\. That is beyond total_timeout_s = 900"):
        answer(server, max_retries=1)


def test_one_request_that_is_always_refused_ends_alone(monkeypatch):
    monkeypatch.setattr("apportion.llm_client.transport.circuit_breaker._TRIES_OF_ONE", 3)

    def refuse(body):
        fault = Fault(429, "not this one", headers=(("Retry-After-Ms", "60"),))
        return fault if body["messages"][0]["content"] == "0" else None

    server = OpenAIServer(refuse=refuse, latency_s=0.02)
    with serving(server), client(server.url, concurrency=4, total_timeout_s=0.2) as asking:
        results = ask_all(asking, 20, 4)
    assert isinstance(results[0], RequestError) and "answered 429: not this one" in str(results[0])
    assert results[1:] == [f"reply to {n}" for n in range(1, 20)]


def test_a_long_wait_is_announced(caplog):
    server = OpenAIServer(faults=[Fault(429, "wait", headers=(("Retry-After", "40"),))])
    with serving(server), client(server.url) as asking, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(asking.complete, request())
        while not (caplog.records or asked.done()):
            time.sleep(0.01)
        asking.close()
        assert isinstance(asked.exception(), LLMError)
    assert [record.message for record in caplog.records] == ["127.0.0.1 takes no more requests for 40 s; waiting"]


def gone():
    """The address of a server that is not there any more."""
    with serving(OpenAIServer()) as server:
        return server.url


def test_a_server_that_was_never_there_is_given_up_after_one_request_s_tries(no_pause, monkeypatch):
    tries = []
    call = Attempt.__call__

    async def counted(post, body):
        tries.append(1)
        return await call(post, body)

    monkeypatch.setattr(Attempt, "__call__", counted)
    url = gone()
    with client(url, concurrency=4, max_retries=5) as asking:
        errors = ask_all(asking, 100, 4)
    assert {type(error) for error in errors} == {SetupError}
    assert {str(error) for error in errors} == {
        f"no connection to {url} in 6 tries: the connection was refused. Is the server running and base_url right?"
    }
    # One burst of at most four, and then one at a time.
    assert 6 <= len(tries) <= 4 + 5


def test_a_server_that_has_answered_before_gets_more_patience_and_then_stops_the_run(no_pause):
    with ThreadPoolExecutor(4) as pool:
        with server_process() as (process, url):
            asking = client(url, concurrency=4, max_retries=1)
            assert asking.complete(request()).text == "reply to 0"
            process.kill()
            process.wait()
        errors = [pool.submit(asking.complete, request(n)) for n in range(1, 40)]
        told = {f"{type(error.exception()).__name__}: {error.exception()}" for error in errors}
        asking.close()
    assert told == {
        f"ServerUnavailableError: no connection to {url} in 6 tries: the connection was refused. It has "
        "answered before; does it still run? Replies received are kept; run the same command again once it does."
    }


def test_a_name_that_nobody_knows_is_told(no_pause):
    with (
        client("http://no-such-host.invalid/v1", allow_host="no-such-host.invalid", api_key_env="PATH") as asking,
        pytest.raises(SetupError, match=r"the name no-such-host\.invalid is not known here: "),
    ):
        asking.complete(request())


def test_a_server_that_is_silent_is_not_there(no_pause):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as callers:
        for _ in range(4):  # More than it has room for: who comes now gets no answer.
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        with (
            client(url, timeout_s=0.4, max_retries=1) as asking,
            pytest.raises(SetupError, match=r"no connection to .* in 2 tries: nobody answers there\."),
        ):
            asking.complete(request())


@pytest.mark.parametrize(
    ("names", "trusted", "words"),
    [
        (("expired", "IP:127.0.0.1"), True, "it has expired; whoever runs the server has to renew it"),
        (("IP:127.0.0.1",), False, "it is self-signed. If it is yours or your company's, SSL_CERT_FILE=FILE names"),
        (("DNS:other.example",), True, "it is for another name .*; base_url has to say the name that is in the"),
    ],
)
def test_a_certificate_that_is_not_trusted_is_told_at_once(tmp_path, monkeypatch, names, trusted, words):
    expired = names[0] == "expired"
    path = certificate(tmp_path, *names[expired:], expired=expired)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    server = OpenAIServer()
    with (
        serving(server, tls=server_context(path)),
        client(server.url, max_retries=5) as asking,
        pytest.raises(SetupError, match=f"the certificate of 127.0.0.1 is not trusted: {words}.*Nothing was sent"),
    ):
        asking.complete(request())
    assert server.requests == []


def test_https_to_a_server_of_plain_http_is_told():
    with (
        serving(OpenAIServer()) as server,
        client(server.url.replace("http:", "https:"), max_retries=5) as asking,
        pytest.raises(SetupError, match=r"does not speak TLS .*plain http, its address begins with http://"),
    ):
        asking.complete(request())
