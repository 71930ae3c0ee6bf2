"""The limits of a server as clients on one cache share them out: never more in all, and nothing left unused."""

import sqlite3
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.llm_client.cache import leases, shared_slots
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.schema import bring_up_to_date
from apportion.llm_client.token_bucket import REQUEST_BURST_S, Bucket

SERVER = "http://here/v1 m"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def ledger(request):
    """Opens an empty ledger, in one transaction that is never committed."""
    if request.param == "sqlite":
        made = sqlite3.connect(":memory:", isolation_level=None)
        bring_up_to_date(made)
    else:
        cache = ReplyCache(request.getfixturevalue("postgres").database("tests"))
        made = cache._database._connection("writing")

    @contextmanager
    def connection():
        made.execute("BEGIN")
        try:
            yield made
        finally:
            made.execute("ROLLBACK")

    yield connection
    (made if request.param == "sqlite" else cache).close()


@given(st.integers(1, 2000), st.integers(1, 100))
def test_shares_are_the_whole_and_as_even_as_can_be(most, askers):
    dealt = [shared_slots.share_of(most, rank, askers) for rank in range(askers)]
    assert sum(dealt) == most
    assert max(dealt) - min(dealt) <= 1
    assert min(dealt) >= 1 or askers > most
    assert dealt == sorted(dealt, reverse=True)


@given(
    st.integers(1, 9),
    st.lists(st.tuples(st.sampled_from(["look", "send", "reply", "leave", "die"]), st.integers(0, 4)), max_size=120),
)
def test_whoever_comes_goes_or_dies_no_more_are_under_way_than_allowed_and_all_is_used_in_the_end(ledger, most, steps):
    """What clients do is told by ``steps``; each acts on what it saw when it looked last."""
    with ledger() as file:
        numbers = [leases.add_owner(file) for _ in range(5)]
        slots, under_way = dict.fromkeys(numbers, shared_slots.Slots()), dict.fromkeys(numbers, 0)

        def look(number):
            slots[number] = shared_slots.balance_slots(file, number, SERVER, most, under_way[number])

        for what, index in steps:
            number = numbers[index]
            if what == "look":
                look(number)
            elif what == "send" and under_way[number] < slots[number].usable:
                under_way[number] += 1
            elif what == "reply" and under_way[number]:
                under_way[number] -= 1
            elif what == "leave" and not under_way[number]:
                shared_slots.leave(file, number, SERVER)
                slots[number] = shared_slots.Slots()
            elif what == "die":
                leases.remove_owner(file, number)
                numbers[index] = leases.add_owner(file)
                slots.pop(number), under_way.pop(number)
                slots[numbers[index]], under_way[numbers[index]] = shared_slots.Slots(), 0
            assert sum(under_way.values()) <= most
        under_way = dict.fromkeys(numbers, 0)
        for _ in range(3):  # All are known, all let go, all get theirs.
            for number in numbers:
                look(number)
        assert sorted((s.usable for s in slots.values()), reverse=True) == [
            shared_slots.share_of(most, r, 5) for r in range(5)
        ]


def test_the_dead_hold_nothing(ledger):
    with ledger() as file:
        killed, living = leases.add_owner(file), leases.add_owner(file)
        assert shared_slots.balance_slots(file, killed, SERVER, 8, 0).usable == 8
        assert shared_slots.balance_slots(file, living, SERVER, 8, 0) == (0, 4)
        file.execute("UPDATE owners SET started = 'long ago' WHERE id = ?", (killed,))
        assert shared_slots.balance_slots(file, living, SERVER, 8, 0).usable == 8
        leases.add_owner(file)
        assert file.execute("SELECT owner FROM askers").fetchall() == [(living,)]


def test_the_smallest_limit_that_one_of_them_knows_holds_for_all(ledger):
    with ledger() as file:
        one, other = leases.add_owner(file), leases.add_owner(file)
        assert shared_slots.balance_slots(file, one, SERVER, 16, 0).usable == 16
        assert shared_slots.balance_slots(file, other, SERVER, 4, 0) == (0, 2)
        assert shared_slots.balance_slots(file, one, SERVER, 16, 9) == (9, 2)
        assert shared_slots.balance_slots(file, one, SERVER, 16, 1) == (2, 2)
        assert shared_slots.balance_slots(file, other, SERVER, 4, 0) == (2, 2)


class Clock:
    now_s = 1e9

    def __call__(self):
        return self.now_s


@given(st.integers(1, 600), st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3)), min_size=1, max_size=80))
def test_no_minute_has_more_than_allowed_whoever_asks(ledger, per_minute, steps):
    """Four clients with a bucket each in their memory, of which only the one in the file counts; one may be new."""
    clock, sent = Clock(), []
    buckets = [{"n": Bucket(per_minute, REQUEST_BURST_S, clock)} for _ in range(4)]
    with ledger() as file:
        for client, pause_s in steps:
            clock.now_s += pause_s
            while shared_slots.take(file, buckets[client], {"n": 1}) > 0:
                clock.now_s += shared_slots.take(file, buckets[client], {"n": 1}) or 60 / per_minute
            sent.append(clock.now_s)
            buckets[client] = {"n": Bucket(per_minute, REQUEST_BURST_S, clock)}
    assert max(sum(start <= at < start + 60 - 1e-3 for at in sent) for start in sent) <= per_minute


def test_a_clock_that_was_set_back_and_a_debt_hold_nobody_for_long(ledger):
    clock = Clock()
    bucket = {"n": Bucket(600, 6.0, clock)}
    with ledger() as file:
        assert shared_slots.take(file, bucket, {"n": 500}) == 0
        assert shared_slots.take(file, bucket, {"n": 9}) == pytest.approx(449 / 9)
        shared_slots.correct(file, bucket, {"n": -491})
        assert shared_slots.take(file, bucket, {"n": 51}) == 0
        assert shared_slots.take(file, bucket, {"n": 9}) == pytest.approx(9 / 9)
    clock = Clock()
    bucket = {"n": Bucket(60, 1.0, clock)}
    with ledger() as file:
        assert shared_slots.take(file, bucket, {"n": 1}) == 0
        clock.now_s -= 3600
        assert shared_slots.take(file, bucket, {"n": 1}) == pytest.approx(1)
        clock.now_s += 1
        assert shared_slots.take(file, bucket, {"n": 1}) == 0
