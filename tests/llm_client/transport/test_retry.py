from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from apportion.llm_client.transport.retry import helps, own_wait_s, told_wait_s


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_tried_again(status):
    assert helps(status, None, {})
    assert not helps(status, None, {"x-should-retry": "false"})


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422])
def test_what_stays_is_not(status):
    assert not helps(status, None, {})
    assert helps(status, None, {"x-should-retry": "true"})


def test_waiting_fills_no_account():
    assert not helps(429, "insufficient_quota", {})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": f"Wed, 21 Oct {'9' * 20} 07:28:00 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct 2015 07:28:00 +{'9' * 20}"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00"}, 0.0),
    ],
)
def test_the_servers_word_is_read(headers, seconds):
    assert told_wait_s(headers) == seconds


def test_a_date_to_come_is_waited_for():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < told_wait_s({"retry-after": date}) <= 100


def test_without_a_word_waits_double_up_to_a_bound():
    assert [0.75 * wait <= own_wait_s(n) <= wait for n, wait in ((1, 0.5), (2, 1.0), (3, 2.0), (9, 8.0), (999, 8.0))]
    assert own_wait_s(10**6) <= 8
