"""A budget against a real server: never passed, whatever happens; and nothing that was received is lost."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.client import Client
from apportion.llm_client.cost.prices import Price
from apportion.llm_client.cost.tokens import most_input_tokens
from apportion.llm_client.errors import BudgetError, RequestError, SetupError
from apportion.llm_client.request import ChatMessage, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.usage import Overrun
from tests.llm_client.batching import place_of
from tests.llm_client.openai_server import Fault, OpenAIServer, completion, echo, serving

ROOT = Path(__file__).resolve().parents[3]
PRICES = '[models]\n"m" = { input = 1000, output = 10000 }\n"endless" = { input = 1, output = 1 }\n'
USD_A_REPLY = (11 * 1000 + 7 * 10000) / 1e6
"""Of what the server counts: 11 input and 7 output tokens."""


def request(text="hello"):
    return ChatRequest("m", (ChatMessage("user", text),), max_tokens=10, subject="session s1")


MOST_USD = Price(input=1000, output=10000).most_usd(request("00"))


@pytest.fixture
def prices(tmp_path, place):
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return path


def client(server, prices, budget_usd, **options):
    settings = LLMSettings(base_url=server.url, **{"model": "m", "max_tokens": 10, "max_retries": 0, **options})
    return Client(settings, cache=place_of(prices.parent), prices=prices, budget_usd=budget_usd)


def used(prices):
    cache = ReplyCache(place_of(prices.parent))
    usage = cache.usage()
    cache.close()
    return usage


def ask_many(asking, count):
    def ask(number):
        try:
            return asking.complete(request(f"{number:02}")).text
        except BudgetError as error:
            return error

    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(ask, range(count)))


@pytest.mark.parametrize("concurrency", [1, 16])
def test_it_is_never_passed_and_used_as_far_as_it_goes(prices, concurrency):
    budget_usd = 2.0
    with (
        serving(OpenAIServer(latency_s=0.01)) as server,
        client(server, prices, budget_usd, concurrency=concurrency) as c,
    ):
        results = ask_many(c, 60)
    texts = [result for result in results if isinstance(result, str)]
    # A request is sent while its dearest outcome fits, so what is left is less than that.
    assert budget_usd - MOST_USD < len(texts) * USD_A_REPLY <= budget_usd
    assert len(server.requests) == len(texts) == used(prices).replies
    assert used(prices).usd == pytest.approx(len(texts) * USD_A_REPLY) and used(prices).unanswered_usd == 0
    error = next(result for result in results if not isinstance(result, str))
    assert str(error).startswith("stopped before the budget of $2.00 is passed: $1.")
    assert f"next request may cost up to ${MOST_USD:.4f}" in str(error)


def test_a_higher_budget_goes_on_and_kept_replies_are_free(prices):
    with serving(OpenAIServer()) as server:
        with client(server, prices, 1.0) as c:
            first = ask_many(c, 30)
        sent = len(server.requests)
        with client(server, prices, 1.0) as c:
            assert [isinstance(r, str) for r in ask_many(c, 30)] == [isinstance(r, str) for r in first]
        assert len(server.requests) == sent
        with client(server, prices, 10.0) as c:
            assert all(isinstance(result, str) for result in ask_many(c, 30))
    assert len(server.requests) == 30


def test_what_the_server_refuses_or_never_saw_is_not_paid(prices):
    faults = [Fault(500), Fault(429, headers=(("Retry-After-Ms", "1"),)), Fault(400, "no")]
    with serving(OpenAIServer(faults=faults)) as server, client(server, prices, MOST_USD, max_retries=2) as c:
        with pytest.raises(RequestError, match="refused"):
            c.complete(request("00"))
        assert c.complete(request("00")).text == "reply to 00"
    assert used(prices).unanswered_usd == 0
    with serving(OpenAIServer()) as server:
        pass
    with client(server, prices, 10) as c, pytest.raises(SetupError, match="no connection"):
        c.complete(request())
    assert used(prices).unanswered_usd == 0


@pytest.mark.parametrize("fault", [Fault(raw=b"{}"), Fault(raw=b"<html>")])
def test_an_answer_without_a_reply_may_have_been_paid(prices, fault):
    server = OpenAIServer(faults=[fault])
    with serving(server), client(server, prices, 10) as c, pytest.raises(RequestError):
        c.complete(request("00"))
    assert used(prices).unanswered_usd == pytest.approx(MOST_USD)


def test_every_try_without_an_answer_in_time_may_have_been_paid(prices):
    server = OpenAIServer(latency_s=0.5)
    with (
        serving(server),
        client(server, prices, 2.5 * MOST_USD, timeout_s=0.05, max_retries=5) as c,
        pytest.raises(BudgetError, match=r"set aside for requests whose reply never came"),
    ):
        c.complete(request("00"))
    assert len(server.requests) == 2
    assert used(prices).unanswered_usd == pytest.approx(2 * MOST_USD)


def counted(tokens):
    """A server that counts so many tokens of its reply, whatever it was asked for."""
    usage = {"prompt_tokens": 11, "completion_tokens": tokens}
    return OpenAIServer(answer=lambda body: {**completion("text"), "usage": usage})


def test_a_budget_that_the_server_s_count_exceeds_is_called_exceeded(prices):
    asked, cost_usd = most_input_tokens(request("00")) + 10, (11 * 1000 + 500 * 10000) / 1e6
    with serving(counted(500)) as server, client(server, prices, 2.0) as c:
        c.complete(request("00"))
        with pytest.raises(BudgetError) as caught:
            c.complete(request("01"))
    assert str(caught.value).startswith(
        f"the budget of $2.00 is exceeded by ${cost_usd - 2:.2f}, because the server counted 511 tokens for a "
        f"reply where at most {asked} were asked (${cost_usd - MOST_USD:.2f} more than foreseen)."
    )
    assert len(server.requests) == 1 and "left" not in str(caught.value)
    assert used(prices).overrun == Overrun(pytest.approx(cost_usd - MOST_USD), asked, 511)


def test_a_server_that_does_not_count_and_does_not_keep_to_max_tokens_is_taken_at_the_length_of_its_reply(prices):
    def answer(body):
        return {**completion("x" * 4000), "usage": None}

    with serving(OpenAIServer(answer=answer)) as server, client(server, prices, 2.0) as c:
        c.complete(request("00"))
        with pytest.raises(BudgetError, match=r"because a reply took about .* tokens, not all counted by the server"):
            c.complete(request("01"))
    assert used(prices).usd == pytest.approx(MOST_USD + 990 * 10000 / 1e6) and used(prices).uncounted == 1


def test_closing_keeps_the_replies_received_and_counts_those_under_way(prices):
    with serving(OpenAIServer(latency_s=0.3)) as server:
        c = client(server, prices, 10, concurrency=2)
        with ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(c.complete, request(f"{n:02}")) for n in range(4)]
            while len(server.requests) < 4:
                time.sleep(0.005)
            c.close()
            received = sum(future.exception() is None for future in waiting)
    assert received == used(prices).replies >= 2
    assert used(prices).unanswered_usd == pytest.approx((4 - received) * MOST_USD)


def test_a_budget_that_cannot_be_kept_is_refused_with_words(prices):
    with serving(OpenAIServer()) as server:
        with pytest.raises(SetupError, match=r"no price is known for 'odd'.*run\.prices"):
            client(server, prices, 1, model="odd")
        with pytest.raises(SetupError, match=r"how long a reply of 'endless' can be.*max_tokens"):
            client(server, prices, 1, model="endless", max_tokens=None)
        with pytest.raises(SetupError, match="a budget needs a cache of replies"):
            Client(LLMSettings(base_url=server.url, model="m"), prices=prices, budget_usd=1)
    assert server.requests == []


ASKER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from apportion.llm_client.client import Client
from apportion.llm_client.errors import BudgetError
from apportion.llm_client.settings import LLMSettings
from tests.llm_client.batching import place_of
from tests.llm_client.cost.test_spending_limit import request

url, folder, budget = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
settings = LLMSettings(base_url=url, model="m", max_tokens=10, max_retries=0, concurrency=8)

def ask(n):
    try:
        return client.complete(request(f"{n:02}")).text
    except BudgetError:
        return None

files = {"cache": place_of(folder), "prices": folder / "prices.toml"}
with Client(settings, **files, budget_usd=budget) as client, ThreadPoolExecutor(8) as pool:
    print("started", flush=True)
    print(sum(text is not None for text in pool.map(ask, range(40))), flush=True)
"""


@pytest.mark.slow
def test_kill_9_pays_nothing_twice_but_what_was_under_way_and_never_passes_the_budget(prices, tmp_path):
    delivered = []

    def answer(body):
        delivered.append(body["messages"][-1]["content"])
        return echo(body)

    budget_usd = 20.0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serving(OpenAIServer(answer=answer, latency_s=0.05)) as server:
        command = [sys.executable, "-c", ASKER, server.url, str(tmp_path), str(budget_usd)]
        kills = 0
        for after in (3, 9, 15):
            asker = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment)
            asker.stdout.readline()
            before = len(server.requests)
            while len(server.requests) < before + after:
                assert asker.poll() is None
                time.sleep(0.002)
            asker.send_signal(signal.SIGKILL)
            asker.communicate()
            kills += 1
            time.sleep(0.1)
            # Whatever the server has sent is within the budget, and so is its account of it.
            assert len(delivered) * USD_A_REPLY <= used(prices).usd + used(prices).unanswered_usd <= budget_usd
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.stdout.split() == ["started", "40"], done.stderr
    assert used(prices).replies == 40
    assert len(delivered) - 40 <= kills * 8
