import statistics
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.utils import logging

from apportion.rlhf.settings import AlarmSettings
from apportion.rlhf.training.alarms import Alarms, repetition, sameness
from apportion.rlhf.training.reward import ScoreNorm
from apportion.rlhf.training.rng_state import ShuffledOrder, quiet_transformers

CALM = {"kl": 0.0, "response_tokens": 12.0, "repetition": 0.1, "sameness": 0.3, "entropy": 2.0}
HACKS = [
    ("kl", 51.0, "max_kl", r"KL blow-up: 51.0 nats a reply \(alarms.max_kl = 50\)"),
    ("response_tokens", 49.0, "length_factor", r"length drift: 49.0 tokens a reply, 12.0 at the start"),
    ("response_tokens", 2.9, "length_factor", r"length drift: 2.9 tokens a reply, 12.0 at the start"),
    ("repetition", 0.51, "repetition_rise", r"repetition: 51% of a reply's token pairs said before, 10% at the start"),
    ("sameness", 0.51, "self_similarity_rise", r"sameness: 51% of a reply's token pairs are in a reply to another"),
    ("entropy", 0.19, "entropy_share", r"entropy collapse: 0.190 nats a token, 2.000 at the start"),
]


@pytest.mark.parametrize(("metric", "value", "setting", "reason"), HACKS)
def test_a_limit_passed_three_times_in_a_row_gives_the_reason(metric, value, setting, reason):
    hacked = {**CALM, metric: value}
    alarms = Alarms(AlarmSettings())
    assert alarms.check(CALM) is None and alarms.calm
    assert alarms.check(hacked) is None and not alarms.calm
    assert alarms.check(hacked) is None
    assert alarms.check(CALM) is None and alarms.calm
    assert [alarms.check(hacked) for _ in range(2)] == [None, None]
    found = alarms.check(hacked)
    assert found is not None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(found)
    off = Alarms(AlarmSettings(**{setting: 0}))
    assert not any(off.check(metrics) for metrics in (CALM, *[hacked] * 9))


def test_the_demo_metrics_at_their_limits_are_calm():
    alarms = Alarms(AlarmSettings(patience=1))
    edge = {"kl": 50.0, "response_tokens": 48.0, "repetition": 0.5, "sameness": 0.44, "entropy": 0.2}
    assert not any(alarms.check(metrics) for metrics in (CALM, edge, {**edge, "response_tokens": 3.0}))


def test_repetition_counts_pairs_that_a_reply_says_again():
    replies = torch.tensor([[1, 2, 1, 2, 1], [1, 2, 3, 4, 9], [7, 7, 7, 7, 9], [5, 0, 0, 0, 0]])
    mask = torch.tensor([[True] * 5, [True] * 5, [True] * 4 + [False], [True] + [False] * 4])
    assert repetition(replies, mask) == pytest.approx((0.5 + 0.0 + 2 / 3 + 0.0) / 4)


def test_one_reply_for_all_stops_a_run_where_a_limit_is_set():
    off, on = (Alarms(AlarmSettings(patience=1, self_similarity_rise=rise)) for rise in (0, 0.3))
    steps = [{**CALM, "sameness": value} for value in (0.3, 0.6, 0.61)]
    assert not any(off.check(metrics) for metrics in steps)
    assert [bool(on.check(metrics)) for metrics in steps] == [False, False, True]
    assert on.check(steps[-1]) == (
        "sameness: 61% of a reply's token pairs are in a reply to another context, 30% at the start "
        "(alarms.self_similarity_rise = 0.3)"
    )


@pytest.mark.parametrize(("alike", "opening"), [(6, 0), (0, 16), (6, 10)])
def test_gamed_replies_pass_the_limit_of_sameness_that_is_on_by_default(alike, opening):
    # A quarter of 24 replies the same (29 of 120), two thirds that begin alike ("Please confirm": 20 of 30), or both;
    # 12 tokens each, of a vocabulary in which a quarter of the pairs comes again elsewhere.
    draw = torch.Generator().manual_seed(0)
    replies = torch.randint(50, 60_000, (24, 12), generator=draw)
    replies[:, :4] = torch.tensor([1, 2, 3, 4])
    mask, contexts = torch.ones(24, 12, dtype=torch.bool), list(range(24))
    start = sameness(replies, mask, contexts)
    replies[:alike] = replies[0].clone()
    replies[alike : alike + opening, 4:8] = torch.tensor([5, 6, 7, 8])
    alarms = Alarms(AlarmSettings())
    told = [alarms.check({**CALM, "sameness": value}) for value in (start, *[sameness(replies, mask, contexts)] * 3)]
    assert start == pytest.approx(3 / 11) and told[:3] == [None] * 3 and told[3] is not None


def test_sameness_is_the_share_that_a_reply_to_another_context_has_too():
    replies = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 9], [7, 8, 1, 2], [5, 0, 0, 0]])
    mask = torch.tensor([[True] * 4] * 3 + [[True] + [False] * 3])
    # 2 of 3 pairs of the first two, (1, 2) of the third, nothing of the fourth.
    assert sameness(replies, mask, [0, 1, 2, 3]) == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 0) / 4)
    # Replies to one context may be as alike as they like.
    assert sameness(replies, mask, [0, 0, 2, 3]) == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 0) / 4)
    assert sameness(replies, mask, [0, 0, 0, 0]) == 0.0
    alike = torch.tensor([[5, 5], [5, 6], [5, 7]])
    first = torch.tensor([[True, False]] * 3)
    assert sameness(alike, first, [0, 1, 2]) == 1.0


BATCHES = st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=8), min_size=1, max_size=6)


@given(BATCHES)
def test_moments_grown_by_batches_are_those_of_all_scores(batches):
    norm = ScoreNorm()
    for batch in batches:
        norm.update(batch)
    everything = [score for batch in batches for score in batch]
    assert norm.mean == pytest.approx(statistics.fmean(everything), abs=1e-9)
    assert norm.deviation == pytest.approx(statistics.pstdev(everything), abs=1e-6)


def test_scores_come_out_in_deviations_from_the_mean():
    norm = ScoreNorm()
    norm.update([1.0, 3.0])
    assert norm([1.0, 2.0, 5.0]) == [-1.0, 0.0, 3.0]


def test_scores_that_never_differ_become_zero():
    norm = ScoreNorm()
    assert norm.deviation == 0.0
    norm.update([0.1] * 3)
    assert norm([0.1]) == [0.0]


def test_bars_and_warnings_are_off_inside_and_as_before_outside_even_after_an_error():
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(ZeroDivisionError), quiet_transformers():
        assert logging.get_verbosity() == logging.ERROR and not logging.is_progress_bar_enabled()
        raise ZeroDivisionError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@given(st.integers(1, 9), st.integers(0, 30))
def test_each_comes_once_a_round_and_what_is_left_can_be_taken_up_again(count, taken):
    torch.manual_seed(0)
    order = ShuffledOrder(count)
    seen = list(islice(order, taken))
    for start in range(0, taken - count + 1, count):
        assert sorted(seen[start : start + count]) == list(range(count))
    rng, again = torch.get_rng_state(), ShuffledOrder(count, order.left)
    rest = list(islice(order, 20))
    torch.set_rng_state(rng)
    assert list(islice(again, 20)) == rest
