import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Session, Turn
from apportion.viewer.views.session.axis import MOST_TICKS, axis_of, clock


def test_seconds_where_there_are_times_else_the_order():
    timed = axis_of(Session("s", (Turn(0, "a", "x", 1.0, 3.0), Turn(1, "b", "y", 3.0, 4.0)), duration_s=10.0))
    assert timed.timed and timed.place(0) == pytest.approx((10.0, 20.0)) and timed.end == 10.0
    written = axis_of(Session("s", (Turn(5, "a", "x"), Turn(9, "b", "y"))))
    assert not written.timed and written.place(9) == pytest.approx((53.0, 44.0)) and written.place(7) is None
    assert [text for _, text in written.ticks()] == ["5", "9"]


def test_a_session_of_nothing_still_has_an_axis():
    assert axis_of(Session("s", ())).at(0.0) == 0.0


@given(st.floats(0.01, 1e6))
def test_ticks_are_few_and_inside(length):
    axis = axis_of(Session("s", (Turn(0, "a", "x", 0.0, length),)))
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= MOST_TICKS + 1
    assert all(0 <= at <= 100 for at, _ in ticks)


@given(st.integers(1, 30_000))
def test_ticks_of_turns_are_few(count):
    axis = axis_of(Session("s", tuple(Turn(n, "a", "") for n in range(count))))
    assert 1 <= len(axis.ticks()) <= MOST_TICKS + 1


def test_a_clock_is_read_as_a_players():
    assert [clock(s) for s in (-1, 7.9, 61, 3723)] == ["0:00", "0:07", "1:01", "1:02:03"]
