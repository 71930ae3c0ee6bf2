import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.transport.rate_limiting import limits as limits_module
from apportion.llm_client.transport.rate_limiting.limits import RateLimits
from apportion.llm_client.transport.rate_limiting.pace import Pace


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now_s = 1e5

    def __call__(self):
        return self.now_s

    async def sleep(self, seconds):
        assert seconds > 0
        self.now_s += seconds


def admitted(amounts, requests=None, tokens=None):
    """When each of the requests went out, in seconds after the first one could."""
    clock = Clock()
    limits = RateLimits(requests, tokens, clock, clock.sleep)

    async def go():
        times = []

        async def one(amount):
            await limits.admit(amount)
            times.append((clock(), amount))

        await asyncio.gather(*(one(amount) for amount in amounts))
        return times

    return asyncio.run(go())


def most_in_a_minute(times, weight):
    return max(sum(weight(a) for t, a in times if start <= t < start + 60 - 1e-3) for start, _ in times)


@given(st.integers(1, 2000), st.integers(1, 300))
def test_no_minute_has_more_requests_than_allowed(limit, count):
    times = admitted([1] * count, requests=limit)
    assert len(times) == count
    assert most_in_a_minute(times, lambda amount: 1) <= limit
    # Nor is the limit left unused: a full minute's worth takes about a minute.
    assert times[-1][0] - times[0][0] <= 60 * count / limit * 1.02 + 1


@given(st.integers(1000, 100_000), st.lists(st.floats(0, 0.1), min_size=1, max_size=200))
def test_no_minute_has_more_tokens_than_allowed(limit, shares):
    amounts = [int(share * limit) for share in shares]
    assert most_in_a_minute(admitted(amounts, tokens=limit), lambda amount: amount) <= limit + 1


def test_requests_go_in_order_and_one_above_the_limit_alone():
    times = [t for t, _ in admitted([500, 1, 1], tokens=100)]
    assert times[1] - times[0] > 60 * 4
    amounts = [90, 1, 80, 2, 70, 3]
    assert [amount for _, amount in admitted(amounts, requests=60, tokens=100)] == amounts


def test_the_servers_count_corrects_the_estimate():
    clock = Clock()
    limits = RateLimits(None, 600, clock, clock.sleep)

    async def go():
        await limits.admit(60)
        limits.correct(60, 10)
        await limits.admit(50)
        assert clock() == 1e5
        limits.correct(50, 590)
        await limits.admit(1)
        assert clock() - 1e5 == pytest.approx(541 / 9)

    asyncio.run(go())


def test_a_pause_holds_everybody():
    clock = Clock()
    pace = Pace(1, clock)
    limits = RateLimits(None, None, clock, clock.sleep, pace)

    async def go():
        pace.hold(30)
        pace.hold(5)
        await limits.admit(1)
        assert clock() == 1e5 + 30

    asyncio.run(go())


def test_a_request_that_is_called_off_while_it_waits_takes_nothing():
    async def go():
        limits = RateLimits(60, None)
        await limits.admit(1)
        waiting = [asyncio.create_task(limits.admit(1)) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in waiting:
            task.cancel()
        assert all(
            isinstance(r, asyncio.CancelledError) for r in await asyncio.gather(*waiting, return_exceptions=True)
        )
        limits._requests.take(-1)
        await asyncio.wait_for(limits.admit(1), 60)

    asyncio.run(go())


class SharedWithNobody:
    """Limits that are shared; ``meanwhile`` happens while a client looks after its share."""

    count_tokens, at_once, has_left = False, 4, False

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    async def balance(self, under_way):
        await self.meanwhile()

    async def take(self, tokens):
        return 0.0

    async def leave(self):
        self.has_left = True


def test_a_request_that_comes_while_nothing_is_under_way_any_more_is_looked_after(monkeypatch):
    monkeypatch.setattr(limits_module, "BALANCE_S", 0.01)

    async def go():
        coming = []

        async def one_comes():
            if asyncio.current_task().get_name() == "first" or coming:
                return
            coming.append(asyncio.create_task(limits.admit(0)))
            await asyncio.sleep(0.01)  # It waits for its turn now.

        shared = SharedWithNobody(one_comes)
        limits = RateLimits(None, None, shared=shared)
        asyncio.current_task().set_name("first")
        await limits.admit(0)
        limits.leave()
        while not coming:
            await asyncio.sleep(0.01)
        await coming[0]
        await asyncio.sleep(0.05)
        limits.leave()
        async with asyncio.timeout(5):
            while not shared.has_left:
                await asyncio.sleep(0.01)
        return shared.has_left, coming[0].done()

    # Without being looked after, the client would hold its share for ever.
    assert asyncio.run(asyncio.wait_for(go(), 20)) == (True, True)
