"""Two runs on one budget: what the other has set aside is no lost money, and comes back."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from apportion.llm_client.cache import leases, reservations
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.errors import BudgetError
from apportion.llm_client.request import ChatReply
from tests.llm_client.batching import place_of
from tests.llm_client.cost.test_spending_limit import MOST_USD, USD_A_REPLY, ask_many, client, prices, request, used
from tests.llm_client.openai_server import OpenAIServer, serving

__all__ = ["prices"]


def test_two_runs_use_one_budget_as_far_as_it_goes_and_never_pass_it(prices):
    budget_usd = 1.5
    with (
        serving(OpenAIServer(latency_s=0.05)) as server,
        ThreadPoolExecutor(2) as pool,
        client(server, prices, budget_usd, concurrency=8) as one,
        client(server, prices, budget_usd) as other,
    ):
        results = list(pool.map(lambda c: ask_many(c, 30), (one, other)))
    assert budget_usd - MOST_USD < used(prices).usd <= budget_usd
    assert used(prices).replies == len(server.requests)
    assert used(prices).usd == pytest.approx(len(server.requests) * USD_A_REPLY)
    assert all(any(isinstance(result, BudgetError) for result in half) for half in results)


def test_a_run_waits_for_what_another_will_give_back(prices):
    with (
        serving(OpenAIServer(latency_s=0.3)) as server,
        ThreadPoolExecutor(1) as pool,
        client(server, prices, MOST_USD + USD_A_REPLY) as one,
        client(server, prices, MOST_USD + USD_A_REPLY) as two,
    ):
        first = pool.submit(one.complete, request("00"))
        while not server.requests:
            time.sleep(0.005)
        assert used(prices).under_way_usd == pytest.approx(MOST_USD) and used(prices).unanswered_usd == 0
        assert two.complete(request("01")).text == "reply to 01"
        assert first.result().text == "reply to 00"
    assert used(prices).under_way_usd == used(prices).unanswered_usd == 0


def test_the_error_tells_money_under_way_in_another_run_from_lost_money_and_from_batches(prices):
    cache = ReplyCache(place_of(prices.parent))
    cache.put("k", ChatReply("x", "m", 1, 1), 0.25)

    def fill(connection):
        other = leases.add_owner(connection)
        for usd, owner in ((1.0, other), (2.0, None), (3.0, None)):
            reservations.reserve(connection, usd, 100, owner)
        connection.execute("INSERT INTO batches (token, url, dialect) VALUES ('t', 'u', '[]')")
        connection.execute("INSERT INTO batched VALUES ('b', 1, 3)")

    cache.transact(fill)
    assert cache.usage().cost_text() == (
        "$0.2500 (and at most $2.00 for requests whose reply never came) (and at most $1.00 for requests under way in "
        "another run) (and at most $3.00 for requests in a batch)"
    )
    with serving(OpenAIServer()) as server, client(server, prices, 6.5) as c:
        assert (
            "$0.2500 paid for 1 replies, $2.00 set aside for requests whose reply never came, $1.00 set aside by "
            "another run that is under way, $3.00 set aside for requests that are in a batch; the next"
        ) in c._budget.reached(1.0)
    cache.close()
