import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.llm_client.transport.rate_limiting.pace import Pace


@dataclass
class Clock:
    now_s: float = 1e5

    def __call__(self):
        return self.now_s


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "take", "refuse", "lose", "reach", "pass"]), st.floats(0, 100)), max_size=80
)


def driven(most, steps):
    """A pace after ``steps``, its clock, and what it allowed after each: requests at once, their rate, the wait."""
    clock = Clock()
    pace, sent, allowed = Pace(most, clock), [], []
    for what, seconds in steps:
        if what == "send" and pace.wait_s() == 0:
            sent.append(pace.send())
        elif what == "pass":
            clock.now_s += seconds
        elif what == "reach":
            pace.reach()
        elif sent and what == "take":
            pace.took(sent.pop(0))
        elif sent and what == "refuse":
            pace.refuse(sent.pop(0), seconds)
            assert pace.wait_s() >= seconds - 1e-6
        elif sent and what == "lose":
            pace.lose(sent.pop(0), seconds)
        allowed.append((pace.at_once, pace.rate, pace.wait_s()))
    return pace, clock, allowed


@given(st.integers(1, 1024), STEPS)
def test_at_once_stays_between_one_and_the_most_whatever_happens(most, steps):
    _, _, allowed = driven(most, steps)
    for at_once, rate, wait_s in allowed:
        assert 1 <= at_once <= most
        assert rate is None or rate > 0
        assert 0 <= wait_s < math.inf


@settings(max_examples=50)
@given(st.integers(1, 64), STEPS)
def test_a_server_that_takes_everything_again_gets_everything_again(most, steps):
    pace, clock, _ = driven(most, steps)
    pace.reach()
    before, started_s = pace.rate, clock.now_s
    while pace.at_once < most or (before is not None and pace.rate < 4 * before):
        clock.now_s += pace.wait_s()
        pace.took(pace.send())
        assert clock.now_s - started_s < 100 + 600 / (before or 1)


@given(st.integers(2, 512), st.integers(1, 512))
def test_a_burst_of_refusals_is_one_round(most, count):
    clock = Clock()
    pace = Pace(most, clock)
    pace.took(pace.send())
    pace.refuse(pace.send(), 1.0)
    clock.now_s += pace.wait_s()
    burst = [pace.send() for _ in range(count)]
    begun = [pace.refuse(sent, 1.0) for sent in burst]
    assert begun == [True] + [False] * (count - 1)
    assert pace.at_once == max(1, most // 2)


def test_what_was_sent_before_the_last_round_but_one_only_holds():
    clock = Clock()
    pace = Pace(8, clock)
    old = [pace.send() for _ in range(3)]
    pace.took(old[0])
    pace.refuse(old[1], 1.0)
    clock.now_s += 1
    pace.refuse(pace.send(), 1.0)
    rate, at_once = pace.rate, pace.at_once
    clock.now_s += 1
    assert not pace.refuse(old[2], 5.0)
    assert (pace.rate, pace.at_once, pace.wait_s()) == (rate, at_once, 5.0)


def test_what_the_first_burst_shows():
    clock = Clock()
    pace = Pace(64, clock)
    burst = [pace.send() for _ in range(64)]
    for sent in burst[:8]:
        pace.took(sent)
    for sent in burst[8:]:
        pace.refuse(sent, 1.0)
    assert pace.rate == pytest.approx(8)
    clock = Clock()
    pace = Pace(64, clock)
    for sent in [pace.send() for _ in range(16)]:
        pace.refuse(sent, 30.0)
    assert (pace.rate, pace.at_once, pace.wait_s()) == (None, 1, 30.0)


def test_a_server_that_is_not_there_is_asked_by_one_until_it_is():
    clock = Clock()
    pace = Pace(64, clock)
    first, second = pace.send(), pace.send()
    pace.lose(first, 2.0)
    pace.lose(second, 4.0)  # Of the same burst: it is no news.
    assert (pace.at_once, pace.wait_s()) == (1, 2.0)
    clock.now_s += 2
    pace.lose(pace.send(), 4.0)
    assert pace.wait_s() == 4.0
    pace.reach()
    assert pace.at_once == 64


def time_to_serve(count, rate, burst, told_s, concurrency):
    """Seconds, requests refused, and tries of the unluckiest, at a server that takes ``rate`` a second."""
    clock = Clock()
    pace, level, filled_at = Pace(concurrency, clock), burst, clock()
    waiting, served, refused = [0] * min(count, concurrency), 0, 0
    unsent, worst, start_s = count - len(waiting), 0, clock()
    while served < count:
        clock.now_s += pace.wait_s() + 1e-4
        burst_of = [(pace.send(), waiting.pop(0))]
        while waiting and len(burst_of) < pace.at_once and pace.wait_s() == 0:
            burst_of.append((pace.send(), waiting.pop(0)))
        clock.now_s += 0.01
        for sent, tries in burst_of:
            level = min(burst, level + rate * (clock() - filled_at))
            filled_at = clock()
            if level >= 1:
                level -= 1
                served += 1
                pace.took(sent)
                if unsent:
                    waiting.append(0)
                    unsent -= 1
            else:
                refused += 1
                pace.refuse(sent, told_s)
                waiting.append(tries + 1)
                worst = max(worst, tries + 1)
    return clock() - start_s, refused, worst


@pytest.mark.parametrize(
    ("count", "rate", "burst", "concurrency"), [(60, 1, 1, 16), (400, 8, 8, 64), (2000, 30, 30, 128), (200, 1, 60, 64)]
)
def test_everything_is_served_at_four_fifths_of_what_the_server_allows(count, rate, burst, concurrency):
    seconds, refused, worst = time_to_serve(count, rate, burst, 1.0, concurrency)
    assert seconds <= (count - burst) / rate / 0.8
    assert refused <= concurrency + count / 10 and worst <= 5


@settings(max_examples=30)
@given(st.floats(0.2, 100), st.integers(1, 50), st.floats(0.1, 20), st.integers(1, 128))
def test_nobody_is_refused_for_ever(rate, burst, told_s, concurrency):
    _, refused, worst = time_to_serve(200, rate, burst, told_s, concurrency)
    # A server that asks for a shorter wait than it needs is asked in vain the more often.
    assert refused < 600 and worst <= 20 + 3 / (rate * told_s)
