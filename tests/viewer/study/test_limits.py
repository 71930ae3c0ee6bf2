import secrets

import pytest

from apportion.viewer.study.serving import MOST_ADDRESSES, WINDOW_S, EntryLimit


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_an_address_has_a_limit_of_its_own_and_all_have_one_together():
    limit = EntryLimit(each=2, together=3, clock=Clock())
    assert [limit.allows("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [limit.allows("192.0.2.2") for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "testclient", False),
    ],
)
def test_a_connection_of_ipv6_is_counted_whatever_address_it_takes(one, other, together):
    limit = EntryLimit(each=1, together=10, clock=Clock())
    assert limit.allows(one)
    assert limit.allows(other) is not together


def test_after_the_window_there_is_room_again():
    clock = Clock()
    limit = EntryLimit(each=1, together=1, clock=clock)
    assert limit.allows("192.0.2.1")
    clock.now = WINDOW_S - 1
    assert not limit.allows("192.0.2.1")
    clock.now = WINDOW_S
    assert limit.allows("192.0.2.1")


def test_addresses_are_not_kept_and_memory_has_an_end(monkeypatch):
    # Of salts that are drawn one in a hundred makes a hash whose bytes read as an address, e.g. 0x10 and ".0".
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    limit = EntryLimit(each=1, together=10**9, clock=Clock())
    for number in range(MOST_ADDRESSES + 50):
        limit.allows(f"10.0.{number // 256}.{number % 256}")
    assert len(limit._by_address) <= MOST_ADDRESSES + 1
    assert "10.0" not in repr(vars(limit))
