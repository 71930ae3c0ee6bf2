"""Wilson's interval against scipy, and clustered shares on simulated leagues whose true rates are enumerated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.foundation.intervals.proportion import clustered_share, wilson

SEATS, EVIL, AGENTS = 7, 2, 3
STRENGTHS = np.linspace(-0.8, 0.8, AGENTS)


@given(st.integers(1, 400), st.data())
def test_wilson_is_scipys(trials: int, data: st.DataObject) -> None:
    wins = data.draw(st.integers(0, trials))
    theirs = stats.binomtest(wins, trials).proportion_ci(method="wilson")
    assert wilson(wins / trials, trials) == pytest.approx((theirs.low, theirs.high))


@given(st.integers(1, 60), st.data())
def test_trials_by_themselves_are_nearly_the_plain_interval(trials: int, data: st.DataObject) -> None:
    """C / (C - 1) is all that differs; nothing where the share is 0 or 1."""
    wins = data.draw(st.integers(0, trials))
    share = clustered_share([1] * wins + [0] * (trials - wins), [1] * trials)
    assert share is not None and share.trials == share.clusters == trials
    certain = wins in (0, trials)
    assert share.design_effect == pytest.approx(1 if certain else trials / (trials - 1))
    effective = trials if certain else trials - 1
    assert (share.low, share.high) == pytest.approx(wilson(wins / trials, effective))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_it_is_a_share_inside_its_interval(clusters: list[tuple[int, int]]) -> None:
    wins, trials = [min(pair) for pair in clusters], [max(pair) for pair in clusters]
    share = clustered_share(wins, trials)
    if not sum(trials):
        assert share is None
        return
    assert share is not None and 0 <= share.low <= share.value <= share.high <= 1
    assert share.value == pytest.approx(sum(wins) / sum(trials)) and share.clusters == sum(n > 0 for n in trials)
    assert clustered_share([*wins, 0], [*trials, 0]) == share


def test_five_seats_that_always_end_alike_are_one_trial() -> None:
    wins = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 1])
    five, one = clustered_share(5 * wins, [5] * 10), clustered_share(wins, [1] * 10)
    assert five is not None and one is not None
    assert (five.low, five.high) == pytest.approx((one.low, one.high)) and five.trials == 50
    assert five.design_effect == pytest.approx(5 * one.design_effect)
    always = clustered_share([5] * 10, [5] * 10)
    assert always is not None and (always.low, always.high) == pytest.approx(wilson(1.0, 10))
    share = clustered_share([2], [5])
    assert share is not None and (share.low, share.high) == pytest.approx(wilson(0.4, 1))


def true_rate(agent: int, good: bool) -> float:
    """Over all choices of agents for the seats, each as likely: by symmetry the first two seats are evil."""
    seatings = np.array(list(product(range(AGENTS), repeat=SEATS)))
    seats = (seatings[:, EVIL:] if good else seatings[:, :EVIL]) == agent
    rate = good_wins(seatings)
    return float((seats.sum(1) * (rate if good else 1 - rate)).sum() / seats.sum())


def good_wins(seatings: np.ndarray) -> np.ndarray:
    """The rate at which the good team wins when these agents sit there."""
    strengths = STRENGTHS[seatings]
    return 1 / (1 + np.exp(1.2 - strengths[..., EVIL:].mean(-1) + strengths[..., :EVIL].mean(-1)))


@pytest.mark.parametrize("good", [True, False])
def test_the_interval_covers_the_true_rate_where_counting_seats_does_not(good: bool) -> None:
    """1,000 leagues of 100 matches whose seats are drawn from a pool of three: 93 to 97 % of the intervals cover."""
    draws, leagues, matches, agent = np.random.default_rng(7), 1000, 100, 2
    seatings = draws.integers(0, AGENTS, (leagues, matches, SEATS))
    won = (draws.random((leagues, matches)) < good_wins(seatings)) == good
    counts = ((seatings[..., EVIL:] if good else seatings[..., :EVIL]) == agent).sum(-1)
    truth, covered, plain = true_rate(agent, good), 0, 0
    for trials, wins in zip(counts, counts * won, strict=True):
        share = clustered_share(wins, trials)
        assert share is not None
        low, high = wilson(share.value, share.trials)
        covered += share.low <= truth <= share.high
        plain += low <= truth <= high
    assert 0.93 <= covered / leagues <= 0.97
    assert plain / leagues < (0.85 if good else 0.93)
