"""Two clients on one cache: the limits of a server are shared out among them, and nothing of them is left unused."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.rate_limiting import limits
from tests.llm_client.at_once import ask, request
from tests.llm_client.cache.test_leases import ROOT, rows
from tests.llm_client.openai_server import OpenAIServer, echo, serving


def client(server, path, **options):
    return Client(LLMSettings(**{"base_url": server.url, "model": "m", "max_retries": 0, **options}), cache=path)


@pytest.fixture(autouse=True)
def looked_after_often(monkeypatch):
    monkeypatch.setattr(limits, "BALANCE_S", 0.2)


def test_together_they_have_no_more_requests_under_way_than_one_may(tmp_path):
    clients = 3
    with serving(OpenAIServer(latency_s=0.1)) as server, ExitStack() as stack, ThreadPoolExecutor(clients) as pool:
        asking = [stack.enter_context(client(server, tmp_path / "c", concurrency=4)) for _ in range(clients)]
        texts = pool.map(lambda n: ask(asking[n], range(8 * n, 8 * n + 8), 4), range(clients))
        assert [text for part in texts for text in part] == [f"reply to {n}" for n in range(8 * clients)]
    assert server.most_at_once == 4
    assert rows(tmp_path / "c", "askers") == []


def test_what_one_does_not_use_any_more_falls_to_the_other_though_its_client_lives_on(tmp_path):
    server = OpenAIServer(latency_s=0.2)
    with (
        serving(server),
        client(server, tmp_path / "c", concurrency=4) as one,
        client(server, tmp_path / "c", concurrency=4) as two,
    ):
        ask(one, range(4), 4)
        assert server.most_at_once == 4
        ask(two, range(4, 5), 4)
        server.most_at_once = 0
        # Within a few looks the second is alone.
        while [slots for _, _, slots, _ in rows(tmp_path / "c", "askers")] != [4]:
            ask(two, range(len(server.requests), len(server.requests) + 4), 4)
        server.most_at_once = 0
        ask(two, range(1000, 1008), 4)
        assert server.most_at_once == 4


def test_a_client_that_asks_nothing_for_a_while_holds_nothing(tmp_path):
    with serving(OpenAIServer()) as server, client(server, tmp_path / "c") as asking:
        asking.complete(request(1))
        assert [slots for _, _, slots, _ in rows(tmp_path / "c", "askers")] == [16]
        while rows(tmp_path / "c", "askers"):
            time.sleep(limits.BALANCE_S / 10)
        assert asking.complete(request(2)).text == "reply to 2"


LEFT_OPEN = """
import sys, threading, time
from pathlib import Path
from apportion.llm_client.client import Client
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.at_once import request

Client(LLMSettings(base_url=sys.argv[1], model="m"), cache=Path(sys.argv[2])).complete(request(1))
threading.Thread(target=time.sleep, args=(1.5,)).start()  # The interpreter begins to end, and waits for this.
"""


@pytest.mark.slow
def test_a_process_that_ends_without_closing_its_client_says_nothing_of_it(tmp_path):
    with serving(OpenAIServer()) as server:
        command = [sys.executable, "-c", LEFT_OPEN, server.url, str(tmp_path / "c")]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stderr == ""


@pytest.mark.slow
def test_a_minute_is_one_for_all_who_ask_in_it_at_once_or_one_after_the_other(tmp_path):
    with serving(OpenAIServer()) as server:
        for first in (0, 3):
            with client(server, tmp_path / "c", requests_per_minute=120) as one:
                ask(one, range(first, first + 3), 3)
        with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
            both = [stack.enter_context(client(server, tmp_path / "c", requests_per_minute=120)) for _ in range(2)]
            list(pool.map(lambda n: ask(both[n], range(10 + 3 * n, 13 + 3 * n), 3), range(2)))
    # Two at once, and 118 evenly in a minute: none of the clients begins with a burst of its own.
    for index, arrival_s in enumerate(server.arrivals_s):
        assert index + 1 <= 2 + 118 / 60 * (arrival_s - server.arrivals_s[0] + 1)


@pytest.mark.slow
def test_tokens_that_one_has_used_are_gone_for_the_other(tmp_path):
    server = OpenAIServer(answer=lambda body: echo(body) | {"usage": {"prompt_tokens": 150, "completion_tokens": 10}})
    with serving(server):
        for number in range(2):
            with client(server, tmp_path / "c", tokens_per_minute=1200) as asking:
                asking.complete(request(number))
    # 120 of the 1,200 go out at once, and 18 a second after that: the first reply has left a debt of 40.
    assert server.arrivals_s[1] - server.arrivals_s[0] > 40 / 18


def test_a_slash_at_an_address_s_end_is_the_same_server_and_another_model_another(tmp_path):
    with (
        serving(OpenAIServer()) as server,
        serving(OpenAIServer()) as other,
        client(server, tmp_path / "c", concurrency=4) as one,
        client(other, tmp_path / "c", concurrency=4) as two,
        client(server, tmp_path / "c", concurrency=4, model="n") as three,
    ):
        for number, asking in enumerate((one, two, three)):
            asking.complete(request(number))
        assert [slots for _, _, slots, _ in rows(tmp_path / "c", "askers")] == [4, 4, 4]
    with (
        serving(OpenAIServer()) as server,
        client(server, tmp_path / "d", concurrency=4) as one,
        client(server, tmp_path / "d", concurrency=4, base_url=f"{server.url}/") as two,
    ):
        one.complete(request(0))
        two.complete(request(1))
        assert len({name for name, *_ in rows(tmp_path / "d", "askers")}) == 1
