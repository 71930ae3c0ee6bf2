from types import SimpleNamespace

import pytest

from apportion.corpus.files.header_clock import HeaderClock, header_clock


@pytest.mark.parametrize(
    ("name", "start_s", "stated_s", "clock", "end_s"),
    [
        ("mov,mp4,m4a,3gp,3g2,mj2", 86_400, 2, HeaderClock(0, 86_400, 2), 86_402),
        ("matroska,webm", 86_400, 86_402, HeaderClock(0, 86_400, 2), 86_402),
        # A transport stream's clock starts anywhere: its first stamp is presentation time 0.
        ("mpegts", 86_400, 2, HeaderClock(86_400, 86_400, 2), 2),
        ("wav", None, None, HeaderClock(0, 0, 0), 0),
        ("matroska,webm", 3, None, HeaderClock(0, 3, 0), 3),
    ],
)
def test_where_a_length_counts_from(name, start_s, stated_s, clock, end_s):
    ticks = [None if value is None else value * 1_000_000 for value in (start_s, stated_s)]
    container = SimpleNamespace(start_time=ticks[0], duration=ticks[1], format=SimpleNamespace(name=name))
    assert header_clock(container) == clock
    assert header_clock(container).end_s == end_s
